"""Policy revisions: which one is in force, and how another comes into force."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django.db import IntegrityError, transaction

from audit.ledger import SYSTEM_TENANT, Entry, append
from elicitation.drill.runner import Report, load_cases, run
from elicitation.models import PolicyRevision
from elicitation.policy.document import Document, parse
from elicitation.services import clock
from elicitation.services.actors import shell


class NotActivated(ValueError):
    """The revision did not come into force; says why in one sentence."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A revision with its document parsed."""

    row: PolicyRevision
    document: Document

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def digest(self) -> str:
        return self.row.digest


@lru_cache(maxsize=8)
def _parsed(digest: str, text: str) -> Document:  # the digest makes the key cheap to tell apart
    return parse(text)


def _in_force(row: PolicyRevision) -> InForce:
    return InForce(row, _parsed(row.digest, row.document))


def active() -> InForce:
    """The revision in force. Read anew each time: an activation is felt by the next call in every process."""
    return _in_force(PolicyRevision.objects.get(status=PolicyRevision.Status.ACTIVE))


def numbered(number: int) -> InForce | None:
    """The revision with this number, in force or not."""
    row = PolicyRevision.objects.filter(number=number).first()
    return None if row is None else _in_force(row)


def activate_alone(document: Document, note: str) -> InForce:
    """Bring ``document`` into force as a new revision, from the machine's shell, on the ledger with reason ``alone``.

    Raises ``NotActivated`` when a case of the drill does not match, or somebody else activated one meanwhile.
    """
    present = active()
    number = present.number + 1
    report: Report = run(document, number, load_cases())
    if not report.passed:
        raise NotActivated(f"{len(report.cases) - report.matched} cases of the drill do not match.")
    actor = shell()
    try:
        with transaction.atomic():
            at = clock.now()
            superseded = PolicyRevision.objects.filter(pk=present.row.pk, status=PolicyRevision.Status.ACTIVE)
            if not superseded.update(status=PolicyRevision.Status.SUPERSEDED):
                raise NotActivated("Another revision came into force meanwhile.")
            row = PolicyRevision.objects.create(
                number=number,
                document=document.canonical().decode(),
                digest=document.digest,
                status=PolicyRevision.Status.ACTIVE,
                activated_at=at,
                note=note,
            )
            append(
                at,
                Entry(
                    tenant=SYSTEM_TENANT,
                    event="policy_activated",
                    actor_kind=actor.kind,
                    actor_id=actor.id,
                    role=actor.role,
                    policy_revision=number,
                    policy_digest=row.digest,
                    admission_revision=present.number,
                    reason_code="alone",
                ),
            )
    except IntegrityError:
        raise NotActivated("Another revision came into force meanwhile.") from None
    return _in_force(row)
