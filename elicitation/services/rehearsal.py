"""Deciding without registering: dry runs, and checks of an error that a service is about to send."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from elicitation.models import Client, Service
from elicitation.models import Decision as DecisionRow
from elicitation.policy import identifiers
from elicitation.policy.admission import decide
from elicitation.policy.decision import Decision, Delivery, Mode, Purpose, Wire
from elicitation.policy.url_required import ErrorAsk, judge_error
from elicitation.services import admission, clock, parties, revisions
from elicitation.services.move import settled
from elicitation.services.questions import Question
from elicitation.services.records import Decided, keep_decision, of_ask
from elicitation.services.revisions import InForce


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """``error`` is the exact object to send, where an error was checked and admitted."""

    decision: Decision
    decision_id: UUID
    error: dict[str, object] | None = None


def dry_run(service: Service, question: Question) -> Rehearsed:
    """What :func:`admission.admit` would decide, limits on asking and earlier entries aside. Nothing is registered."""
    ask = admission.asked(service, question, identifiers.mint_text(secrets.token_bytes(16)))

    def decided(policy: InForce) -> tuple[Decided, None]:
        return of_ask(DecisionRow.Kind.DRY_RUN, ask, decide(ask, policy.document, policy.number)), None

    return _rehearse(service, question.client_name, question.client_version, decided)


def check_error(
    service: Service, wire: Wire, purpose: Purpose, capabilities: object, error: object, client: tuple[str, str]
) -> Rehearsed:
    """Judge a -32042 error body (2025-11-25, client/elicitation). Its ids are the desk's, given out before."""
    ask = ErrorAsk(
        wire=wire,
        purpose=purpose,
        capabilities=capabilities,
        error=error,
        tenant=service.tenant.slug,
        service=service.slug,
    )

    def decided(policy: InForce) -> tuple[Decided, dict[str, object] | None]:
        ruling = judge_error(ask, policy.document, policy.number)
        kept = Decided(
            kind=DecisionRow.Kind.ERROR,
            wire=wire,
            delivery=Delivery.URL_REQUIRED,
            purpose=purpose,
            mode=Mode.URL,
            mode_asked=True,
            asked_window=None,
            decision=ruling.decision,
            traits=ruling.traits,
        )
        return kept, ruling.error

    return _rehearse(service, *client, decided)


def _rehearse(
    service: Service,
    client_name: str,
    client_version: str,
    decided: Callable[[InForce], tuple[Decided, dict[str, object] | None]],
) -> Rehearsed:
    def attempt() -> Rehearsed:
        now, policy = clock.now(), revisions.active()
        client: Client = parties.know_client(service.tenant, client_name, client_version)
        kept, error = decided(policy)
        return Rehearsed(kept.decision, keep_decision(service, client, kept, policy, now).uid, error)

    return settled(attempt)
