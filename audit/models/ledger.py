"""The no-secret ledger: typed columns only, append-only in the database."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

FORMAT_VERSION = 1


def _word(length: int) -> models.CharField[str, str]:
    return models.CharField(max_length=length, blank=True, default="", editable=False)


class LedgerEntry(models.Model):
    """One thing that happened. Every column is from a closed list, an internal id or a keyed digest.

    There is no JSON and no free text, so there is nowhere to put a secret. Rows are written by
    ``audit.ledger.append`` alone and never change: triggers in the database refuse it.
    """

    tenant = _word(40)
    at = models.DateTimeField(editable=False)
    event = _word(32)

    elicitation_id = models.UUIDField(null=True, editable=False)
    decision_id = models.UUIDField(null=True, editable=False)
    related_id = models.UUIDField(null=True, editable=False)
    case_id = _word(60)
    service = _word(40)
    provider = _word(40)
    client_id = models.BigIntegerField(null=True, editable=False)
    subject = models.UUIDField(null=True, editable=False)

    operation_digest = _word(64)
    result_digest = _word(64)
    digest_key_id = _word(16)

    wire = _word(10)
    mode = _word(4)
    delivery = _word(16)
    purpose = _word(32)
    negotiated = models.BooleanField(null=True, editable=False)
    binding_class = _word(16)

    state_from = _word(20)
    state_to = _word(20)
    outcome = _word(32)
    expected = _word(20)
    actual = _word(20)
    match = models.BooleanField(null=True, editable=False)

    rule = _word(72)
    rule_source = _word(10)
    place = _word(200)
    reason_code = _word(32)
    id_class = _word(16)

    policy_revision = models.IntegerField(null=True, editable=False)
    policy_digest = _word(71)
    admission_revision = models.IntegerField(null=True, editable=False)
    fixture_digest = _word(71)

    actor_kind = _word(16)
    actor_id = _word(40)
    role = _word(20)
    decided_by = _word(20)
    consent_source = _word(16)
    completion_source = _word(16)

    deadline = models.DateTimeField(null=True, editable=False)
    latency_ms = models.BigIntegerField(null=True, editable=False)
    attempt = models.IntegerField(null=True, editable=False)
    repeat_count = models.IntegerField(null=True, editable=False)
    signing_key_id = _word(16)
    format_version = models.SmallIntegerField(default=FORMAT_VERSION, editable=False)

    class Meta:
        verbose_name = "ledger entry"
        verbose_name_plural = "ledger"
        default_permissions: ClassVar = ("view",)
        indexes: ClassVar = [
            models.Index(fields=["elicitation_id", "id"], name="ledger_elicitation"),  # the timeline of one entry
            models.Index(fields=["tenant", "event", "-id"], name="ledger_tenant_event"),  # an auditor's filter
            models.Index(
                fields=["result_digest"], condition=~models.Q(result_digest=""), name="ledger_result"
            ),  # an auditor asks whether a result is here
        ]

    def __str__(self) -> str:
        return f"{self.event} #{self.pk}"
