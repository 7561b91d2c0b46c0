"""Whether an entry that an earlier revision admitted still stands under the policy now in force (operator policy)."""

from __future__ import annotations

from dataclasses import dataclass

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Mode, Purpose, Wire
from elicitation.policy.document import Destination, Document


@dataclass(frozen=True, slots=True)
class Standing:
    """What is kept of an admitted entry and can be judged again; ``origin``, ``path_prefix`` and ``provider`` are
    empty for a form. What needs the text of the question is not judged again: the text was not kept."""

    wire: Wire
    mode: Mode
    purpose: Purpose
    origin: str
    path_prefix: str
    provider: str
    tenant: str
    service: str


def standing_destination(entry: Standing, document: Document) -> Destination | None:
    """The destination that the entry leads to, if the policy still has it with the same provider."""
    destination = document.destination_for(entry.origin, entry.tenant, entry.service)
    return destination if destination is not None and destination.provider == entry.provider else None


def withdrawn(entry: Standing, document: Document) -> Rule | None:
    """The rule under which the entry would no longer be admitted, or ``None`` when it still stands."""
    if entry.wire not in document.wires:
        return Rule.WIRE_NOT_SERVED
    purpose = document.purposes.get(entry.purpose)
    if purpose is None:
        return Rule.ROUTE_PURPOSE_NOT_SERVED
    if entry.mode is Mode.FORM:
        return None if purpose.mode is Mode.FORM else Rule.ROUTE_MODE_CONTRADICTS_PURPOSE
    destination = standing_destination(entry, document)
    if destination is None:
        return Rule.URL_ORIGIN_NOT_LISTED
    if entry.path_prefix not in destination.paths:
        return Rule.URL_PATH_NOT_LISTED
    if entry.purpose not in destination.purposes:
        return Rule.DESTINATION_PURPOSE
    return None
