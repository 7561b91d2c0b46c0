"""Who has a dump and a dictionary, and no key, confirms nothing: not who was asked, not for what, not the answer."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Final

import pytest
from django.conf import settings

from elicitation.policy.canonical import canonical
from elicitation.services import digests
from tests import builders
from tests.builders import Desk
from tests.leaks.marks import tables

pytestmark = pytest.mark.django_db

PEOPLE: Final = tuple(f"{name}@example.com" for name in ("alice", "bob", "carol", "dave", "mallory"))
ANSWERS: Final = ("red", "green", "blue", "violet")
CODES: Final = tuple(f"{code:06}" for code in range(482_900, 483_000))
SHORT_IDS: Final = tuple(f"inv-{number}" for number in range(1, 200))
ISSUER: Final = "https://id.example"
ALICE: Final = {"iss": ISSUER, "sub": PEOPLE[0]}
OPERATION: Final = builders.operation(target=SHORT_IDS[116], key=CODES[93], question=ANSWERS[2])

Digest = Callable[[bytes], bytes]


def told(desk: Desk) -> None:
    """Alice is asked, chooses, pays; each value is one out of few."""
    schema = {"type": "object", "properties": {"colour": {"type": "string", "enum": list(ANSWERS)}}}
    form = {"mode": "form", "message": "Pick a colour", "requestedSchema": schema}
    asked = desk.admit(form=True, purpose="choice", request=form, subject=ALICE, operation=OPERATION).json()["id"]
    body = {"subject": ALICE, "action": "accept", "content": "present"}
    assert desk.call(f"elicitations/{asked}/answer", body).status_code == 200
    paid = desk.admit(subject=ALICE, operation=OPERATION | {"question": "paid"}).json()["id"]
    desk.call(f"elicitations/{paid}/answer", body | {"content": "absent"})
    desk.event(paid, CODES[27], subject=ALICE)
    assert builders.entry_of(paid).state == "COMPLETE"


def digests_in(dump: Iterable[bytes]) -> set[bytes]:
    """Everything in the dump that could be a digest."""
    found: set[bytes] = set()
    for data in dump:
        found |= {bytes.fromhex(text.decode()) for text in re.findall(rb"(?<![0-9a-f])(?:[0-9a-f]{2}){8,64}", data)}
        for text in re.findall(rb"[A-Za-z0-9+/_-]{22,88}", data):
            whole = text[: len(text) - (len(text) % 4 == 1)].replace(b"-", b"+").replace(b"_", b"/")
            found.add(base64.b64decode(whole + b"=" * (-len(whole) % 4)))
    return found


def dictionary() -> Iterator[tuple[str, ...]]:
    """Every value that is one of few, alone and with what is known to stand beside it in a digest."""
    for value in (*PEOPLE, *ANSWERS, *CODES, *SHORT_IDS):
        yield (value,)
    for person in PEOPLE:
        yield (ISSUER, person)
        yield ("acme", ISSUER, person)
    for reference in (*CODES, *SHORT_IDS):
        yield ("example-pay", reference)
    for person, target in product(PEOPLE, SHORT_IDS):
        yield _operation(person, target)


def _operation(person: str, target: str) -> tuple[str, ...]:
    """The parts of an operation's digest, with all but two of them known."""
    asked = OPERATION | {"target": target, "question": "paid"}
    parts = (asked["method"], target, asked["arguments_digest"], ISSUER, person, asked["question"], asked["key"])
    return ("acme", "booking", *parts)


def messages(parts: tuple[str, ...]) -> Iterator[bytes]:
    """What may have been hashed, if a digest is made as the sources say, or more simply."""
    for domain in (digests.SUBJECT, digests.OPERATION, digests.RESULT, digests.DELIVERY):
        yield domain + b"\x00" + canonical(list(parts))
    yield canonical(list(parts))
    yield json.dumps(parts).encode()
    for between in ("", ":", "|", "/", "\n", "\x00"):
        yield between.join(parts).encode()


def guesses() -> list[Digest]:
    """Digests that need no key, and keyed ones with what somebody might have left as the key."""
    plain: list[Digest] = [
        lambda data, kind=kind: hashlib.new(kind, data, usedforsecurity=False).digest()  # type: ignore[misc]
        for kind in ("md5", "sha1", "sha256", "sha512")
    ]
    words = [b"", b"secret", b"acme", b"desk", *(kid.encode() for kid in settings.DESK_DIGEST_KEYS)]
    return plain + [_keyed(word) for word in words]


def _keyed(key: bytes) -> Digest:
    return lambda data: hmac.new(key, data, hashlib.sha256).digest()


def confirmed(known: set[bytes], ways: Sequence[Digest]) -> set[tuple[str, ...]]:
    """Which parts of the dictionary are found again, also where only the beginning of a digest is kept."""
    beginnings = known | {digest[:length] for digest in known for length in (8, 16)}
    found = set()
    for parts in dictionary():
        digests_of = (way(message) for message in messages(parts) for way in ways)
        if any(not beginnings.isdisjoint((whole, whole[:16], whole[:8])) for whole in digests_of):
            found.add(parts)
    return found


def test_without_the_keys_no_guess_is_confirmed(desk: Desk) -> None:
    told(desk)
    known = digests_in(tables().values())
    assert confirmed(known, guesses()) == set()


def test_with_the_keys_people_operations_and_results_are_found_and_answers_are_not(desk: Desk) -> None:
    """The search is good: the desk's own keys open it. An answer is not even hashed."""
    told(desk)
    known = digests_in(tables().values())
    found = confirmed(known, [_keyed(key) for key in settings.DESK_DIGEST_KEYS.values()])
    paid = _operation(PEOPLE[0], SHORT_IDS[116])
    assert found == {("acme", ISSUER, PEOPLE[0]), ("example-pay", CODES[27]), paid}


def test_a_plain_hash_would_be_found(desk: Desk) -> None:
    planted = {hashlib.sha256(PEOPLE[0].encode()).digest(), hashlib.md5(CODES[5].encode()).digest()[:8]}  # noqa: S324
    assert confirmed(planted, guesses()) == {(PEOPLE[0],), (CODES[5],)}


def test_no_value_of_the_dictionary_is_in_the_ledger_in_the_clear(desk: Desk) -> None:
    told(desk)
    ledger = tables()["audit_ledgerentry"].decode()
    for value in (*PEOPLE, *ANSWERS, *CODES, *SHORT_IDS):
        assert not re.search(rf"(?<![0-9a-zA-Z.]){re.escape(value)}(?![0-9a-zA-Z])", ledger), value
