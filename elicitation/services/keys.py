"""Keys of services (hashed, scoped) and of providers (sealed). What is made here is shown once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

from django.db import transaction

from audit.ledger import Entry, append
from elicitation.models import KeyUse, Provider, ProviderKey, Service, ServiceKey
from elicitation.policy.webhooks import Scheme, signing_key
from elicitation.services import clock, sealing
from elicitation.services.actors import Actor, shell

_SHAPE: Final = re.compile(r"desk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_SECRET: Final = re.compile(r"[!-~]{8,300}")
#: Standard Webhooks, Signature scheme: 24 to 64 random bytes.
_STANDARD_BYTES: Final = range(24, 65)
_SIGNING_SHAPE: Final[dict[Scheme, str]] = {
    Scheme.STANDARD: "A signing secret of Standard Webhooks is whsec_ and the base 64 of 24 to 64 bytes.",
    Scheme.STRIPE: "A signing secret of Stripe begins with whsec_.",
}
#: How the ids of keys begin.
_KIDS: Final[dict[KeyUse, str]] = {KeyUse.WEBHOOK: "w", KeyUse.LOOKUP: "l"}

logger = logging.getLogger(__name__)


class Scope(StrEnum):
    """What a service's key may do."""

    ADMIT = "admit"
    ANSWER = "answer"
    COMPLETE = "complete"
    CONSUME = "consume"
    READ = "read"
    EXPORT = "export"


#: What the key of a service may hold; an auditor's key has the scope ``export`` and no other.
OF_SERVICES: Final = tuple(scope for scope in Scope if scope is not Scope.EXPORT)


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
    if Scope.EXPORT in granted and len(granted) > 1:
        raise KeyProblem("An auditor's key has the scope export and no other.")
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
    """A new webhook secret ``whsec_<base64>`` (Standard Webhooks), kept sealed; older ones stay until revoked.

    Raises ``KeyProblem`` for a provider whose scheme makes its secrets itself.
    """
    if Scheme(provider.scheme) is not Scheme.STANDARD:
        raise KeyProblem("This provider makes its signing secrets itself; import the one that it shows.")
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode("ascii")
    _keep(provider, secret, KeyUse.WEBHOOK, by)
    return secret


def import_provider_key(provider: Provider, secret: str, use: KeyUse, by: Actor | None = None) -> str:
    """Keep a secret that the provider gave, sealed; older ones stay until revoked. Returns its key id.

    Raises ``KeyProblem``, which never repeats the secret.
    """
    if not _SECRET.fullmatch(secret):
        raise KeyProblem("A secret is one word of 8 to 300 printable ASCII characters.")
    if use is KeyUse.WEBHOOK:
        scheme = Scheme(provider.scheme)
        key = signing_key(scheme, secret)
        if key is None or (scheme is Scheme.STANDARD and len(key) not in _STANDARD_BYTES):
            raise KeyProblem(_SIGNING_SHAPE[scheme])
    if any(hmac.compare_digest(known.encode(), secret.encode()) for _, known in _live(provider, use)):
        raise KeyProblem("This secret is live already.")
    return _keep(provider, secret, use, by)


def revoke_provider_keys(provider: Provider, by: Actor | None = None, kid: str | None = None) -> int:
    """End every live key of ``provider`` at once, or the one with ``kid``. Without a key for webhooks it is not heard,
    without one for look-ups it is not asked. Returns how many there were."""
    with transaction.atomic():
        at = clock.now()
        live = ProviderKey.objects.select_for_update().filter(provider=provider, revoked_at=None)
        ended = list(live if kid is None else live.filter(kid=kid))
        ProviderKey.objects.filter(pk__in=[key.pk for key in ended]).update(revoked_at=at)
        append(
            at,
            *(
                _entry(provider.tenant.slug, "key_revoked", by, provider=provider.slug, signing_key_id=key.kid)
                for key in ended
            ),
        )
    return len(ended)


def provider_keys(provider: Provider | None) -> dict[str, bytes]:
    """The provider's live webhook keys by id, the newest first, as its scheme uses them. A provider without a key
    accepts nothing. For none at all the same question is put to the database, so that time does not tell."""
    scheme = Scheme(provider.scheme) if provider is not None else Scheme.STANDARD
    read = {kid: signing_key(scheme, secret) for kid, secret in _live(provider, KeyUse.WEBHOOK)}
    return {kid: key for kid, key in read.items() if key is not None}


def lookup_key(provider: Provider) -> str | None:
    """The newest live key with which ``provider`` is asked for a status, as it was given; ``None`` without one."""
    return next((secret for _, secret in _live(provider, KeyUse.LOOKUP)), None)


def _keep(provider: Provider, secret: str, use: KeyUse, by: Actor | None) -> str:
    kid = _KIDS[use] + secrets.token_hex(4)
    with transaction.atomic():
        at = clock.now()
        ProviderKey.objects.create(
            provider=provider,
            use=use,
            kid=kid,
            sealed_secret=sealing.seal(secret, _purpose(provider.slug, use)),
            created_at=at,
        )
        append(at, _entry(provider.tenant.slug, "key_created", by, provider=provider.slug, signing_key_id=kid))
    return kid


def _live(provider: Provider | None, use: KeyUse) -> Iterator[tuple[str, str]]:
    """The live secrets for ``use`` with their ids, the newest first; one that cannot be opened is left out."""
    rows = ProviderKey.objects.filter(provider_id=provider.pk if provider else 0, use=use, revoked_at=None)
    for key in rows.order_by("-pk"):
        try:
            yield key.kid, sealing.unseal(key.sealed_secret, _purpose(provider.slug if provider else "", use))
        except sealing.Unsealable:
            logger.error("a provider's key cannot be opened: the key that sealed it is gone")  # noqa: TRY400


def _purpose(slug: str, use: KeyUse) -> str:
    return f"provider:{slug}" if use is KeyUse.WEBHOOK else f"provider:{slug}:{use}"


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
