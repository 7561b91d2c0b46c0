"""Django's settings. Everything that differs between deployments is read from the environment, strictly."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import environ  # type: ignore[import-untyped]  # published without types
from django.core.exceptions import ImproperlyConfigured

from config import channels, environment, outsiders

environment.check_names()

BASE_DIR = environment.ROOT
STATE_DIR: Path = environment.state_dir()

SECRET_KEY = environment.read_secret_key()
DESK_DIGEST_KEYS = environment.read_ring("DESK_DIGEST_KEYS")
DESK_SEAL_KEYS = environment.read_ring("DESK_SEAL_KEYS")
DESK_LEDGER_KEYS = environment.read_ring("DESK_LEDGER_KEYS")
DESK_BASE_URL = environment.read_base_url()
ALLOWED_HOSTS = environment.read_hosts()
CSRF_TRUSTED_ORIGINS = [DESK_BASE_URL]
DEBUG = False

INSTALLED_APPS = [
    "config.apps.DeskConfig",
    "config.apps.DeskAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "audit",
    "elicitation",
]

MIDDLEWARE = [
    "config.middleware.RequestLog",
    "config.middleware.ContentSecurityPolicy",
    "config.middleware.NoNul",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def _database() -> dict[str, Any]:
    """The embedded SQLite by default, tuned so that concurrent writers wait instead of failing; else PostgreSQL."""
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": environment.embedded_database(),
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 60,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
            "TEST": {"NAME": STATE_DIR / "test.sqlite3"},
        }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it would show the address, and the password in it
            parsed: dict[str, Any] = environ.Env.db_url_config(url)
    except Exception:
        raise ImproperlyConfigured("DATABASE_URL is not a database address.") from None
    if parsed.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured("DATABASE_URL is not of the form postgres://user@host:5432/name.")
    parsed["CONN_MAX_AGE"] = 600
    parsed["CONN_HEALTH_CHECKS"] = True
    return parsed


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = os.environ.get("CELERY_BROKER_URL", "")
if CELERY_BROKER_URL and not CELERY_BROKER_URL.startswith(("redis://", "rediss://", "amqp://", "amqps://")):
    raise ImproperlyConfigured("CELERY_BROKER_URL is not a redis:// or amqp:// address.")
CELERY_TASK_ALWAYS_EAGER = not CELERY_BROKER_URL
CELERY_TASK_IGNORE_RESULT = True

#: Mail is for signals alone; without recipients none is sent.
_email = channels.read_email()
DESK_SIGNAL_EMAILS: list[str] = _email["DESK_SIGNAL_EMAILS"]
DEFAULT_FROM_EMAIL = _email.get("DEFAULT_FROM_EMAIL", "")
EMAIL_HOST = _email.get("EMAIL_HOST", "")
EMAIL_PORT = _email.get("EMAIL_PORT", 0)
EMAIL_HOST_USER = _email.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = _email.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = _email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _email.get("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = _email["EMAIL_TIMEOUT"]
DESK_SIGNAL_WEBHOOK_URL, DESK_SIGNAL_WEBHOOK_SECRET = channels.read_webhook()

DESK_WITNESS_URL, DESK_WITNESS_KEY, DESK_WITNESS_FILE = outsiders.read_witness()
DESK_EXPORT_DIR = outsiders.read_export_dir()

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # from the installed packages: nothing to collect, nothing to be stale

_https = DESK_BASE_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SECURE_HSTS_SECONDS = 31536000 if _https else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
#: With "no-referrer" browsers send `Origin: null` with our own forms, which the CSRF check must refuse.
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "config.errors.csrf_failure"

#: Django 6's name; the middleware of config/middleware.py sends it.
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}

#: The desk's own decoder bounds bodies first; this bounds what Django itself would read, such as admin forms.
DATA_UPLOAD_MAX_MEMORY_SIZE = 262_144

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["elicitation.api.authentication.ServiceKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["elicitation.api.authentication.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "elicitation.api.problems.handle",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Elicitation Desk",
    "VERSION": "1",
    "DESCRIPTION": "Registry, policy and audit desk for MCP elicitation.",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["elicitation.api.openapi.add_components"],
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "config.logging.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": environment.read_log_level()},
    # Django gives these handlers of their own, which would print whole messages.
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        "django.request": {"level": "ERROR"},  # every status is in our own line already
        "celery": {"level": "WARNING"},  # its INFO is a line for every sweep, every few seconds
    },
}
