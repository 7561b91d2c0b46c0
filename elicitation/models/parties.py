"""Who takes part: tenants, their services and providers with keys, the clients seen, and the people asked."""

from __future__ import annotations

import re
from typing import ClassVar
from uuid import uuid4

from django.core.validators import RegexValidator
from django.db import models

#: Slugs stand in the ledger and in policy documents, so they never change.
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
slug_validator = RegexValidator(rf"\A{_SLUG.pattern}\Z", "Use 1 to 40 lower-case letters, digits and inner hyphens.")


def is_slug(text: str) -> bool:
    """Whether any party can be called so."""
    return _SLUG.fullmatch(text) is not None


class Tenant(models.Model):
    """An organisation. Closed, never deleted."""

    slug = models.CharField(max_length=40, unique=True, validators=[slug_validator])
    name = models.CharField(max_length=200)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.slug


class Service(models.Model):
    """An MCP server of one tenant. Ids resolve only within the service that made them."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="services")
    slug = models.CharField(max_length=40, validators=[slug_validator])
    name = models.CharField(max_length=200)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    feed_last = models.PositiveBigIntegerField(default=0, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "slug"], name="service_slug_in_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant.slug}/{self.slug}"


class ServiceKey(models.Model):
    """A service's key: shown once, kept as a hash. Several may be live at once, so that keys can be rotated.

    The secret is 32 random bytes, so a plain SHA-256 cannot be reversed by trying candidates.
    """

    service = models.ForeignKey(Service, on_delete=models.PROTECT, related_name="keys")
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix}…"


class SignatureScheme(models.TextChoices):
    """How a provider signs and words its events."""

    STANDARD = "standard", "Standard Webhooks"
    STRIPE = "stripe", "Stripe"


class LookupKind(models.TextChoices):
    """How a provider is asked what became of an elicitation. ``NONE``: it cannot be asked."""

    NONE = "", "none"
    GENERIC = "generic", "generic"
    STRIPE = "stripe", "Stripe"


class Provider(models.Model):
    """An outside service of one tenant that can complete elicitations. Its slug is unique on the whole desk,
    because it stands in the address of its webhook.

    ``lookup_failures`` counts look-ups that failed in a row, the last of them for ``lookup_problem``; until
    ``lookup_paused_until`` nobody asks again.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="providers")
    slug = models.CharField(max_length=40, unique=True, validators=[slug_validator])
    name = models.CharField(max_length=200)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    scheme = models.CharField(max_length=8, choices=SignatureScheme, default=SignatureScheme.STANDARD)
    lookup = models.CharField(max_length=8, choices=LookupKind, default=LookupKind.NONE, blank=True)
    status_url = models.CharField(max_length=300, blank=True)
    lookup_failures = models.PositiveIntegerField(default=0, editable=False)
    lookup_problem = models.CharField(max_length=20, blank=True, editable=False)
    lookup_paused_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(lookup="", status_url="")
                | models.Q(~models.Q(lookup=""), status_url__startswith="https://"),
                name="provider_lookup_has_address",
            ),
        ]

    def __str__(self) -> str:
        return self.slug


class KeyUse(models.TextChoices):
    """What a provider's secret is for: verifying its events, or asking it for a status."""

    WEBHOOK = "webhook", "webhook"
    LOOKUP = "lookup", "status look-up"


class ProviderKey(models.Model):
    """A secret shared with a provider, sealed. Several may be live at once during rotation."""

    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="keys")
    use = models.CharField(max_length=8, choices=KeyUse, default=KeyUse.WEBHOOK)
    kid = models.CharField(max_length=16)
    sealed_secret = models.TextField()
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["provider", "kid"], name="provider_key_id"),
        ]

    def __str__(self) -> str:
        return f"{self.provider.slug}:{self.kid}"


class Client(models.Model):
    """A client program as it named itself: unverified, shown, never decisive. Erasable; the ledger has the number."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="clients")
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=50)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "name", "version"], name="client_in_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


class Subject(models.Model):
    """A person, known by a keyed digest of (issuer, subject). The ledger has the random handle alone, so that
    deleting this row is the erasure of the person."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="subjects")
    digest = models.CharField(max_length=81)
    handle = models.UUIDField(unique=True, default=uuid4)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "digest"], name="subject_in_tenant"),
        ]

    def __str__(self) -> str:
        return str(self.handle)
