"""Opening tenants, services and providers; knowing the people and clients that they name."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from audit.ledger import Entry, append
from elicitation.models import Client, Provider, Service, Subject, Tenant
from elicitation.policy.shapes import secret_shaped
from elicitation.services import clock, digests
from elicitation.services.actors import Actor, shell


class NotOpened(ValueError):
    """A tenant, service or provider cannot be opened; says why in one sentence."""


def open_tenant(slug: str, name: str, by: Actor | None = None) -> Tenant:
    """A new tenant. Raises ``NotOpened`` for a bad or taken slug."""
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


def _open(party: Tenant | Service | Provider, tenant: Tenant, event: str, by: Actor | None) -> None:
    actor = by or shell()
    try:
        party.full_clean()
        with transaction.atomic():
            party.save(force_insert=True)
            append(
                party.opened_at,
                Entry(
                    tenant=tenant.slug,
                    event=event,
                    actor_kind=actor.kind,
                    actor_id=actor.id,
                    role=actor.role,
                    service=party.slug if isinstance(party, Service) else "",
                    provider=party.slug if isinstance(party, Provider) else "",
                ),
            )
    except ValidationError as problem:
        raise NotOpened(" ".join(problem.messages)) from None
    except IntegrityError:
        raise NotOpened("This slug is taken.") from None


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
