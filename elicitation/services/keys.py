"""Keys of services (hashed, scoped) and of providers (sealed). Both are shown once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from django.db import transaction

from audit.ledger import Entry, append
from elicitation.models import Provider, ProviderKey, Service, ServiceKey
from elicitation.policy.webhooks import secret_bytes
from elicitation.services import clock, sealing
from elicitation.services.actors import Actor, shell

_SHAPE: Final = re.compile(r"desk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


class Scope(StrEnum):
    """What a service's key may do."""

    ADMIT = "admit"
    ANSWER = "answer"
    COMPLETE = "complete"
    CONSUME = "consume"
    READ = "read"


class KeyProblem(ValueError):
    """A key cannot be made or found; says why in one sentence."""


def create_service_key(service: Service, scopes: Sequence[str], by: Actor | None = None) -> str:
    """A new key ``desk_<prefix>_<secret>`` with ``scopes``; only its hash is kept. Raises ``KeyProblem``."""
    try:
        granted = sorted({Scope(scope) for scope in scopes})
    except ValueError:
        raise KeyProblem(f"Scopes are among {', '.join(Scope)}.") from None
    if not granted:
        raise KeyProblem("A key without a scope opens nothing.")
    prefix, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    with transaction.atomic():
        at = clock.now()
        ServiceKey.objects.create(
            service=service,
            prefix=prefix,
            digest=_hash(secret),
            scopes=[str(scope) for scope in granted],
            created_at=at,
        )
        append(at, _entry(service.tenant.slug, "key_created", by, service=service.slug))
    return f"desk_{prefix}_{secret}"


def rotate_service_key(service: Service, prefix: str, by: Actor | None = None) -> str:
    """A new key with the scopes of a live one, which stays good until it is revoked. Raises ``KeyProblem``."""
    live = ServiceKey.objects.filter(service=service, prefix=prefix, revoked_at=None).first()
    if live is None:
        raise KeyProblem("The service has no live key with this prefix.")
    return create_service_key(service, live.scopes, by)


def revoke_service_key(service: Service, prefix: str, by: Actor | None = None) -> None:
    """End a key at once. Raises ``KeyProblem`` when the service has no such live key."""
    with transaction.atomic():
        at = clock.now()
        live = ServiceKey.objects.filter(service=service, prefix=prefix, revoked_at=None)
        if not live.update(revoked_at=at):
            raise KeyProblem("The service has no live key with this prefix.")
        append(at, _entry(service.tenant.slug, "key_revoked", by, service=service.slug))


def find_service_key(text: str) -> ServiceKey | None:
    """The live key that ``text`` is, with its service and tenant, neither of them closed; else ``None``."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        return None
    prefix, secret = shape.groups()
    key = (
        ServiceKey.objects.select_related("service__tenant")
        .filter(prefix=prefix, revoked_at=None, service__closed_at=None, service__tenant__closed_at=None)
        .first()
    )
    if key is None or not hmac.compare_digest(key.digest, _hash(secret)):
        return None
    return key


def create_provider_key(provider: Provider, by: Actor | None = None) -> str:
    """A new webhook secret ``whsec_<base64>`` (Standard Webhooks), kept sealed; older ones stay until revoked."""
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode("ascii")
    with transaction.atomic():
        at = clock.now()
        kid = "w" + secrets.token_hex(4)
        ProviderKey.objects.create(
            provider=provider, kid=kid, sealed_secret=sealing.seal(secret, f"provider:{provider.slug}"), created_at=at
        )
        append(at, _entry(provider.tenant.slug, "key_created", by, provider=provider.slug, signing_key_id=kid))
    return secret


def revoke_provider_keys(provider: Provider, by: Actor | None = None) -> int:
    """End every live key of ``provider`` at once: it then accepts nothing. Returns how many there were."""
    with transaction.atomic():
        at = clock.now()
        live = list(ProviderKey.objects.select_for_update().filter(provider=provider, revoked_at=None))
        ProviderKey.objects.filter(pk__in=[key.pk for key in live]).update(revoked_at=at)
        append(
            at,
            *(
                _entry(provider.tenant.slug, "key_revoked", by, provider=provider.slug, signing_key_id=key.kid)
                for key in live
            ),
        )
    return len(live)


def provider_keys(provider: Provider) -> dict[str, bytes]:
    """The provider's live keys by id. A provider without a key accepts nothing."""
    ring: dict[str, bytes] = {}
    for key in ProviderKey.objects.filter(provider=provider, revoked_at=None).order_by("-pk"):
        secret = secret_bytes(sealing.unseal(key.sealed_secret, f"provider:{provider.slug}"))
        if secret is not None:
            ring[key.kid] = secret
    return ring


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _entry(
    tenant: str, event: str, by: Actor | None, *, service: str = "", provider: str = "", signing_key_id: str = ""
) -> Entry:
    actor = by or shell()
    return Entry(
        tenant=tenant,
        event=event,
        actor_kind=actor.kind,
        actor_id=actor.id,
        role=actor.role,
        service=service,
        provider=provider,
        signing_key_id=signing_key_id,
    )
