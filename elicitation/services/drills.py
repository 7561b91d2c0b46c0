"""Runs of the drill on the ledger: one entry for each case."""

from __future__ import annotations

from django.db import transaction

from audit.ledger import SYSTEM_TENANT, Entry, append
from elicitation.drill.runner import Fixture, Report, run
from elicitation.services import actors, clock
from elicitation.services.revisions import InForce


def run_and_record(policy: InForce, fixture: Fixture, *, overlay: bool) -> Report:
    """Run ``fixture`` against ``policy`` and append each result to the system tenant's log."""
    report = run(policy.document, policy.number, fixture, overlay=overlay)
    by = actors.shell()
    with transaction.atomic():
        append(
            clock.now(),
            *(
                Entry(
                    tenant=SYSTEM_TENANT,
                    event="drill_case",
                    actor_kind=by.kind,
                    role=by.role,
                    case_id=case.case_id,
                    mode=case.mode,
                    expected=case.expected,
                    actual=case.actual,
                    match=case.match,
                    id_class=case.correlation_class,
                    policy_revision=report.policy_revision,
                    policy_digest=report.policy_digest,
                    fixture_digest=report.fixture_digest,
                )
                for case in report.cases
            ),
        )
    return report
