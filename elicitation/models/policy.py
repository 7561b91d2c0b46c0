"""Policy revisions, which never change, and what was decided under them."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q


class PolicyRevision(models.Model):
    """One immutable policy document. A trigger in the database keeps number, document and digest as they are."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        SUPERSEDED = "superseded", "superseded"

    number = models.PositiveIntegerField(unique=True)
    document = models.TextField(help_text="Canonical JSON (RFC 8785).")
    digest = models.CharField(max_length=71)
    cases = models.TextField(default="[]", help_text="The policy's own cases, canonical JSON.")
    status = models.CharField(max_length=10, choices=Status)
    activated_at = models.DateTimeField()
    activated_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    note = models.CharField(max_length=200, blank=True, help_text="Why it was activated.")

    class Meta:
        default_permissions: ClassVar = ("view",)
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["status"], condition=Q(status="active"), name="one_active_revision"),
            models.CheckConstraint(condition=Q(status__in=["active", "superseded"]), name="revision_status"),
        ]

    def __str__(self) -> str:
        return f"revision {self.number}"


class PolicyDraft(models.Model):
    """A document that may become a revision. Whoever edited it cannot approve it; an edit voids every approval."""

    class Status(models.TextChoices):
        OPEN = "open", "open"
        ACTIVATED = "activated", "activated"
        DISCARDED = "discarded", "discarded"

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    title = models.CharField(max_length=200)
    document = models.TextField(help_text="Canonical JSON (RFC 8785).")
    cases = models.TextField(default="[]", help_text="The policy's own cases, canonical JSON.")
    digest = models.CharField(max_length=71, help_text="Of document and cases together.")
    base = models.ForeignKey(PolicyRevision, on_delete=models.PROTECT, related_name="drafts")
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    edited_at = models.DateTimeField()
    editors = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+")
    revision = models.OneToOneField(PolicyRevision, on_delete=models.PROTECT, null=True, related_name="draft")

    class Meta:
        default_permissions: ClassVar = ("view", "add", "change")
        permissions: ClassVar = [("approve_policydraft", "Can approve and activate what another person drafted")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(status="activated", revision__isnull=False)
                | Q(~Q(status="activated"), revision__isnull=True),
                name="activated_draft_has_revision",
            ),
        ]

    def __str__(self) -> str:
        return f"draft {self.pk}: {self.title}"


class PolicyApproval(models.Model):
    """Somebody's yes to exactly this content of a draft."""

    draft = models.ForeignKey(PolicyDraft, on_delete=models.PROTECT, related_name="approvals")
    digest = models.CharField(max_length=71)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        default_permissions: ClassVar = ()
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["draft", "digest", "by"], name="approved_once"),
        ]

    def __str__(self) -> str:
        return f"approval of {self.draft}"


class Decision(models.Model):
    """One decision, an admission or a denial: what may be kept of the request, and the verdict with its findings.

    Never a message, title, label, default or value; names are bounded and dropped when shaped like a secret.
    """

    class Kind(models.TextChoices):
        ADMISSION = "admission", "admission"
        DRY_RUN = "dry_run", "dry run"
        ERROR = "error", "check of an error"

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    kind = models.CharField(max_length=10, choices=Kind, editable=False)
    at = models.DateTimeField(editable=False)
    service = models.ForeignKey("elicitation.Service", on_delete=models.PROTECT, editable=False, db_index=False)
    client = models.ForeignKey("elicitation.Client", on_delete=models.SET_NULL, null=True, editable=False)
    revision = models.ForeignKey(PolicyRevision, on_delete=models.PROTECT, editable=False)

    wire = models.CharField(max_length=10, editable=False)
    delivery = models.CharField(max_length=16, editable=False)
    purpose = models.CharField(max_length=32, editable=False)
    mode = models.CharField(max_length=4, blank=True, editable=False)
    mode_asked = models.BooleanField(editable=False, help_text="Whether the caller named the mode.")
    declared_form = models.BooleanField(editable=False)
    declared_url = models.BooleanField(editable=False)
    capability_malformed = models.BooleanField(editable=False)
    origin = models.CharField(max_length=300, blank=True, editable=False)
    path_index = models.PositiveIntegerField(null=True, editable=False)
    parameter_names = models.JSONField(default=list, editable=False)
    property_names = models.JSONField(default=list, editable=False)
    keywords = models.JSONField(default=list, editable=False)
    property_count = models.PositiveIntegerField(default=0, editable=False)
    choice_count = models.PositiveIntegerField(default=0, editable=False)
    text_bytes = models.PositiveIntegerField(default=0, editable=False)
    schema_bytes = models.PositiveIntegerField(default=0, editable=False)
    url_length = models.PositiveIntegerField(default=0, editable=False)
    asked_window = models.PositiveIntegerField(null=True, editable=False)
    id_class = models.CharField(max_length=16, editable=False)

    outcome = models.CharField(max_length=5, editable=False)
    rule = models.CharField(max_length=72, editable=False)
    findings = models.JSONField(default=list, editable=False, help_text="Rule and place of each finding.")

    class Meta:
        default_permissions: ClassVar = ("view",)
        indexes: ClassVar = [
            models.Index(fields=["service", "-id"], name="decision_service"),  # a service's decisions, newest first
            models.Index(fields=["rule", "-id"], name="decision_rule"),  # what a rule has refused
            models.Index(fields=["at"], name="decision_at"),  # replaying the last days
        ]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(outcome__in=["admit", "deny"]), name="decision_outcome"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} ({self.rule})"
