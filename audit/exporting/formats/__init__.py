"""The three ways in which an export is written down."""

from __future__ import annotations

from typing import Final

from audit.exporting.formats.csv import Csv
from audit.exporting.formats.jsonl import JsonLines
from audit.exporting.formats.ocsf import Ocsf
from audit.exporting.formats.rendering import Head, Rendering
from audit.verify import Format

__all__ = ["RENDERINGS", "Head", "Rendering"]

RENDERINGS: Final[dict[Format, type[Rendering]]] = {
    Format.JSONL: JsonLines,
    Format.CSV: Csv,
    Format.OCSF: Ocsf,
}
