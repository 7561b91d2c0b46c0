"""Signals in plain words: what happened, what to do about it, and what it is about. No names, no values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from audit.models import Signal
from elicitation.models import Provider, Service
from elicitation.policy import identifiers


class Kind(StrEnum):
    """What a signal can be about."""

    ENTRY = "elicitation"
    PERSON = "person"
    SERVICE = "service"
    PROVIDER = "provider"
    CLIENT = "client"
    REVISION = "revision"
    SWEEP = "sweep"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Words:
    """``title`` for lists and subjects, ``happened`` and ``to_do`` in sentences, ``counted``: what its count counts."""

    kind: Kind
    title: str
    happened: str
    to_do: str
    counted: str


_IN_ONE_WINDOW: Final = "in one window of the policy, at the most"

WORDS: Final[dict[str, Words]] = {
    "activation_alone": Words(
        Kind.REVISION,
        "A policy came into force by one person alone",
        "A policy revision was activated from the machine's shell, without a second person.",
        "Read what the revision changed and why it was done alone. If it was not meant, roll it back.",
        "activations",
    ),
    "reversal": Words(
        Kind.ENTRY,
        "A completion was taken back",
        "The provider took back work that it had confirmed, such as money that was paid back.",
        "Look at the entry whether its result was applied already. If so, tell the service's people to undo what"
        " followed from it.",
        "reversals",
    ),
    "conflicting_result": Words(
        Kind.ENTRY,
        "Two results for one elicitation",
        "A confirmation arrived that contradicts what is recorded for the entry. The recorded result stands.",
        "Ask the provider which of the two is right: the work may have been done twice.",
        "contradicting confirmations",
    ),
    "reused_result": Words(
        Kind.ENTRY,
        "One result for several elicitations",
        "A confirmation named a result that has already completed another entry. It was refused.",
        "Ask the provider whether it mixed up its references. A destination that reports one result for several"
        " entries on purpose says so in the policy.",
        "refused confirmations",
    ),
    "wrong_user_entry": Words(
        Kind.ENTRY,
        "Somebody else did the work of one entry",
        "Confirmations named another person than the one who was asked. They were refused; the person who was asked can"
        " still finish.",
        "Find out whether the link was passed on. If the person did not mean to, cancel the entry.",
        f"refused confirmations, {_IN_ONE_WINDOW}",
    ),
    "wrong_user_person": Words(
        Kind.PERSON,
        "Somebody else did the work of one person's entries",
        "On several entries of one person, confirmations named somebody else. They were refused.",
        "Somebody may be collecting this person's links, or the provider names people in another way than the service"
        " does. Compare how the two spell issuer and subject.",
        f"refused confirmations, {_IN_ONE_WINDOW}",
    ),
    "wrong_tenant": Words(
        Kind.ENTRY,
        "A caller named another tenant's elicitation",
        "Calls named an entry that belongs to another tenant. The caller was told that there is no such entry.",
        "Ids are long and random, so one became known outside. Find out where it is written down. Who called is not"
        " told to the owner; those who run the desk have a signal of their own about the caller.",
        f"refused calls, {_IN_ONE_WINDOW}",
    ),
    "lost_rate": Words(
        Kind.PROVIDER,
        "A provider's confirmations get lost",
        "An unusual share of this provider's confirmations did not arrive.",
        "Ask the provider whether its messages are sent and to which address, and look here whether they are refused.",
        f"lost confirmations, {_IN_ONE_WINDOW}",
    ),
    "credential_forms": Words(
        Kind.SERVICE,
        "A service asks for credentials in forms",
        "Forms of this service were refused because they ask for a credential, or serve a purpose that needs a link.",
        "Tell the service's people to ask by link. Refused harmless words can be allowed in the policy.",
        f"refused forms, {_IN_ONE_WINDOW}",
    ),
    "lookalike_origins": Words(
        Kind.SERVICE,
        "A service sends people to hosts that are not listed",
        "Links of this service were refused: their host is not listed, or written so that it looks like another.",
        "Compare the host with the destinations of the policy. It may be a new address that nobody has listed yet, or a"
        " lookalike: then look at who can change the service.",
        f"refused links, {_IN_ONE_WINDOW}",
    ),
    "bad_signatures": Words(
        Kind.PROVIDER,
        "Messages to a provider's address are not signed by it",
        "Messages that no live key of this provider signed were sent to its address. They were refused.",
        "If the provider has changed its key, give the desk the new one. Otherwise somebody else knows the address:"
        " nothing they send is taken in.",
        "refused messages, in the hours that one window of the policy touches, at the most",
    ),
    "auto_answers": Words(
        Kind.CLIENT,
        "A client answers before a person can",
        "An unusual share of this client's answers came in less than a second: it probably never showed the questions.",
        "Do not take its answers for a person's. Try this version of the client by hand, and tell its makers.",
        f"answers of less than a second, {_IN_ONE_WINDOW}",
    ),
    "late_sweep": Words(
        Kind.SWEEP,
        "A scheduled task is late",
        "A scheduled task of the desk was silent for longer than the policy allows.",
        "See whether the scheduler and the workers run: /readyz says which task is late. What is due is done as soon as"
        " it runs again.",
        "silences",
    ),
    "ledger_broken": Words(
        Kind.LOG,
        "The ledger does not verify",
        "A tenant's log is not what was sealed and shown to outsiders: an entry or a stored hash was changed or"
        " removed, an entry was written past the sealing, a guard of the database is gone, or the witness saw another"
        " log. What cannot be vouched for is not signed.",
        "Keep the database as it is, and find out who can write to it. The log's page says what was found, and from"
        " which leaf on; an export that an auditor kept, or a backup, shows what was there.",
        "findings",
    ),
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a signal is about. ``name`` is an id that people can search for, where there is one; ``number`` that of a
    row."""

    kind: Kind
    name: str
    number: int | None = None

    @property
    def text(self) -> str:
        return f"{self.kind} {self.name}" if self.name else f"one {self.kind}"


def subject(signal: Signal) -> Subject:
    """What ``signal`` is about, as the ledger would spell it. Of a person it says no more than that it is one."""
    about, kind = signal.about, WORDS[signal.rule].kind
    number = int(about.rpartition("-")[2]) if about.rpartition("-")[2].isdigit() else None
    match kind:
        case Kind.ENTRY if number is not None and about.startswith("service-"):
            return _party(Kind.SERVICE, Service.objects.select_related("tenant"), number)
        case Kind.ENTRY if number is not None and about.startswith("provider-"):
            return _party(Kind.PROVIDER, Provider.objects.all(), number)
        case Kind.ENTRY:
            return Subject(kind, identifiers.mint_text(UUID(about).bytes))
        case Kind.PERSON:
            return Subject(kind, "")
        case Kind.CLIENT | Kind.REVISION:
            return Subject(kind, f"number {number}", number)
        case Kind.SERVICE:
            return Subject(kind, f"{signal.tenant}/{about}")
        case Kind.PROVIDER | Kind.SWEEP:
            return Subject(kind, about)
        case Kind.LOG:
            leaf = f", from leaf {number} on" if number is not None and about.startswith("leaf-") else ""
            return Subject(kind, f"{signal.tenant}{leaf}")


def spelled(signal: Signal) -> str:
    """The id of what ``signal`` is about, for programs: an elicitation's as everybody outside knows it."""
    found = subject(signal)
    return found.name if found.kind is Kind.ENTRY else signal.about


def _party(kind: Kind, rows: QuerySet[Any], number: int) -> Subject:
    row = rows.filter(pk=number).first()
    return Subject(kind, str(row) if row is not None else f"number {number}", number)
