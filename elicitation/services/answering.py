"""What an auditor asks about one elicitation, answered from the ledger alone: did a person approve it, under which
policy, and was the result used once. Says what is not known."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from audit.models import Leaf, LedgerEntry, Log
from elicitation.services.answers_from_history import Answer, History
from elicitation.services.named import by_whom, operator_names
from elicitation.services.scoping import Scope
from elicitation.services.timeline import SENTENCES


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One entry with its place: ``leaf`` is ``None`` while it is not sealed."""

    row: LedgerEntry
    text: str
    by: str
    leaf: int | None
    witnessed: bool


@dataclass(frozen=True, slots=True)
class Answers:
    """All that the ledger of ``tenant`` says about one elicitation. ``log`` is ``None`` before its first seal."""

    uid: UUID
    tenant: str
    answers: tuple[Answer, ...]
    exhibits: tuple[Exhibit, ...]
    log: Log | None
    unsealed: int


def tenant_of(uid: UUID) -> str | None:
    """Whose the elicitation is, by the ledger alone; ``None`` when it says nothing about it."""
    # An export is asked for, and makes nothing the asker's.
    told = LedgerEntry.objects.filter(elicitation_id=uid).exclude(event="exported")
    return told.order_by("pk").values_list("tenant", flat=True).first()


def answers(uid: UUID, scope: Scope) -> Answers | None:
    """``None`` when the ledger has nothing about it within ``scope``. Bounded by what happened to one elicitation."""
    tenant = tenant_of(uid)
    if tenant is None or not scope.holds(tenant):
        return None
    rows = list(LedgerEntry.objects.filter(tenant=tenant, elicitation_id=uid).order_by("pk"))
    log = Log.objects.filter(tenant=tenant).first()
    places = dict(Leaf.objects.filter(entry_id__in=[row.pk for row in rows]).values_list("entry_id", "index"))
    history = History(rows, log)
    names, seen = operator_names(rows), log.witnessed_size if log else 0
    exhibits = [
        Exhibit(row, SENTENCES[row.event](row), by_whom(row, names), leaf, leaf is not None and leaf < seen)
        for row in rows
        for leaf in [places.get(row.pk)]
    ]
    made = (history.approved(), history.policy(), history.used())
    return Answers(uid, tenant, made, tuple(exhibits), log, sum(each.leaf is None for each in exhibits))
