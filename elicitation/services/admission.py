"""Deciding a question and registering it; asking again for the same operation gives the same entry."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from audit.ledger import append
from elicitation.models import Decision as DecisionRow
from elicitation.models import Elicitation, Provider, Service
from elicitation.policy import identifiers, limits
from elicitation.policy.admission import Ruling, decide
from elicitation.policy.decision import Ask, Delivery, Mode, Outcome, Wire
from elicitation.policy.document import Destination, Document
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.rules import Rule
from elicitation.services import actors, clock, locks, parties, revisions
from elicitation.services import limits as counts
from elicitation.services.asking_again import (
    AskFirst,
    admission_of,
    ask_again,
    ask_provider,
    asks_still,
    check_same_question,
    is_reused,
    needs_word,
    predecessor_of,
    target,
)
from elicitation.services.lookup import RELATED
from elicitation.services.move import Refusal, Superseded, about, expire_if_due, maybe_visited, prepared
from elicitation.services.questions import (
    Admitted,
    Denied,
    EvidenceWaiting,
    NotRegistered,
    OperationConflict,
    Question,
    operation_digests,
)
from elicitation.services.records import denial, keep_decision, of_ask
from elicitation.services.revisions import InForce


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question as decided under the policy of the moment, before any transaction: deciding can take its time."""

    policy: InForce
    uid: UUID
    ask: Ask
    ruling: Ruling


def admit(service: Service, question: Question) -> Admitted | Denied:
    """Decide ``question`` and register it, or find the entry that its operation already has.

    Where it was asked before and its link may have been visited, the provider is asked first, outside of the
    transaction. Raises ``OperationConflict``, ``EvidenceWaiting``, ``UnknownPredecessor`` and ``Contended``.
    """
    under_way: dict[int, bool] = {}

    def prepare() -> Prepared:
        policy, uid = revisions.active(), UUID(bytes=secrets.token_bytes(16))
        ask = asked(service, question, identifiers.mint_text(uid.bytes))
        return Prepared(policy, uid, ask, decide(ask, policy.document, policy.number))

    def attempt(ready: Prepared) -> Admitted | Denied | AskFirst | Refusal:
        """A refusal is a value here, so that an overdue entry's expiry is kept although nothing is registered."""
        try:
            return _admit_once(service, question, ready, under_way)
        except NotRegistered as refusal:
            return refusal

    while True:
        done = cast("Admitted | Denied | AskFirst", prepared(prepare, attempt))
        if not isinstance(done, AskFirst):
            return done
        under_way[done.entry.pk] = ask_provider(done.entry, actors.service(service))


def _admit_once(
    service: Service, question: Question, ready: Prepared, under_way: Mapping[int, bool]
) -> Admitted | Denied | AskFirst:
    """``under_way`` says of entries whose provider was asked whether their work goes on."""
    now, policy, ruling = clock.now(), ready.policy, ready.ruling
    if revisions.active().number != policy.number:
        raise Superseded  # decided under a policy that is no longer in force
    current, *older = operation_digests(service, question.iss, question.sub, question.operation)
    locks.hold([current, *older])
    earlier = Elicitation.objects.filter(service=service, operation_digest__in=[current, *older])
    last = earlier.select_related(*RELATED).order_by("-pk").first()
    if last is not None:
        expire_if_due(last, actors.SCHEDULER, now)
        if last.operation_digest != current:
            earlier.exclude(operation_digest=current).update(operation_digest=current)
            last.operation_digest = current
    reused = last is not None and is_reused(last, now, policy.document.windows.replay_seconds)
    if last is not None and reused and not asks_still(last):
        # Nothing will be sent, so nothing is refused: a paid result stays within reach of its call.
        if ruling.decision.admitted:
            check_same_question(last, question, ruling)
        return Admitted(last, admission_of(last), None, False, now)
    if last is not None and earlier.filter(late_evidence=True).exists():
        raise EvidenceWaiting(last)
    predecessor = None if reused else predecessor_of(service, question, last)
    if predecessor is not None and ruling.decision.admitted:
        visited = needs_word(predecessor)
        if predecessor.late_evidence or (visited is not None and under_way.get(visited.pk)):
            raise EvidenceWaiting(predecessor, under_way=not predecessor.late_evidence)
        if visited is not None and visited.pk not in under_way:
            return AskFirst(visited)
    if ruling.decision.admitted and not reused:
        ruling = _within_limits(service, question, ruling, policy.document, now)
    client = parties.know_client(service.tenant, question.client_name, question.client_version)
    row = keep_decision(service, client, of_ask(DecisionRow.Kind.ADMISSION, ready.ask, ruling), policy, now)
    if not ruling.decision.admitted:
        append(now, denial(service, client, row, ready.ask, ruling, policy))
        return Denied(ruling.decision, row.uid)
    if last is not None and reused:
        check_same_question(last, question, ruling)
        return ask_again(last, ready.ask.elicitation_id, ruling, now)
    entry = _register(service, question, ruling, row, client.pk, ready.uid, current, predecessor, now)
    return Admitted(entry, ruling.decision, ruling.request, True, now)


def asked(service: Service, question: Question, elicitation_id: str) -> Ask:
    """The question as the policy sees it; ``elicitation_id`` is the id that a bound parameter would carry."""
    return Ask(
        wire=question.wire,
        delivery=question.delivery,
        purpose=question.purpose,
        capabilities=question.capabilities,
        request=question.request,
        tenant=service.tenant.slug,
        service=service.slug,
        elicitation_id=elicitation_id,
        window_seconds=question.window_seconds,
        providers=_open_providers(service),
    )


def _within_limits(service: Service, question: Question, ruling: Ruling, document: Document, now: datetime) -> Ruling:
    """The ruling as it is, or as a denial by a limit on asking."""
    subject = parties.know_subject(service.tenant, question.iss, question.sub)
    rule = limits.exceeded(counts.asked(service, subject, document.limits, now), document.limits)
    if rule is None:
        return ruling
    return replace(ruling, decision=limits.denied(ruling.decision, rule), request=None)


def _register(
    service: Service,
    question: Question,
    ruling: Ruling,
    row: DecisionRow,
    client_id: int,
    uid: UUID,
    operation_digest: str,
    predecessor: Elicitation | None,
    now: datetime,
) -> Elicitation:
    assert ruling.mode is not None
    origin, path_prefix = target(ruling.destination, ruling.path_index)
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
        predecessor=predecessor,
        after_visit=predecessor is not None and (maybe_visited(predecessor) or predecessor.after_visit),
        result_exclusive=ruling.destination is None or not ruling.destination.reuse_results,
        state=State.ADMITTED,
        deadline=ends,
        window_ends_at=ends,
        admitted_at=now,
        next_lookup_at=_first_lookup(question, ruling, now),
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


def _first_lookup(question: Question, ruling: Ruling, now: datetime) -> datetime | None:
    """No answer is reported for a link in an error, so its outside work may begin at once."""
    if ruling.destination is None or question.delivery is not Delivery.URL_REQUIRED:
        return None
    return now + timedelta(seconds=ruling.destination.usual_seconds)


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
