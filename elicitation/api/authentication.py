"""Who calls: a service by its key, and what the key's scopes allow."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from elicitation.api.problems import Problem
from elicitation.models import Service, ServiceKey
from elicitation.services import keys


class ServiceKeyAuthentication(BaseAuthentication):
    """``Authorization: Bearer desk_…``. A wrong, revoked or closed key is 401 and never said which."""

    def authenticate(self, request: Request) -> tuple[Service, ServiceKey] | None:
        scheme, _, token = get_authorization_header(request).partition(b" ")
        if not scheme:
            return None
        key = None
        if scheme.lower() == b"bearer":
            key = keys.find_service_key(token.decode("latin-1").strip())
        if key is None:
            raise Problem(401, "key.unknown", "This key opens nothing here.")
        service = key.service
        request._request.desk_caller = {"tenant": service.tenant.slug, "service": service.slug}  # type: ignore[attr-defined]
        return service, key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasScope(BasePermission):
    """The view's ``scope`` must be among the key's. Fails closed for a view that names none."""

    def has_permission(self, request: Request, view: Any) -> bool:
        key = request.auth
        if not isinstance(key, ServiceKey):
            return False  # REST framework answers 401: nobody is signed in
        scope: keys.Scope | None = getattr(view, "scope", None)
        if scope is None or scope not in key.scopes:
            raise Problem(403, "key.scope", "This key does not open this call.")
        return True
