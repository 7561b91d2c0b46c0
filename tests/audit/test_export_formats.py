"""The formats hold to their own rules: OCSF to its schema, CSV to what a spreadsheet does with a cell."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

from audit import line
from audit.exporting import rows
from audit.exporting.formats import ocsf
from audit.models import LedgerEntry
from audit.triggers import LEDGER
from audit.verify import Format, Verdict
from audit.vocabulary import ACTOR_KINDS, EVENTS, OUTCOMES
from tests.audit.exported import ABOUT, BEGAN, DANGEROUS, anything_goes, entry, judged, seal_everything, sealed, whole
from tests.audit.pruned import tampering

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def schema() -> Any:
    """The published schema of the class, with unknown members refused."""
    found = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=ocsf.VERSION)).get_class_schema(
        class_name="entity_management"
    )
    return jsonschema.Draft202012Validator(found)


def test_every_event_of_the_ledger_is_an_event_of_ocsf(schema: Any, tmp_path: Path) -> None:
    kinds, outcomes = sorted(ACTOR_KINDS), sorted(OUTCOMES)
    LedgerEntry.objects.bulk_create(
        entry(
            number,
            event=event,
            actor_kind=kinds[number % len(kinds)],
            actor_id="17" if number % 2 else "",
            outcome=outcomes[number % len(outcomes)],
            rule="spec.some_rule" if number % 3 == 0 else "",
            elicitation_id=ABOUT if number % 4 == 0 else None,
            provider="example-pay" if number % 5 == 0 else "",
            service="booking" if number % 7 == 0 else "",
        )
        for number, event in enumerate(sorted(EVENTS))
    )
    log = sealed(1)
    content, selected = whole(log, Format.OCSF)[1], whole(log, Format.OCSF, event="exported")[1]
    for written in (content, selected):
        for event in map(json.loads, written.splitlines()):
            schema.validate(event)
    assert judged(content, log, tmp_path).verdict is Verdict.VERIFIED
    assert judged(selected, log, tmp_path).verdict is Verdict.SELECTION


def test_an_ocsf_event_says_what_its_line_says(schema: Any) -> None:
    LedgerEntry.objects.bulk_create(
        [entry(7, event="refused", outcome="wrong_user_denied", rule="spec.user_mismatch", actor_id="booking")]
    )
    seal_everything()
    log = sealed(1)
    shown = json.loads(whole(log, Format.OCSF)[1].splitlines()[0])
    said = json.loads(shown["raw_data"])
    assert shown["time"] == int(BEGAN.timestamp() * 1000) + 7
    assert shown["metadata"]["event_code"] == said["event"] == "refused"
    assert shown["metadata"]["sequence"] == said["index"] == 0
    assert shown["entity"] == {"type": "Elicitation", "uid": str(ABOUT)}
    assert (shown["status_id"], shown["status_code"]) == (2, "spec.user_mismatch")
    assert shown["actor"] == {"app_name": "service", "app_uid": "booking"}


def test_activities_are_of_events_that_there_are() -> None:
    assert set(ocsf.ACTIVITIES) <= EVENTS


def test_a_cell_that_would_be_a_formula_is_neutralised_and_counted() -> None:
    with anything_goes():
        LedgerEntry.objects.bulk_create(
            entry(number, place=text, latency_ms=-5 if number == 3 else 40) for number, text in enumerate(DANGEROUS)
        )
    seal_everything()
    log = sealed(1)
    for selection in ({}, {"policy_revision": 7}):
        content = whole(log, Format.CSV, **selection)[1].decode()
        *rows, manifest = csv.DictReader(io.StringIO(content, newline=""))
        assert [row["place"] for row in rows[:-1]] == [f"'{text}" for text in DANGEROUS]
        assert not [cell for row in rows for cell in row.values() if re.match(r"[=+@\t\r]|-\D", cell)]
        assert rows[3]["latency_ms"] == "-5"
        assert json.loads(manifest["tenant"])["manifest"]["neutralised"] == len(DANGEROUS)


def test_texts_that_the_ledger_never_takes_stop_no_export(tmp_path: Path) -> None:
    with anything_goes():
        LedgerEntry.objects.bulk_create(
            entry(number, place=text) for number, text in enumerate(['a"b', "a\nb", "a\\b", "a,b", "\u00e9", "ok"])
        )
    seal_everything()
    log = sealed(300)
    for format_ in Format:
        for event in ("", "shown"):
            report = judged(whole(log, format_, event=event)[1], log, tmp_path)
            assert report.verdict not in (Verdict.NOT_AN_EXPORT, Verdict.TRUNCATED), report


def test_a_cell_holds_what_the_column_holds() -> None:
    texts = ['a"b', '"', "a,b", "\\", "a\\nb", "\\,", *"\b\f\n\r\t\v\x01", "\r\n", "\u00e9", " ok ", "'", "\\N", ""]
    with anything_goes():
        LedgerEntry.objects.bulk_create(entry(number, place=text) for number, text in enumerate(texts))
    seal_everything()
    log = sealed(1)
    written = b"".join(row for batch in rows.table_rows(log, 0, log.size, wider=False) for row in batch)
    cells = csv.reader(io.StringIO(written.decode(), newline=""))
    assert [row[line.NAMES.index("place")] for row in cells][: len(texts)] == texts


def test_an_entry_that_somebody_removed_is_missed(tmp_path: Path) -> None:
    log = sealed(600)
    gone = LedgerEntry.objects.filter(event="shown").order_by("pk")[100]
    with tampering(LEDGER):
        gone.delete()
    for format_ in Format:
        assert judged(whole(log, format_)[1], log, tmp_path).verdict is Verdict.REMOVED
        assert not judged(whole(log, format_, event="admit")[1], log, tmp_path).verdict.good
