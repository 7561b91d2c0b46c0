"""Opening tenants, services and providers, setting up providers; knowing the people and clients that they name."""

from __future__ import annotations

import re
from typing import Final

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from audit.ledger import SYSTEM_TENANT, Entry, append
from elicitation.models import Client, LookupKind, Provider, Service, SignatureScheme, Subject, Tenant
from elicitation.policy.destinations import normal_origin
from elicitation.policy.shapes import secret_shaped
from elicitation.services import clock, digests
from elicitation.services.actors import Actor, shell

MAX_STATUS_URL: Final = 300
#: Where Stripe's payment intents are searched by their metadata.
STRIPE_SEARCH: Final = "https://api.stripe.com/v1/payment_intents/search"
_STATUS_URL: Final = re.compile(r"(https://[^/?#@\\]+)(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")


class NotOpened(ValueError):
    """A tenant, service or provider cannot be opened; says why in one sentence."""


class NotChanged(ValueError):
    """A provider cannot be set up so; says why in one sentence."""


def open_tenant(slug: str, name: str, by: Actor | None = None) -> Tenant:
    """A new tenant. Raises ``NotOpened`` for a bad or taken slug, and for the one of the desk's own log."""
    if slug == SYSTEM_TENANT:
        raise NotOpened(f"The slug {SYSTEM_TENANT} is the desk's own: choose another one.")
    tenant = Tenant(slug=slug, name=name, opened_at=clock.now())
    _open(tenant, tenant, "tenant_opened", by)
    return tenant


def open_service(tenant: Tenant, slug: str, name: str, by: Actor | None = None) -> Service:
    """A new service of ``tenant``. Raises ``NotOpened``."""
    service = Service(tenant=tenant, slug=slug, name=name, opened_at=clock.now())
    _open(service, tenant, "service_opened", by)
    return service


def open_provider(tenant: Tenant, slug: str, name: str, by: Actor | None = None) -> Provider:
    """A new provider of ``tenant``; its slug is unique on the whole desk. Raises ``NotOpened``."""
    provider = Provider(tenant=tenant, slug=slug, name=name, opened_at=clock.now())
    _open(provider, tenant, "provider_opened", by)
    return provider


def change_provider(
    provider: Provider,
    *,
    scheme: str | None = None,
    lookup: str | None = None,
    status_url: str | None = None,
    by: Actor | None = None,
) -> bool:
    """Set how ``provider`` signs and how it is asked for a status. ``None`` leaves a part as it is; an empty address
    is the usual one of the look-up. A new look-up begins without the old one's failures.

    Returns whether anything changed. Raises ``NotChanged``.
    """
    with transaction.atomic():
        row = Provider.objects.select_for_update().get(pk=provider.pk)
        wanted = _set_up(row, scheme, lookup, status_url)
        before = {name: getattr(row, name) for name in wanted}
        if wanted == before:
            return False
        asked_anew = any(wanted[name] != before[name] for name in ("lookup", "status_url"))
        cleared = {"lookup_failures": 0, "lookup_paused_until": None} if asked_anew else {}
        Provider.objects.filter(pk=row.pk).update(**wanted, **cleared)
        append(clock.now(), _entry(provider, provider.tenant, "provider_changed", by))
    provider.refresh_from_db()
    return True


def _set_up(row: Provider, scheme: str | None, lookup: str | None, status_url: str | None) -> dict[str, str]:
    wanted = {"scheme": row.scheme if scheme is None else scheme, "lookup": row.lookup if lookup is None else lookup}
    if wanted["scheme"] not in SignatureScheme.values:
        raise NotChanged("The scheme is not one that the desk knows.")
    if wanted["lookup"] not in LookupKind.values:
        raise NotChanged("The look-up is not one that the desk knows.")
    kind = LookupKind(wanted["lookup"])
    if status_url is None:
        status_url = row.status_url if kind == row.lookup else ""
    match kind:
        case LookupKind.NONE:
            if status_url:
                raise NotChanged("An address needs a look-up that asks there.")
        case LookupKind.STRIPE:
            status_url = status_url or STRIPE_SEARCH
        case LookupKind.GENERIC:
            if not status_url:
                raise NotChanged("This look-up needs the address at which the provider is asked.")
    if status_url and not is_status_url(status_url):
        raise NotChanged(
            "The address is https:// with a host and a path, without user, query or fragment, at most "
            f"{MAX_STATUS_URL} characters."
        )
    return {**wanted, "status_url": status_url}


def is_status_url(text: str) -> bool:
    """Whether a provider can be asked at ``text``: the desk adds the query itself. An address inside is fine, because
    whoever runs the desk sets it. Source: operator policy."""
    split = _STATUS_URL.fullmatch(text)
    return len(text) <= MAX_STATUS_URL and split is not None and normal_origin(split[1]) is not None


def _open(party: Tenant | Service | Provider, tenant: Tenant, event: str, by: Actor | None) -> None:
    try:
        party.full_clean()
        with transaction.atomic():
            party.save(force_insert=True)
            append(party.opened_at, _entry(party, tenant, event, by))
    except ValidationError as problem:
        raise NotOpened(" ".join(problem.messages)) from None
    except IntegrityError:
        raise NotOpened("This slug is taken.") from None


def _entry(party: Tenant | Service | Provider, tenant: Tenant, event: str, by: Actor | None) -> Entry:
    actor = by or shell()
    return Entry(
        tenant=tenant.slug,
        event=event,
        actor_kind=actor.kind,
        actor_id=actor.id,
        role=actor.role,
        service=party.slug if isinstance(party, Service) else "",
        provider=party.slug if isinstance(party, Provider) else "",
    )


def subject_digests(tenant: Tenant, iss: str, sub: str) -> list[str]:
    """The person's digest under every live key. Issuer and subject are compared exactly, never a display name."""
    return digests.candidates(digests.SUBJECT, [tenant.slug, iss, sub])


def is_subject(subject: Subject | None, tenant: Tenant, iss: str, sub: str) -> bool:
    """Whether (issuer, subject) is the person of ``subject``; an erased person is nobody."""
    return subject is not None and subject.digest in subject_digests(tenant, iss, sub)


def know_subject(tenant: Tenant, iss: str, sub: str) -> Subject:
    """The person's row, made when first seen and written anew under the current key on sight."""
    current, *older = subject_digests(tenant, iss, sub)
    known = Subject.objects.filter(tenant=tenant, digest__in=[current, *older]).order_by("pk").first()
    if known is None:
        known, _ = Subject.objects.get_or_create(tenant=tenant, digest=current)
    elif known.digest != current:
        Subject.objects.filter(pk=known.pk).update(digest=current)
        known.digest = current
    return known


def know_client(tenant: Tenant, name: str, version: str) -> Client:
    """The client's row; its name is unverified and never decides."""
    known, _ = Client.objects.get_or_create(tenant=tenant, name=kept(name), version=kept(version))
    return known


def kept(text: str) -> str:
    """A caller's short text as it may be stored: nothing of it when it is shaped like a secret."""
    return "" if secret_shaped(text) else text
