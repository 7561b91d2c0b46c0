"""Who did something, as people know them: the ledger has a number for an operator, the pages a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from django.contrib.auth.models import User

from audit.models import Export, LedgerEntry
from elicitation.services.actors import ActorKind

_BY: Final[dict[ActorKind, str]] = {
    ActorKind.CLIENT: "the client",
    ActorKind.USER: "the person",
    ActorKind.SERVICE: "service",
    ActorKind.PROVIDER: "provider",
    ActorKind.OPERATOR: "operator",
    ActorKind.POLICY: "the policy",
    ActorKind.SCHEDULER: "the schedule",
    ActorKind.UNKNOWN: "somebody unnamed",
}


def operator_names(rows: Iterable[LedgerEntry | Export]) -> dict[str, str]:
    """Names of the operators of ``rows`` by the numbers that the ledger has, read at once. Whoever was erased has
    none."""
    numbers = {row.actor_id for row in rows if row.actor_kind == ActorKind.OPERATOR and row.actor_id.isdecimal()}
    people = User.objects.filter(pk__in=[int(number) for number in numbers]) if numbers else User.objects.none()
    return {str(person.pk): person.get_username() for person in people}


def by_whom(row: LedgerEntry | Export, names: Mapping[str, str]) -> str:
    """Who did what ``row`` tells of: an operator by the name in ``names``, or else by number."""
    if row.role == "shell":
        return "the machine's shell"
    name = names.get(row.actor_id, row.actor_id) if row.actor_kind == ActorKind.OPERATOR else row.actor_id
    return " ".join(part for part in (_BY[ActorKind(row.actor_kind)], name) if part)
