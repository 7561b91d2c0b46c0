"""Deciding a question and registering it; asking again for the same operation gives the same entry."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from django.db import IntegrityError, transaction

from audit.ledger import append
from elicitation.models import Decision as DecisionRow
from elicitation.models import Elicitation, Provider, Service
from elicitation.policy import identifiers
from elicitation.policy.admission import Ruling, decide
from elicitation.policy.decision import Ask, Decision, Delivery, Mode, Outcome, Wire
from elicitation.policy.document import Destination
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.rules import Rule
from elicitation.services import actors, clock, parties, revisions
from elicitation.services.lookup import RELATED
from elicitation.services.move import Refusal, Step, Superseded, about, expire_if_due, move, settled
from elicitation.services.questions import (
    Admitted,
    Denied,
    EvidenceWaiting,
    NotRegistered,
    OperationConflict,
    Question,
    UnknownPredecessor,
    operation_digests,
)
from elicitation.services.records import denial, keep_decision


def admit(service: Service, question: Question) -> Admitted | Denied:
    """Decide ``question`` and register it, or find the entry that its operation already has.

    Raises ``OperationConflict``, ``EvidenceWaiting``, ``UnknownPredecessor`` and ``Contended``.
    """

    def attempt() -> Admitted | Denied | Refusal:
        try:
            with transaction.atomic():  # a savepoint: the loser of a race reads again
                return _admit_or_say_why(service, question)
        except IntegrityError:
            raise Superseded from None

    return cast("Admitted | Denied", settled(attempt))


def _admit_or_say_why(service: Service, question: Question) -> Admitted | Denied | Refusal:
    """A refusal is a value here, so that an overdue entry's expiry is kept although nothing is registered."""
    try:
        return _admit_once(service, question)
    except NotRegistered as refusal:
        return refusal


def _admit_once(service: Service, question: Question) -> Admitted | Denied:
    now = clock.now()
    policy = revisions.active()
    current, *older = operation_digests(service, question.iss, question.sub, question.operation)
    last = (
        Elicitation.objects.select_related(*RELATED)
        .filter(service=service, operation_digest__in=[current, *older])
        .order_by("-pk")
        .first()
    )
    if last is not None:
        if expire_if_due(last, actors.SCHEDULER, now):
            now = clock.now()
        if last.operation_digest != current:
            Elicitation.objects.filter(pk=last.pk).update(operation_digest=current)
            last.operation_digest = current
    reused = last is not None and _is_reused(last, now, policy.document.windows.replay_seconds)
    uid = last.uid if last is not None and reused else UUID(bytes=secrets.token_bytes(16))
    ask = Ask(
        wire=question.wire,
        delivery=question.delivery,
        purpose=question.purpose,
        capabilities=question.capabilities,
        request=question.request,
        tenant=service.tenant.slug,
        service=service.slug,
        elicitation_id=identifiers.mint_text(uid.bytes),
        window_seconds=question.window_seconds,
        providers=_open_providers(service),
    )
    ruling = decide(ask, policy.document, policy.number)
    if last is not None and not reused and last.late_evidence:
        raise EvidenceWaiting(last)
    if last is not None and reused and not _asks_still(last):
        # Nothing will be sent, so nothing is refused: a paid result stays within reach of its call.
        return Admitted(last, admission_of(last), None, False, now)
    client = parties.know_client(service.tenant, question.client_name, question.client_version)
    row = keep_decision(service, client, ask, ruling, policy, now)
    if not ruling.decision.admitted:
        append(now, denial(service, client, row, ask, ruling, policy))
        return Denied(ruling.decision, row.uid)
    if last is not None and reused:
        return _ask_again(last, question, ruling, now)
    entry = _register(service, question, ruling, row, client.pk, uid, current, last, now)
    return Admitted(entry, ruling.decision, ruling.request, True, now)


def _is_reused(last: Elicitation, now: datetime, replay_seconds: int) -> bool:
    """Whether asking again gives this entry (design: asking again)."""
    state = State(last.state)
    if not state.terminal:
        return True
    if state is not State.COMPLETE:
        return False
    return last.applied_at is None or now < last.applied_at + timedelta(seconds=replay_seconds)


def _asks_still(entry: Elicitation) -> bool:
    """Whether a repeated question may still be put to the person."""
    return State(entry.state) in (State.ADMITTED, State.CONSENT_PENDING)


def _ask_again(last: Elicitation, question: Question, ruling: Ruling, now: datetime) -> Admitted:
    place = _difference(last, question, ruling)
    if place:
        raise OperationConflict(place)
    if State(last.state) is State.ADMITTED and last.held_evidence:
        move(last, actors.service(last.service), Step(event=Event.ASK_AGAIN), at=now)
        return Admitted(last, ruling.decision, None, False, now)
    request = dict(ruling.request or {})
    if last.wire_id is not None:
        request["elicitationId"] = last.wire_id
    return Admitted(last, ruling.decision, request, False, now)


