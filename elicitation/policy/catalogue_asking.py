"""The rules about asking: wire, capability, request and route."""

from __future__ import annotations

from typing import Final

from elicitation.policy.codes import Rule, RuleEntry
from elicitation.policy.entries import CAPABILITIES, OLD, PAGE, REQUESTS, REQUIRED_ERROR, local, spec

ASKING: Final[tuple[RuleEntry, ...]] = (
    local(
        Rule.ADMITTED,
        "Admitted by the policy",
        "Send exactly the request that the reply carries.",
        denies=False,
    ),
    local(
        Rule.WIRE_NOT_SERVED,
        "The policy does not serve this protocol revision",
        "Negotiate a revision that the policy lists.",
        needs="R5",
    ),
    spec(
        Rule.DELIVERY_NOT_IN_WIRE,
        PAGE,
        "R46 R66",
        "This protocol revision has no such way to deliver a question",
        "Push or use -32042 on 2025-11-25; answer with an input-required result on 2026-07-28.",
    ),
    spec(
        Rule.DELIVERY_NEEDS_URL,
        REQUIRED_ERROR,
        "R42 R44",
        "A URL-required error carries URL elicitations only",
        "Use the error only when the person must open a page before the call can go on.",
        sources=OLD,
    ),
    spec(
        Rule.CAPABILITY_MISSING,
        CAPABILITIES,
        "R1 R4 R5 R6",
        "The client declared no elicitation",
        "Do not ask; tell the person that this client cannot carry the question.",
    ),
    spec(
        Rule.CAPABILITY_MALFORMED,
        CAPABILITIES,
        "R1 R3 R4",
        "Malformed capability: the declaration is not an object of objects",
        "Treat it as not negotiated and have the client corrected.",
    ),
    spec(
        Rule.CAPABILITY_MODE_UNDECLARED,
        CAPABILITIES,
        "R2 R3 R4 R6 R34",
        "The client did not declare this mode",
        "Do not ask; tell the person that this client cannot carry the question.",
    ),
    local(
        Rule.REQUEST_MALFORMED,
        "The request is not well-formed JSON",
        "Send JSON values only, without lone surrogates and without numbers that JSON readers disagree about.",
        needs="R79",
    ),
    local(
        Rule.REQUEST_TOO_LARGE,
        "The request is larger than the policy allows",
        "Ask for less at once.",
        needs="R79",
    ),
    local(
        Rule.REQUEST_TOO_DEEP,
        "The request is nested deeper than the policy allows",
        "Send one flat question.",
        needs="R79",
    ),
    local(
        Rule.REQUEST_MEMBER_UNKNOWN,
        "The request carries a member that this mode does not have",
        "Send only the members of the mode; the mode is never guessed from them.",
        needs="R11 R15",
    ),
    spec(
        Rule.REQUEST_MODE_MALFORMED,
        REQUESTS,
        "R10",
        "The mode is neither form nor url",
        "Spell the mode exactly, or leave it out.",
    ),
    spec(
        Rule.REQUEST_MESSAGE_MISSING,
        REQUESTS,
        "R10",
        "The request carries no message",
        "Say in one sentence what is asked and why.",
    ),
    local(Rule.REQUEST_MESSAGE_TOO_LONG, "The message is too long", "Shorten the message."),
    local(
        Rule.TEXT_HIDDEN_CHARACTERS,
        "Text carries control characters or changes the reading direction",
        "Send plain text.",
    ),
    local(
        Rule.ROUTE_PURPOSE_NOT_SERVED,
        "The policy does not serve this purpose",
        "Ask the policy owner, or use a purpose that the policy lists.",
    ),
    spec(
        Rule.ROUTE_SENSITIVE_IN_FORM,
        f"{PAGE}#user-interaction-model",
        "R19 R20",
        "A sensitive purpose needs url mode",
        "Use url mode: secrets, payment and authorization must not pass through the client.",
    ),
    local(
        Rule.ROUTE_MODE_CONTRADICTS_PURPOSE,
        "The mode contradicts the purpose",
        "Leave the mode out and let the purpose choose it.",
    ),
    local(
        Rule.WINDOW_OUT_OF_RANGE,
        "The window is outside the policy's range",
        "Ask for at least one second and at most the policy's maximum, or leave the window out.",
    ),
    local(
        Rule.LIMIT_PENDING_PER_SUBJECT,
        "The person has as many open questions as the policy allows",
        "Wait until one of them ends; people who are asked too often say yes to everything.",
        needs="R27 R53",
    ),
    local(
        Rule.LIMIT_ASKS_PER_SUBJECT,
        "The person was asked as often in this hour as the policy allows",
        "Wait; people who are asked too often say yes to everything.",
        needs="R27 R53",
    ),
    local(
        Rule.LIMIT_ASKS_PER_SERVICE,
        "The service asked as often in this hour as the policy allows",
        "Wait, and look at what asks so much.",
        needs="R27 R53",
    ),
)
