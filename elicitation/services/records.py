"""What is kept of a decision: one row for the operators, and for a denial one ledger entry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from audit.ledger import Entry
from elicitation.models import Client, Service
from elicitation.models import Decision as DecisionRow
from elicitation.policy.admission import Ruling
from elicitation.policy.decision import Ask, Decision, Delivery, Mode, Purpose, Wire
from elicitation.policy.lifecycle import Event
from elicitation.policy.rules import Rule, Source, entry
from elicitation.policy.traits import Traits
from elicitation.services.actors import ActorKind
from elicitation.services.revisions import InForce


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What was decided about what: the parts of a request and its ruling that are kept."""

    kind: DecisionRow.Kind
    wire: Wire
    delivery: Delivery
    purpose: Purpose
    mode: Mode | None
    mode_asked: bool
    asked_window: int | None
    decision: Decision
    traits: Traits


def of_ask(kind: DecisionRow.Kind, ask: Ask, ruling: Ruling) -> Decided:
    return Decided(
        kind=kind,
        wire=ask.wire,
        delivery=ask.delivery,
        purpose=ask.purpose,
        mode=ruling.mode,
        mode_asked=ask.request.get("mode") in tuple(Mode),
        asked_window=ask.window_seconds,
        decision=ruling.decision,
        traits=ruling.traits,
    )


def keep_decision(service: Service, client: Client, decided: Decided, policy: InForce, now: datetime) -> DecisionRow:
    """Store what may be kept of a request with its verdict."""
    traits, deciding = decided.traits, decided.decision.deciding
    return DecisionRow.objects.create(
        at=now,
        kind=decided.kind,
        service=service,
        client=client,
        revision=policy.row,
        wire=decided.wire,
        delivery=decided.delivery,
        purpose=decided.purpose,
        mode=decided.mode or "",
        mode_asked=decided.mode_asked,
        declared_form=traits.declared_form,
        declared_url=traits.declared_url,
        capability_malformed=traits.malformed,
        origin=traits.origin,
        path_index=traits.path_index,
        parameter_names=list(traits.parameter_names),
        property_names=list(traits.property_names),
        keywords=list(traits.keywords),
        property_count=traits.property_count,
        choice_count=traits.choice_count,
        text_bytes=traits.text_bytes,
        schema_bytes=traits.schema_bytes,
        url_length=traits.url_length,
        asked_window=decided.asked_window,
        id_class=traits.id_class,
        outcome=decided.decision.outcome,
        rule=deciding.rule if deciding else Rule.ADMITTED,
        findings=[[str(finding.rule), finding.place] for finding in decided.decision.findings],
    )


def denial(service: Service, client: Client, row: DecisionRow, ask: Ask, ruling: Ruling, policy: InForce) -> Entry:
    """The ledger entry of a denial: the rule, whose it is, and the place, never what stood there."""
    deciding = ruling.decision.deciding
    assert deciding is not None
    return Entry(
        tenant=service.tenant.slug,
        event=Event.ADMIT,
        actor_kind=ActorKind.SERVICE,
        actor_id=service.slug,
        decision_id=row.uid,
        service=service.slug,
        client_id=client.pk,
        wire=ask.wire,
        mode=ruling.mode or "",
        delivery=ask.delivery,
        purpose=ask.purpose,
        negotiated=ruling.decision.negotiated,
        outcome=ruling.decision.outcome,
        rule=deciding.rule,
        rule_source=rule_source(deciding.rule),
        place=deciding.place,
        id_class=ruling.id_class,
        policy_revision=policy.number,
        policy_digest=policy.digest,
    )


def rule_source(rule: Rule) -> str:
    """Whose the rule is, in the ledger's words: the protocol's or the operator's."""
    return "operator" if Source.OPERATOR in entry(rule).sources else "spec"
