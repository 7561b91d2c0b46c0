"""Asking a provider what became of one elicitation: plain values in, one answer out; no database and no settings."""

from __future__ import annotations

from elicitation.policy import identifiers
from elicitation.providers import generic, stripe
from elicitation.providers.answers import Answer, Kind, Limits, NoAnswer, Problem, Status
from elicitation.providers.http import fetch

__all__ = ["Answer", "Kind", "Limits", "Problem", "Status", "ask"]


def ask(kind: str, status_url: str, key: str, elicitation_id: str, limits: Limits | None = None) -> Answer:
    """What the provider at ``status_url`` says about ``elicitation_id`` (the desk's ``elc_…``), by one GET.

    ``kind`` is a :class:`Kind`, ``key`` the provider's key for look-ups in the clear, ``limits`` those of the kind
    unless given. Never raises for what the outside does: whatever is no answer is ``UNREACHABLE`` with a
    :class:`Problem`, and nothing of the address, the key or the reply is logged or kept. Blocks for up to
    ``limits.total_seconds``: call it outside of transactions, from any thread. Raises ``ValueError`` for an unknown
    kind and for an id that is not the desk's.
    """
    if identifiers.parse(elicitation_id) is None:
        raise ValueError("this is no id of the desk")
    try:
        match Kind(kind):
            case Kind.GENERIC:
                body = fetch(status_url, generic.query(elicitation_id), key, limits or generic.LIMITS)
                return generic.read(body)
            case Kind.STRIPE:
                body = fetch(status_url, stripe.query(elicitation_id), key, limits or stripe.LIMITS)
                return stripe.read(body, elicitation_id)
    except NoAnswer as failure:
        return Answer(Status.UNREACHABLE, problem=failure.problem)
