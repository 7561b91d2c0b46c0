"""What each event does to an entry, by the place where it stands: the design's life cycle as a table.

A cell reads: outcome, state afterwards, what the ledger gets.
"""

from __future__ import annotations

from typing import Final

ANSWERS: Final = {"accept": "accept", "decline": "decline", "dismiss": "cancel"}
PROGRESS: Final = ("delivered", "shown", "call_ended")
SERVICES: Final = (*ANSWERS, *PROGRESS, "lost", "retry", "cancel", "consume", "completion")
#: ``another``: it confirms a second result beside ``pi_1``.
PROVIDERS: Final = ("completed", "another", "failed", "reversed")
OPERATORS: Final = (
    "operator lost",
    "operator retry",
    "operator cancel",
    "close",
    "propose",
    "approve",
    "approve alone",
)
EVENTS: Final = (*SERVICES, *PROVIDERS, *OPERATORS)

_KEPT: Final = dict.fromkeys(("completion", "completed", "another"), "not_pending_denied  =  refused")
_ENDED: Final = _KEPT | {"failed": "not_pending_denied  =  refused", "reversed": "reversed  =  reversal"}
_DONE: Final = dict.fromkeys(("completion", "completed", "another"), "completed  COMPLETE  evidence")
_PENDING: Final = _DONE | {
    "dismiss": "moved  CANCELLED  answer_cancel",
    "cancel": "moved  CANCELLED  cancel",
    "operator cancel": "moved  CANCELLED  cancel",
    "failed": "failed  CANCELLED  provider_failure",
    "reversed": "reversed  =  reversal",
}
#: The same refusal again is counted and not written: it was noted when the evidence came.
_LATE: Final = {
    "completed": "not_pending_denied  =",
    "failed": "not_pending_denied  =",
    "close": "moved  =  close",
    "propose": "moved  =  honour_proposed",
    "approve": "moved  COMPLETE  honour_evidence",
    "approve alone": "same_person  =  refused",
}

