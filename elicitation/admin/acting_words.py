"""What an operator can do to an entry, and how the pages say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from elicitation.models import Elicitation
from elicitation.policy.lifecycle import Event
from elicitation.services.timeline import CLOSE_REASONS, REASONS


class Verb(StrEnum):
    """What can be done, as the addresses say it."""

    APPROVE = "approve"
    PROPOSE = "propose"
    WITHDRAW = "withdraw"
    CLOSE = "close"
    RETRY = "retry"
    LOST = "lost"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Words:
    """How a page offers an action: its button on the entry's page, then its own page. ``reasons`` are asked for one."""

    offer: str
    title: str
    before: str
    after: str
    meaning: str
    submit: str
    otherwise: str
    reasons: Mapping[Any, str] | None = None


WORDS: Final[dict[Verb, Words]] = {
    Verb.APPROVE: Words(
        offer="Approve the proposal to honour the confirmation",
        title="Approve",
        before="Honour the confirmation of",
        after="?",
        meaning="The entry becomes complete with this confirmation, and the waiting operation can take its result, now"
        " or when it asks again. Any other confirmation of this entry then contradicts it. This cannot be undone.",
        submit="Approve and honour it",
        otherwise="No proposal waits for your approval.",
    ),
    Verb.PROPOSE: Words(
        offer="Propose to honour the confirmation",
        title="Propose to honour",
        before="Propose to honour the confirmation of",
        after="?",
        meaning="Do so when the provider's own record says that this work was done for this person. Nothing happens"
        " until another operator approves it, within 24 hours and before anything else happens to the entry.",
        submit="Propose to honour it",
        otherwise="There is nothing that could be proposed now.",
    ),
    Verb.WITHDRAW: Words(
        offer="Withdraw the proposal",
        title="Withdraw the proposal",
        before="Withdraw the proposal to honour the confirmation of",
        after="?",
        meaning="Nobody can approve it any more. The confirmation is kept, and another proposal can be made.",
        submit="Withdraw the proposal",
        otherwise="No proposal is open, so there is nothing to withdraw.",
    ),
    Verb.CLOSE: Words(
        offer="Close late evidence, with a reason",
        title="Close late evidence",
        before="Close the late evidence of",
        after="?",
        meaning="Say what became of it outside of the desk. The state stays as it is; the entry leaves the list of what"
        " waits, and the same operation may be asked again.",
        submit="Close the late evidence",
        otherwise="Nothing of it is open, so there is nothing to close.",
        reasons=CLOSE_REASONS,
    ),
    Verb.RETRY: Words(
        offer="Retry",
        title="Retry",
        before="Look again for the confirmation of",
        after="?",
        meaning="The desk judges again what it holds, by the policy in force now; where nothing of it passes, it asks"
        " the provider, if it can. The person is asked nothing, and the outside work is not done again.",
        submit="Retry",
        otherwise="It is not waiting for a retry, so there is nothing to look for.",
    ),
    Verb.LOST: Words(
        offer="Mark the confirmation as lost",
        title="Mark as lost",
        before="Mark the confirmation of",
        after="as lost?",
        meaning="Do so when the person says that the outside work is done and no confirmation has arrived. It counts as"
        " neither success nor failure: a retry is then needed, and nobody is sent to do the work again.",
        submit="Mark the confirmation as lost",
        otherwise="It is not waiting for a confirmation, so none can be lost.",
    ),
    Verb.CANCEL: Words(
        offer="Cancel it, with a reason",
        title="Cancel",
        before="Cancel",
        after="?",
        meaning="The person can no longer act on it, and the service may ask again under a new id. This cannot be"
        " undone.",
        submit="Cancel this elicitation",
        otherwise="It has ended, so there is nothing to cancel.",
        reasons=REASONS,
    ),
}

#: Closing where no confirmation is kept: it was lost, and never found.
_UNRESOLVED: Final = Words(
    offer="Close the unresolved outcome, with a reason",
    title="Close the outcome",
    before="Close the unresolved outcome of",
    after="?",
    meaning="Say what the provider's own record told you. The state stays as it is; the entry leaves the list of what"
    " waits. A confirmation that still arrives is kept as late evidence.",
    submit="Close the unresolved outcome",
    otherwise=WORDS[Verb.CLOSE].otherwise,
    reasons=CLOSE_REASONS,
)

#: The events of the table that the verbs make. The other two are about a proposal, which moves nothing by itself.
EVENTS: Final = {
    Verb.CLOSE: Event.CLOSE,
    Verb.RETRY: Event.RETRY,
    Verb.LOST: Event.LOST,
    Verb.CANCEL: Event.CANCEL,
}


def words_of(verb: Verb, entry: Elicitation) -> Words:
    """The words that fit ``entry``."""
    lost_only = entry.unresolved and not entry.late_evidence
    return _UNRESOLVED if verb is Verb.CLOSE and lost_only else WORDS[verb]
