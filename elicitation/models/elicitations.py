"""One question put to one person on behalf of one waiting call."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from elicitation.policy.decision import Delivery, Mode, Purpose, Wire
from elicitation.policy.lifecycle import LIVE, State


def _choices(enum: type[State] | type[Mode] | type[Wire] | type[Delivery] | type[Purpose]) -> list[tuple[str, str]]:
    return [(str(member), str(member)) for member in enum]


_LIVE = Q(state__in=sorted(state.value for state in LIVE))
_ALL_STATES = sorted(state.value for state in State)
_FINISHED = [State.COMPLETE.value, State.ACCEPTED.value]
_CONSENTED = [State.ACCEPTED.value, State.CONSENT_PENDING.value]
_OUTSIDE = [State.CONSENT_PENDING.value, State.RETRY_REQUIRED.value, State.COMPLETE.value]
_TERMINAL_STATES = sorted(state.value for state in State if state.terminal)


class Elicitation(models.Model):
    """An elicitation with its four facts: admitted, consented, completed, applied. None implies the next.

    ``state`` moves as ``policy/lifecycle.py`` says and is written by ``services/move.py`` alone, with its ledger
    entries, in one transaction. ``version`` grows with every stored event. ``deadline`` is when a live state ends
    (half open); ``window_ends_at`` is the end of the time in which the person could act, which a retry window
    does not extend. ``unresolved``: it expired while its confirmation was lost, and nobody has closed it.
    ``next_lookup_at`` is when the reconciler takes it up.
    """

    uid = models.UUIDField(unique=True, editable=False)
    # Each of these leads an index below, so none has one of its own.
    service = models.ForeignKey(
        "elicitation.Service", on_delete=models.PROTECT, related_name="elicitations", db_index=False
    )
    tenant = models.ForeignKey(
        "elicitation.Tenant", on_delete=models.PROTECT, related_name="elicitations", db_index=False
    )
    client = models.ForeignKey("elicitation.Client", on_delete=models.SET_NULL, null=True, db_index=False)
    subject = models.ForeignKey("elicitation.Subject", on_delete=models.SET_NULL, null=True, db_index=False)
    provider = models.ForeignKey("elicitation.Provider", on_delete=models.PROTECT, null=True, db_index=False)

    wire = models.CharField(max_length=10, choices=_choices(Wire))
    wire_id = models.CharField(max_length=200, null=True)  # noqa: DJ001 - absent on 2026-07-28, unique where present
    delivery = models.CharField(max_length=16, choices=_choices(Delivery))
    mode = models.CharField(max_length=4, choices=_choices(Mode))
    purpose = models.CharField(max_length=32, choices=_choices(Purpose))
    origin = models.CharField(max_length=300, blank=True)
    path_prefix = models.CharField(max_length=300, blank=True)
    id_class = models.CharField(max_length=16)
    operation_digest = models.CharField(max_length=81)
    request_id = models.CharField(max_length=100, blank=True)
    decision = models.ForeignKey("elicitation.Decision", on_delete=models.PROTECT, related_name="+")
    revision = models.ForeignKey("elicitation.PolicyRevision", on_delete=models.PROTECT, related_name="+")
    predecessor = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="successors")
    after_visit = models.BooleanField(default=False)

    state = models.CharField(max_length=20, choices=_choices(State))
    version = models.PositiveIntegerField(default=0)
    deadline = models.DateTimeField(null=True)
    window_ends_at = models.DateTimeField()

    admitted_at = models.DateTimeField()
    consented_at = models.DateTimeField(null=True)
    consent_source = models.CharField(max_length=16, blank=True)
    completed_at = models.DateTimeField(null=True)
    completion_source = models.CharField(max_length=16, blank=True)
    result_ref = models.TextField(blank=True, help_text="Sealed.")
    result_digest = models.CharField(max_length=81, null=True)  # noqa: DJ001 - unique where present
    result_exclusive = models.BooleanField(default=True)
    reversed_at = models.DateTimeField(null=True)
    applied_at = models.DateTimeField(null=True)

    delivered_at = models.DateTimeField(null=True)
    shown_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    answer_action = models.CharField(max_length=8, blank=True)
    answer_latency_ms = models.PositiveBigIntegerField(null=True)
    content_stripped = models.BooleanField(default=False)
    origin_ended_at = models.DateTimeField(null=True)

    lost_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    cancelled_by = models.CharField(max_length=8, blank=True)
    cancel_reason = models.CharField(max_length=32, blank=True)
    held_evidence = models.BooleanField(default=False)
    late_evidence = models.BooleanField(default=False)
    unresolved = models.BooleanField(default=False)
    looked_up_at = models.DateTimeField(null=True)
    lookup_outcome = models.CharField(max_length=20, blank=True)
    next_lookup_at = models.DateTimeField(null=True)
    feed_index = models.PositiveBigIntegerField(null=True)

    class Meta:
        default_permissions: ClassVar = ("view", "cancel", "lookup")
        indexes: ClassVar = [
            models.Index(fields=["deadline"], condition=_LIVE, name="elicitation_due"),  # the expire sweep
            models.Index(fields=["id"], condition=Q(late_evidence=True), name="elicitation_late"),  # waits for people
            models.Index(fields=["id"], condition=Q(held_evidence=True), name="elicitation_held"),  # waits, too
            models.Index(fields=["id"], condition=Q(unresolved=True), name="elicitation_unresolved"),  # waits, too
            models.Index(
                fields=["next_lookup_at"], condition=Q(next_lookup_at__isnull=False), name="elicitation_lookup_due"
            ),  # the reconciler
            models.Index(
                fields=["provider", "lost_at"], condition=Q(lost_at__isnull=False), name="elicitation_lost"
            ),  # the lost rate of a provider, beside the next one
            models.Index(
                fields=["provider", "completed_at"],
                condition=Q(completed_at__isnull=False),
                name="elicitation_completed",
            ),
            models.Index(
                fields=["client", "answered_at"],
                condition=Q(answered_at__isnull=False),
                name="elicitation_answered",
            ),  # probable auto-answers of a client
            models.Index(
                fields=["service", "completed_at"],
                condition=Q(state=State.COMPLETE.value, feed_index__isnull=True),
                name="elicitation_unfed",
            ),  # what the service's feed has not listed yet
            models.Index(fields=["service", "operation_digest", "-id"], name="elicitation_operation"),  # asking again
            models.Index(fields=["service", "admitted_at"], name="elicitation_asks_of_service"),  # limits
            models.Index(fields=["subject", "admitted_at"], name="elicitation_asks_of_subject"),  # limits
            models.Index(fields=["service", "-id"], name="elicitation_of_service"),  # a service's own list
            models.Index(fields=["tenant", "state", "-id"], name="elicitation_tenant_state"),  # the admin's filters
            models.Index(fields=["tenant", "-id"], name="elicitation_of_tenant"),
            models.Index(fields=["provider", "-id"], name="elicitation_of_provider"),
            models.Index(fields=["client", "-id"], name="elicitation_of_client"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["service", "operation_digest"],
                condition=_LIVE | Q(state=State.COMPLETE.value, applied_at__isnull=True),
                name="one_open_entry_of_an_operation",
            ),
            models.UniqueConstraint(
                fields=["service", "feed_index"], condition=Q(feed_index__isnull=False), name="feed_index_in_service"
            ),
            models.UniqueConstraint(
                fields=["service", "wire_id"], condition=Q(wire_id__isnull=False), name="wire_id_in_service"
            ),
            models.UniqueConstraint(
                fields=["provider", "result_digest"],
                condition=Q(result_digest__isnull=False, result_exclusive=True),
                name="result_used_by_one_entry",
            ),
            models.CheckConstraint(condition=Q(state__in=_ALL_STATES), name="state_is_known"),
            models.CheckConstraint(
                condition=Q(_LIVE, deadline__isnull=False) | Q(state__in=_TERMINAL_STATES, deadline__isnull=True),
                name="live_has_deadline",
            ),
            models.CheckConstraint(
                condition=Q(state=State.COMPLETE.value, completed_at__isnull=False, result_digest__isnull=False)
                | Q(~Q(state=State.COMPLETE.value), completed_at__isnull=True, result_digest__isnull=True),
                name="complete_has_evidence",
            ),
            models.CheckConstraint(
                condition=Q(applied_at__isnull=True) | Q(state__in=_FINISHED),
                name="applied_is_finished",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=_CONSENTED) | Q(consented_at__isnull=False),
                name="consent_is_recorded",
            ),
            models.CheckConstraint(
                condition=Q(mode=Mode.FORM.value, provider__isnull=True, origin="")
                | Q(Q(mode=Mode.URL.value, provider__isnull=False), ~Q(origin="")),
                name="url_has_destination",
            ),
            models.CheckConstraint(
                condition=~Q(mode=Mode.FORM.value) | ~Q(state__in=_OUTSIDE),
                name="form_is_never_pending_outside",
            ),
            models.CheckConstraint(condition=Q(window_ends_at__gt=F("admitted_at")), name="window_is_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} ({self.state})"
