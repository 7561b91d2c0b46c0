"""Exports of a busy log: what is written or commits late while one is made comes neither into it nor between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.utils import timezone

from audit.models import Leaf, LedgerEntry, Log
from audit.verify import Format, Verdict, parse_checkpoint, parse_note
from elicitation.services import exports
from elicitation.services.exports import Wanted
from tests.audit.exported import entry, judged, seal_everything, sealed, whole
from tests.races.test_late_commits import elsewhere

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 10_000


def test_ten_thousand_entries_of_one_moment_are_exported_once_each_while_others_come(tmp_path: Path) -> None:
    at = timezone.now()
    with elsewhere(lambda: LedgerEntry.objects.bulk_create([entry(1, at=at, event="lost")])) as late:
        log = sealed(COUNT, at=at)
        export = exports.ask(log, Wanted(Format.JSONL), exports.auditor(1), streamed=True)
        coming = exports.stream(export)
        received = [next(coming)]
        with elsewhere(lambda: sealed(300, at=at)) as inserted:
            inserted.set()
        late.set()
    with elsewhere(seal_everything) as end:
        end.set()
    received += coming
    content = b"".join(received)
    report = judged(content, log, tmp_path)
    assert report.verdict is Verdict.VERIFIED, report
    lines = [json.loads(line) for line in content.splitlines()[1:-1]]
    assert [said["index"] for said in lines] == list(range(COUNT))
    assert len({said["id"] for said in lines}) == COUNT
    assert "lost" not in {said["event"] for said in lines}

    later, everything = whole(Log.objects.get(tenant="acme"), Format.JSONL)
    kept = parse_checkpoint(parse_note(json.loads(content.splitlines()[-1])["manifest"]["checkpoint"]).text)
    assert judged(everything, log, tmp_path, (kept,)).verdict is Verdict.VERIFIED
    assert everything.splitlines()[1 : COUNT + 1] == content.splitlines()[1:-1]
    lost = LedgerEntry.objects.get(event="lost")
    assert COUNT <= Leaf.objects.get(entry_id=lost.pk).index < later.size
    assert lost.pk < LedgerEntry.objects.filter(tenant="acme").exclude(event="lost").earliest("pk").pk