def _difference(last: Elicitation, question: Question, ruling: Ruling) -> str:
    """Where the body differs from the one that was admitted: purpose, wire, delivery, mode, destination.

    A URL made afresh for each call is the same question.
    """
    destination = ruling.destination
    pairs = {
        "/purpose": (last.purpose, question.purpose),
        "/wire": (last.wire, question.wire),
        "/delivery": (last.delivery, question.delivery),
        "/request/mode": (last.mode, ruling.mode),
        "/request/url": ((last.origin, last.path_prefix), _target(destination, ruling.path_index)),
    }
    return next((place for place, (before, after) in pairs.items() if before != after), "")


def _target(destination: Destination | None, path_index: int | None) -> tuple[str, str]:
    if destination is None:
        return "", ""
    return destination.origin, "" if path_index is None else destination.paths[path_index]


def _register(
    service: Service,
    question: Question,
    ruling: Ruling,
    row: DecisionRow,
    client_id: int,
    uid: UUID,
    operation_digest: str,
    last: Elicitation | None,
    now: datetime,
) -> Elicitation:
    assert ruling.mode is not None
    origin, path_prefix = _target(ruling.destination, ruling.path_index)
    wire_id = _wire_id(question.wire, ruling, uid)
    if wire_id is not None and Elicitation.objects.filter(service=service, wire_id=wire_id).exists():
        raise OperationConflict("/request/elicitationId")
    subject = parties.know_subject(service.tenant, question.iss, question.sub)
    ends = now + timedelta(seconds=ruling.window_seconds)
    entry = Elicitation.objects.create(
        uid=uid,
        tenant=service.tenant,
        service=service,
        client_id=client_id,
        subject=subject,
        provider=_provider(service, ruling.destination),
        wire=question.wire,
        wire_id=wire_id,
        delivery=question.delivery,
        mode=ruling.mode,
        purpose=question.purpose,
        origin=origin,
        path_prefix=path_prefix,
        id_class=ruling.id_class,
        operation_digest=operation_digest,
        request_id=parties.kept(question.operation.request_id),
        decision=row,
        revision=row.revision,
        predecessor=_predecessor(service, question, subject.pk, last),
        after_visit=last is not None and _ended_undecided(last) and maybe_visited(last),
        result_exclusive=ruling.destination is None or not ruling.destination.reuse_results,
        state=State.ADMITTED,
        deadline=ends,
        window_ends_at=ends,
        admitted_at=now,
    )
    append(
        now,
        about(
            entry,
            actors.service(service),
            Event.ADMIT,
            state_to=State.ADMITTED,
            outcome=Outcome.ADMIT,
            negotiated=ruling.decision.negotiated,
            decision_id=row.uid,
            related_id=entry.predecessor.uid if entry.predecessor else None,
            policy_revision=row.revision.number,
            policy_digest=row.revision.digest,
            rule=Rule.ADMITTED,
            rule_source="operator",
            binding_class="asserted",
            deadline=ends,
        ),
    )
    return entry


def _wire_id(wire: Wire, ruling: Ruling, uid: UUID) -> str | None:
    if wire is not Wire.V2025_11_25 or ruling.mode is not Mode.URL:
        return None
    return ruling.wire_id or identifiers.mint_text(uid.bytes)


def _open_providers(service: Service) -> frozenset[str]:
    return frozenset(Provider.objects.filter(tenant=service.tenant, closed_at=None).values_list("slug", flat=True))


def _provider(service: Service, destination: Destination | None) -> Provider | None:
    if destination is None:
        return None
    return Provider.objects.get(tenant=service.tenant, slug=destination.provider)


def _predecessor(service: Service, question: Question, subject_id: int, last: Elicitation | None) -> Elicitation | None:
    if question.predecessor is not None:
        named = Elicitation.objects.filter(uid=question.predecessor, service=service, subject_id=subject_id).first()
        if named is None:
            raise UnknownPredecessor
        return named
    return last if last is not None and _ended_undecided(last) else None


def _ended_undecided(entry: Elicitation) -> bool:
    return State(entry.state) in (State.CANCELLED, State.EXPIRED)


def maybe_visited(entry: Elicitation) -> bool:
    """Whether the person may have been on the outside page, so that money may have moved."""
    return entry.mode == Mode.URL and (
        entry.shown_at is not None
        or entry.consented_at is not None
        or entry.lost_at is not None
        or entry.delivery == Delivery.URL_REQUIRED
    )


def admission_of(entry: Elicitation) -> Decision:
    """The decision that once admitted ``entry``."""
    return Decision(
        outcome=Outcome.ADMIT,
        requested_mode=Mode(entry.mode),
        negotiated=True,
        reason=entry.purpose,
        policy_revision=entry.revision.number,
        policy_digest=entry.revision.digest,
    )
