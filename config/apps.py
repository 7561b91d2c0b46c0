"""The desk's own app configurations: system checks, and the admin site under its own name."""

import logging

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class DeskConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401 - registers the checks

        logging.captureWarnings(True)  # a warning's text may hold a value; the formatter withholds it


class DeskAdminConfig(AdminConfig):
    default_site = "config.admin_site.DeskAdminSite"
