"""Fills a desk with entries of every kind that a tour must see; prints their ids as JSON. Run by itself."""

from __future__ import annotations

import json
import os

import django

#: The password of the operator who approves what the first one proposes.
SECOND = "a-second-pair-of-eyes-7c1d"


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.test.utils import setup_test_environment

    setup_test_environment()  # calls go through the API in this process, under the host name of Django's test client
    from django.contrib.auth.models import User

    from tests import builders
    from tests.builders import ALICE, BOB

    # Nothing falls due while the tests look at it: they share one desk for as long as they take.
    desk = builders.open_desk(builders.document(usual_seconds=86_400))

    def ask(target: str, **changes: object) -> str:
        public_id: str = desk.call(
            "elicitations",
            builders.admission(operation=builders.operation(target=target), window_seconds=3600, **changes),
        ).json()["id"]
        return public_id

    def act(public_id: str, verb: str, **body: object) -> None:
        desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE} | body)

    def accept(public_id: str, latency_ms: int = 9000) -> None:
        act(public_id, "answer", action="accept", content="absent", latency_ms=latency_ms)

    hostile = {
        "name": "<b>x</b>\u202etneilc-x",
        "version": "1",
        "capabilities": {"elicitation": {"form": {}, "url": {}}},
    }
    ids = {"stuck": [ask(f"stuck_{number}") for number in range(4)]}
    for public_id in ids["stuck"]:
        act(public_id, "progress", event="delivered")
        act(public_id, "progress", event="shown")
        accept(public_id)
        desk.event(public_id, "pi_wrong", subject=BOB)
        act(public_id, "lost")
        act(public_id, "retry")
    paid = ask("paid")
    accept(paid, 240)
    desk.event(paid, "pi_paid")
    act(paid, "consume", operation=builders.operation(target="paid"))
    late = ask("late")
    accept(late)
    act(late, "cancel")
    desk.event(late, "pi_late")
    held = ask("held")
    desk.event(held, "pi_held")
    pending = ask("pending")
    accept(pending)
    unbound = ask("unbound")
    accept(unbound)
    desk.event(unbound, "pi_unbound", subject=None)
    lates = [ask(f"late_{number}") for number in range(3)]
    for public_id in lates:
        accept(public_id)
        act(public_id, "cancel")
        desk.event(public_id, f"pi_{public_id}")
    pendings = [ask(f"pending_{number}") for number in range(3)]
    for public_id in pendings:
        accept(public_id)
    kept = [ask(f"kept_{number}") for number in range(3)]
    for public_id in kept:
        accept(public_id)
        act(public_id, "cancel")
        desk.event(public_id, f"pi_{public_id}", occurred_at="2026-01-31T11:59:58Z")
        desk.event(public_id, f"pi_{public_id}_again", subject=None)
    unresolved = ask("unresolved")
    accept(unresolved)
    act(unresolved, "lost")
    builders.age(unresolved, 100_000)  # the running desk's sweep ends it
    stranger = ask("stranger")
    accept(stranger)
    for _ in range(3):
        desk.event(stranger, "pi_stranger", subject=BOB)
    builders.age(stranger, 100_000)  # ended by the sweep, too
    taken_back = ask("taken_back")
    accept(taken_back)
    desk.event(taken_back, "pi_taken_back")
    desk.event(taken_back, "pi_taken_back")
    act(taken_back, "consume", operation=builders.operation(target="taken_back"))
    taken = {"type": "elicitation.reversed", "data": {"elicitation_id": taken_back, "result_ref": "pi_taken_back"}}
    desk.deliver(json.dumps(taken).encode())
    desk.event("elc_" + "a" * 26)
    User.objects.create_superuser("second", password=SECOND)
    form = ask("form", form=True)
    act(form, "answer", action="accept", content="present", latency_ms=4200)
    named = ask("named", client=hostile)
    desk.admit(request={"mode": "url", "message": "Pay", "url": "https://evil.example.net/start?flow=pay&password=x"})
    ids |= {"paid": [paid], "late": [late], "held": [held], "form": [form], "named": [named]}
    ids |= {"pending": [pending], "unbound": [unbound], "lates": lates, "pendings": pendings}
    ids |= {"kept": kept, "unresolved": [unresolved], "stranger": [stranger], "taken_back": [taken_back]}
    print(json.dumps(ids))  # noqa: T201 - the parent process reads it


if __name__ == "__main__":
    main()