#: By place, or by the beginning of its name: what is not said of ``ADMITTED held`` is as for ``ADMITTED``. What is
#: nowhere is refused. ``=``: the state stays.
TABLE: Final[dict[str, dict[str, str]]] = {
    "ADMITTED": {
        "accept": "moved  CONSENT_PENDING  answer_accept",
        "decline": "moved  DECLINED  answer_decline",
        "dismiss": "moved  CANCELLED  answer_cancel",
        "cancel": "moved  CANCELLED  cancel",
        "operator cancel": "moved  CANCELLED  cancel",
        "completion": "held  =  evidence",
        "completed": "held  =  evidence",
        "another": "held  =  evidence",
        "failed": "not_pending_denied  =  refused",
        "reversed": "reversed  =  reversal",
    },
    "ADMITTED held": {
        "accept": "moved  COMPLETE  answer_accept evidence",
        "lost": "moved  RETRY_REQUIRED  lost",
        "operator lost": "moved  RETRY_REQUIRED  lost",
        "completion": "held  =  refused",
        "completed": "held  =  refused",
    },
    "ADMITTED unbound": {
        "accept": "moved  CONSENT_PENDING  answer_accept refused",
        "lost": "moved  RETRY_REQUIRED  lost",
        "operator lost": "moved  RETRY_REQUIRED  lost",
    },
    "ADMITTED url_required": _DONE
    | {
        "lost": "moved  RETRY_REQUIRED  lost",
        "operator lost": "moved  RETRY_REQUIRED  lost",
        "failed": "failed  CANCELLED  provider_failure",
    },
    "ADMITTED url_required unbound": {"accept": "moved  CONSENT_PENDING  answer_accept refused"},
    "CONSENT_PENDING": _PENDING
    | {
        "accept": "repeated  =",
        "lost": "moved  RETRY_REQUIRED  lost",
        "operator lost": "moved  RETRY_REQUIRED  lost",
    },
    "CONSENT_PENDING unbound": {"accept": "moved  =  answer_accept refused"},
    "RETRY_REQUIRED": _PENDING
    | {
        "accept": "repeated  =",
        "dismiss": "transition_refused  =  refused",
        "lost": "repeated  =",
        "retry": "no_lookup  =  retry",
        "operator retry": "no_lookup  =  retry",
    },
    "RETRY_REQUIRED url_required": {"accept": "moved  =  answer_accept"},
    "RETRY_REQUIRED held": {
        "accept": "moved  COMPLETE  answer_accept evidence",
        "lost": "transition_refused  =  refused",
        "retry": "completed  COMPLETE  retry evidence",
        "operator retry": "completed  COMPLETE  retry evidence",
    },
    "RETRY_REQUIRED unbound": {
        "accept": "moved  =  answer_accept refused",
        "lost": "transition_refused  =  refused",
        "retry": "unbound_held  =  retry",
        "operator retry": "unbound_held  =  retry",
    },
    "RETRY_REQUIRED withdrawn": {
        "accept": "moved  =  answer_accept refused",
        "lost": "transition_refused  =  refused",
        "retry": "policy_withdrawn_held  =  retry",
        "operator retry": "policy_withdrawn_held  =  retry",
        "completion": "wrong_provider_denied  =  refused",
        "completed": "policy_withdrawn_held  =  refused",
        "another": "policy_withdrawn_held  =  evidence_withdrawn",
        "propose": "moved  =  honour_proposed",
        "approve": "moved  COMPLETE  honour_evidence",
        "approve alone": "same_person  =  refused",
    },
    "RETRY_REQUIRED withdrawn proposed": {"propose": "entry_changed  =  refused"},
    "COMPLETE": {
        "accept": "repeated  =",
        "retry": "completed  =",
        "operator retry": "completed  =",
        "consume": "applied  =  consume",
        "completion": "duplicate_ignored  =  refused",
        "completed": "duplicate_ignored  =  refused",
        "another": "conflict_denied  =  refused",
        "failed": "not_pending_denied  =  refused",
        "reversed": "reversed  =  reversal",
    },
    "COMPLETE url_required": {"accept": "transition_refused  =  refused"},
    "COMPLETE conflict": {"another": "conflict_denied  ="},
    "ACCEPTED": dict.fromkeys(("completion", *PROVIDERS), "wrong_provider_denied  =  refused")
    | {"accept": "repeated  =", "consume": "applied  =  consume"},
    "DECLINED": _ENDED | {"decline": "repeated  ="},
    "DECLINED late": _LATE,
    "DECLINED late proposed": {"propose": "entry_changed  =  refused"},
    "CANCELLED": _ENDED | {"cancel": "repeated  ="},
    "CANCELLED late": _LATE,
    "CANCELLED late proposed": {"propose": "entry_changed  =  refused"},
    "EXPIRED": _ENDED | dict.fromkeys(("completion", "completed", "another"), "expired_denied  =  refused"),
    "EXPIRED answered": {"accept": "repeated  ="},
    "EXPIRED unresolved": {"close": "moved  =  close"},
    "EXPIRED unresolved answered": {"accept": "repeated  ="},
    "EXPIRED late": _LATE | {"completed": "expired_denied  =", "failed": "not_pending_denied  =  refused"},
    "EXPIRED late answered": {"accept": "repeated  ="},
    "EXPIRED late proposed": {"propose": "entry_changed  =  refused"},
    # Its evidence waited until the end: nobody was refused before.
    "EXPIRED waited": _LATE
    | dict.fromkeys(("completed", "another"), "expired_denied  =  refused")
    | dict.fromkeys(("approve", "approve alone"), "entry_changed  =  refused")
    | {"failed": "not_pending_denied  =  refused"},
    "EXPIRED waited answered": {"accept": "repeated  ="},
    "EXPIRED waited answered withdrawn": {"completion": "wrong_provider_denied  =  refused"},
}


def expected(event: str, place: str) -> tuple[str, str, list[str]]:
    """Outcome, state afterwards, and the events that the ledger gets."""
    state, words = place.split()[0], place.split()
    if event in PROGRESS:
        return "moved", state, [event]
    cell = "not_complete  =" if event == "consume" else "transition_refused  =  refused"
    for number in range(len(words), 0, -1):
        row = TABLE.get(" ".join(words[:number]), {})
        if event in row:
            cell = row[event]
            break
    outcome, after, *written = cell.split()
    return outcome, state if after == "=" else after, written
