"""LibreOffice opens an export of a ledger that was tampered with: no cell is a formula, and no number was touched."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from xml.etree import ElementTree

import pytest

from audit.models import LedgerEntry
from audit.verify import Format
from tests.audit.exported import DANGEROUS, anything_goes, entry, sealed, whole

pytestmark = [pytest.mark.peers, pytest.mark.django_db]

#: Commas, quotes, UTF-8; everything else as somebody has it who opens a file by a click.
OPENED_AS = "CSV:44,34,76"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
LARGEST = 2**63 - 1
NUMBERS = (-5, 0, 17, LARGEST, -LARGEST - 1)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LibreOffice's settings, as of somebody who has changed none."""
    return tmp_path_factory.mktemp("profile")


def converted(content: str, kind: str, profile: Path, folder: Path) -> Path:
    """What LibreOffice makes of a CSV."""
    file, out = folder / "export.csv", folder / kind
    file.write_text(content, newline="")
    office = ["soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", f"--infilter={OPENED_AS}"]
    command = [*office, "--convert-to", kind, "--outdir", str(out), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    made = out / f"export.{kind}"
    assert made.exists(), done.stderr
    return made


def sheet(file: Path) -> Iterator[list[tuple[str, str]]]:
    """The rows of an OpenDocument spreadsheet: of each cell what it is and what it shows."""
    with zipfile.ZipFile(file) as parts:
        root = ElementTree.fromstring(parts.read("content.xml"))  # noqa: S314 - LibreOffice wrote it just now
    for row in root.iter(f"{TABLE}table-row"):
        cells = []
        for cell in row.iter(f"{TABLE}table-cell"):
            kind = "formula" if f"{TABLE}formula" in cell.attrib else cell.get(f"{OFFICE}value-type", "")
            shown = cell.get(f"{OFFICE}value") or "".join("".join(each.itertext()) for each in cell.iter(f"{TEXT}p"))
            cells += [(kind, shown)] * int(cell.get(f"{TABLE}number-columns-repeated", "1"))
        yield cells


def spaceless(text: str) -> str:
    """Without tabs and line ends, which a spreadsheet keeps as something else."""
    return text.translate(dict.fromkeys(map(ord, "\t\r\n")))


@pytest.fixture
def tampered() -> str:
    """An export of entries whose places are dangerous, and whose latencies are of every size."""
    with anything_goes():
        LedgerEntry.objects.bulk_create(
            entry(number, place=text, latency_ms=latency)
            for number, (text, latency) in enumerate(zip(DANGEROUS, cycle(NUMBERS), strict=False))
        )
    return whole(sealed(1), Format.CSV)[1].decode()


def column(rows: Sequence[Sequence[str]], name: str) -> list[str]:
    at = rows[0].index(name)
    return [row[at] for row in rows[1 : len(DANGEROUS) + 1]]


def test_no_cell_is_a_formula_and_all_say_what_the_ledger_says(tampered: str, profile: Path, tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(tampered, newline="")))
    shown = list(sheet(converted(tampered, "ods", profile, tmp_path)))[: len(rows)]
    assert len(shown) == len(rows)
    assert not [cell for row in shown for cell in row if cell[0] == "formula"]
    for row, cells in zip(rows[1:-1], shown[1:-1], strict=True):
        for name, text, (kind, value) in zip(rows[0], row, cells, strict=False):
            if kind == "float":
                assert float(value) == pytest.approx(float(text), rel=1e-14), name
            else:
                assert spaceless(value).lower() == spaceless(text).lower(), name
    kinds = dict(zip(rows[0], [kind for kind, _ in shown[1]], strict=False))
    for name in ("index", "id", "client_id", "latency_ms"):
        assert kinds[name] == "float"
    for name in ("at", "event", "place", "elicitation_id"):
        assert kinds[name] == "string"
    latencies = [float(cells[rows[0].index("latency_ms")][1]) for cells in shown[1 : len(NUMBERS) + 1]]
    assert latencies == pytest.approx(list(map(float, NUMBERS)), rel=1e-14)


def test_the_manifest_is_text_and_can_be_taken_out_of_the_spreadsheet(
    tampered: str, profile: Path, tmp_path: Path
) -> None:
    rows = list(csv.reader(io.StringIO(tampered, newline="")))
    (mark, manifest, *_) = next(
        cells for cells in sheet(converted(tampered, "ods", profile, tmp_path)) if cells[0][1].startswith("#")
    )
    assert (mark, manifest) == (("string", "#manifest"), ("string", rows[-1][1]))
    assert json.loads(manifest[1])["manifest"]["neutralised"] == len(DANGEROUS)


def test_another_program_s_file_made_of_it_has_no_formula_either(tampered: str, profile: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(converted(tampered, "xlsx", profile, tmp_path)) as parts:
        assert b"<f" not in parts.read("xl/worksheets/sheet1.xml")
    again = list(csv.reader(converted(tampered, "csv", profile, tmp_path).open(newline="")))
    assert [spaceless(cell) for cell in column(again, "place")] == [spaceless(f"'{text}") for text in DANGEROUS]


def test_the_same_cells_are_formulas_where_nobody_neutralises_them(
    tampered: str, profile: Path, tmp_path: Path
) -> None:
    """So that the others fail when the exporter does not."""
    raw = tampered.replace("'=", "=").replace("\"'", '"').replace(",'", ",")
    assert [cell for row in sheet(converted(raw, "ods", profile, tmp_path)) for cell in row if cell[0] == "formula"]
    with zipfile.ZipFile(converted(raw, "xlsx", profile, tmp_path)) as parts:
        assert b"<f" in parts.read("xl/worksheets/sheet1.xml")
