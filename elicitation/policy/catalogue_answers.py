"""The rules about identifiers, answers and the URL-required error."""

from __future__ import annotations

from typing import Final

from elicitation.policy.codes import Rule, RuleEntry
from elicitation.policy.entries import ACTIONS, NEW, OLD, REQUIRED_ERROR, URL_MODE, local, spec

ANSWERS: Final[tuple[RuleEntry, ...]] = (
    spec(
        Rule.ID_MISSING,
        REQUIRED_ERROR,
        "R15 R44",
        "The elicitation carries no id",
        "Send the id that the desk gave the elicitation.",
        sources=OLD,
    ),
    spec(
        Rule.ID_MALFORMED,
        URL_MODE,
        "R15 R17",
        "The id is not a string",
        "Send a string, or leave the id out.",
        sources=OLD,
    ),
    spec(
        Rule.ID_NOT_IN_WIRE,
        URL_MODE,
        "R15",
        "This protocol revision has no elicitation id",
        "Leave the id out: it travels in the sealed state.",
        sources=NEW,
    ),
    local(
        Rule.ID_TOO_SHORT,
        "The id is too short to be unguessable",
        "Leave the id out and let the desk mint one, or send a longer random one.",
        needs="R17",
    ),
    local(
        Rule.ID_STRUCTURED,
        "The id carries meaning",
        "Leave the id out and let the desk mint one, or send a random one.",
        needs="R17",
    ),
    local(
        Rule.ID_SEQUENTIAL,
        "The id can be guessed: it looks counted",
        "Leave the id out and let the desk mint one, or send a random one.",
        needs="R17",
    ),
    local(
        Rule.ID_PERSONAL,
        "The id carries personal data",
        "Leave the id out and let the desk mint one, or send a random one.",
        needs="R54",
    ),
    local(
        Rule.ID_TOKEN,
        "The id has the shape of a token",
        "Leave the id out and let the desk mint one; a token is no identifier.",
        needs="R54",
    ),
    local(
        Rule.ID_FOREIGN,
        "The id has the form of the desk's own, but the desk did not give it for this question",
        "Leave the id out and let the desk mint one.",
        needs="R17",
    ),
    local(Rule.ID_REPEATED, "Two elicitations carry one id", "Give each elicitation its own id.", needs="R17"),
    spec(
        Rule.ANSWER_MALFORMED,
        ACTIONS,
        "R30",
        "The action is not accept, decline or cancel",
        "Report the client's action as it was spelled; an unknown one is never a refusal.",
    ),
    spec(
        Rule.ANSWER_CONTENT_MISSING,
        ACTIONS,
        "R31",
        "A form was accepted without content",
        "Ask again: an acceptance of a form carries its content, if only an empty object.",
    ),
    spec(
        Rule.ANSWER_CONTENT_ON_URL,
        ACTIONS,
        "R31 R32",
        "A url acceptance carried content, which was dropped",
        "Have the client corrected: what is entered on the page stays there.",
        denies=False,
    ),
    local(
        Rule.ANSWER_CONTENT_STRIPPED,
        "A refusal carried content, which was stripped",
        "Have the client corrected: a person who refuses hands over nothing.",
        needs="R31",
        denies=False,
    ),
    spec(
        Rule.ERROR_MALFORMED,
        REQUIRED_ERROR,
        "R43",
        "The error is not a JSON-RPC error object",
        "Send the error object that the desk built.",
        sources=OLD,
    ),
    spec(
        Rule.ERROR_CODE,
        REQUIRED_ERROR,
        "R41 R42",
        "The error's code is not -32042",
        "Use -32042 for URL elicitations and for nothing else.",
        sources=OLD,
    ),
    spec(
        Rule.ERROR_NOT_IN_WIRE,
        "basic",
        "R46",
        "This protocol revision has no URL-required error",
        "Answer with an input-required result.",
        sources=NEW,
    ),
    spec(
        Rule.ERROR_LIST_MISSING,
        REQUIRED_ERROR,
        "R43",
        "The error lists no elicitations",
        "List every elicitation that the person must complete first.",
        sources=OLD,
    ),
    spec(
        Rule.ERROR_ENTRY_MODE,
        REQUIRED_ERROR,
        "R44",
        "An elicitation of the error is not in url mode",
        "Say the mode url in every elicitation of the list.",
        sources=OLD,
    ),
    spec(
        Rule.ERROR_FLAT,
        REQUIRED_ERROR,
        "R43",
        "The error is flat: it has no list of elicitations",
        "Put URL, id and message into the list data.elicitations.",
        sources=OLD,
    ),
    local(
        Rule.ERROR_FLAT_FLAGGED,
        "The error is flat and does not conform; the policy admits it",
        "Put URL, id and message into the list data.elicitations.",
        needs="R43",
        denies=False,
    ),
)
