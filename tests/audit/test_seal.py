"""Sealing: every entry becomes one leaf of its tenant's log, what was signed is never contradicted, nobody waits."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, transaction
from django.db.models import Sum

from audit import note, seal, tree
from audit.models import Checkpoint, Hourly, Leaf, Log, Signal, Subtree
from audit.verify import parse_key, parse_note, verify_consistency, verify_note
from tests.audit.sealed import NOON, assert_sealed, say, seal_all, sealed

OLD, NEW = bytes([7]) * 32, bytes([8]) * 32


@pytest.fixture(autouse=True)
def _begun(db: None) -> None:
    """The first revision of the policy is on the ledger of every desk."""
    assert seal_all() == 1


def acme() -> Log:
    return Log.objects.get(tenant="acme")


@pytest.mark.django_db
def test_every_tenant_has_a_log_of_its_own() -> None:
    for count in (1, 2, 300):
        say(count)
        say(1, "umbrella")
        assert seal_all() == count + 1
    logs = {log.tenant: log for log in Log.objects.all()}
    assert {tenant: log.size for tenant, log in logs.items()} == {"desk": 1, "acme": 303, "umbrella": 3}
    for log in logs.values():
        assert_sealed(log)
    assert (logs["acme"].origin, logs["acme"].sealed_at) == ("127.0.0.1:8000/acme", NOON)


@pytest.mark.django_db
def test_what_is_sealed_is_not_sealed_again() -> None:
    log = sealed(3)
    before = list(Checkpoint.objects.values())
    assert seal.seal(NOON + timedelta(hours=1)) == 0
    assert list(Checkpoint.objects.values()) == before
    assert_sealed(log)


@pytest.mark.django_db
def test_a_backlog_is_sealed_pass_by_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "BATCH", 10)
    monkeypatch.setattr(seal, "MOST", {"sqlite": 20, "postgresql": 20})
    say(55)
    assert [seal.seal(NOON) for _ in range(4)] == [20, 20, 15, 0]
    log = acme()
    assert list(log.checkpoints.order_by("size").values_list("size", flat=True)) == [20, 40, 55]
    assert_sealed(log)


@pytest.mark.django_db
def test_the_origin_stays_when_the_desk_moves(settings: Any) -> None:
    sealed(1)
    settings.DESK_BASE_URL = "https://desk.example.com"
    assert sealed(1).origin == "127.0.0.1:8000/acme"
    assert sealed(1, "umbrella").origin == "desk.example.com/umbrella"


@pytest.mark.django_db
def test_every_key_of_the_ring_signs_the_current_one_first(settings: Any) -> None:
    settings.DESK_LEDGER_KEYS = {"new": NEW, "old": OLD}
    log = sealed(2)
    signed = parse_note(log.checkpoints.get().note)
    keys = [parse_key(note.verifier_key(log.origin, seed)) for seed in (NEW, OLD)]
    assert [signature.key_id for signature in signed.signatures] == [key.key_id for key in keys]
    assert verify_note(signed, keys) == keys


@pytest.mark.django_db
def test_nothing_is_sealed_without_a_key(settings: Any) -> None:
    settings.DESK_LEDGER_KEYS = {}
    say(1)
    with pytest.raises(ImproperlyConfigured, match="DESK_LEDGER_KEYS"):
        seal.seal(NOON)
    assert Leaf.objects.count() == 1


@pytest.mark.django_db
def test_hours_are_counted_as_entries_are_sealed() -> None:
    say(3)
    say(2, "umbrella", "lost")
    seal_all()
    say(4)
    seal_all()
    counted = (
        Hourly.objects.exclude(tenant="desk")
        .order_by("tenant")
        .values_list("tenant", "hour", "event", "outcome", "client_id", "count")
    )
    assert list(counted) == [
        ("acme", NOON, "cancel", "moved", 0, 7),
        ("umbrella", NOON, "lost", "moved", 0, 2),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"size": 4}, {"edge": b"\x01" * 64}, {"edge": b""}, {"size": 0, "edge": b""}])
def test_a_log_that_contradicts_its_last_checkpoint_is_not_signed(change: dict[str, Any]) -> None:
    log = sealed(3)
    Log.objects.update(**change)
    say(2)
    say(1, "umbrella")
    assert [seal.seal(NOON), seal.seal(NOON)] == [1, 0]
    assert list(Checkpoint.objects.filter(log=log).values_list("size", flat=True)) == [3]
    assert Leaf.objects.filter(log=log).count() == 3
    signal = Signal.objects.get()
    assert (signal.tenant, signal.rule, signal.about, signal.count) == ("acme", "ledger_broken", f"log-{log.pk}", 1)
    assert Log.objects.get(tenant="umbrella").size == 1


@pytest.mark.django_db
def test_leaves_subtrees_and_checkpoints_cannot_be_rewritten() -> None:
    sealed(256)
    for statement in (
        'UPDATE audit_leaf SET entry_id = entry_id + 1000 WHERE "index" = 5',
        "DELETE FROM audit_leaf",
        "UPDATE audit_subtree SET hash = hash",
        "DELETE FROM audit_subtree",
        "UPDATE audit_checkpoint SET note = ''",
        "DELETE FROM audit_checkpoint",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    Checkpoint.objects.update(cosignatures="what a witness said")


@pytest.mark.django_db(transaction=True)
def test_a_seal_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    log = sealed(3)
    say(300)

    def broken(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(note, "sign", broken)
        with pytest.raises(RuntimeError):
            seal.seal(NOON)
    assert (Leaf.objects.count(), Checkpoint.objects.count()) == (4, 2)
    assert Hourly.objects.aggregate(all=Sum("count")) == {"all": 4}
    assert seal_all() == 300
    assert_sealed(log)


@pytest.mark.django_db
def test_each_checkpoint_is_consistent_with_the_last() -> None:
    for count in (1, 5, 250, 1, 100):
        log = sealed(count)
    checkpoints = list(log.checkpoints.order_by("size"))
    for old, new in pairwise(checkpoints):
        proof = tree.consistency(log, old.size, new.size)
        assert verify_consistency(old.size, bytes(old.root), new.size, bytes(new.root), proof)


@pytest.mark.django_db
def test_rows_in_the_way_of_one_log_do_not_hold_up_the_others() -> None:
    log = sealed(5)
    Subtree.objects.create(log=log, level=1, number=0, hash=b"\x00" * 32)
    say(300)
    say(3, "globex")
    seal_all()
    log.refresh_from_db()
    assert (log.size, Leaf.objects.filter(log=log).count()) == (5, 5)
    assert_sealed(Log.objects.get(tenant="globex"))
    assert Signal.objects.get(rule="ledger_broken").about == f"log-{log.pk}"
