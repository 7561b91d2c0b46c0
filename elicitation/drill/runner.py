"""Runs cases against a policy document: each gives an action, which is compared with the expected one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from elicitation.drill.cases import Case, CaseError, Kind, read_cases
from elicitation.drill.judges import actual_action
from elicitation.policy.canonical import digest
from elicitation.policy.decision import IdClass, Mode
from elicitation.policy.document import Document, DocumentError, lay_over
from elicitation.policy.reader import load

__all__ = ["Case", "CaseError", "CaseResult", "Fixture", "Kind", "Report", "load_cases", "load_overlay", "run"]

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Fixture:
    """Cases in their order, and the ``sha256:`` digest of their canonical bytes."""

    cases: tuple[Case, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One row: what was expected and what the policy did. ``correlation_class`` is the class of the case's id."""

    case_id: str
    mode: Mode
    expected: str
    actual: str
    correlation_class: IdClass

    @property
    def match(self) -> bool:
        return self.actual == self.expected

    def as_json(self) -> dict[str, object]:
        return {
            "case_id": self.case_id,
            "mode": str(self.mode),
            "expected": self.expected,
            "actual": self.actual,
            "match": self.match,
            "correlation_class": str(self.correlation_class),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A run. The policy's digest is that of the revision itself; ``overlaid`` names the sections laid over it."""

    policy_revision: int
    policy_digest: str
    fixture_digest: str
    cases: tuple[CaseResult, ...]
    overlaid: tuple[str, ...]

    @property
    def matched(self) -> int:
        return sum(case.match for case in self.cases)

    @property
    def passed(self) -> bool:
        return self.matched == len(self.cases)

    def as_json(self) -> dict[str, object]:
        return {
            "policy_revision": self.policy_revision,
            "policy_digest": self.policy_digest,
            "fixture_digest": self.fixture_digest,
            "total": len(self.cases),
            "matched": self.matched,
            "cases": [case.as_json() for case in self.cases],
            "overlaid": list(self.overlaid),
        }


def load_cases(path: Path | str | None = None) -> Fixture:
    """Read a file of cases; without ``path`` the 28 of the drill. Raises :class:`CaseError`, which names the place,
    for a file that cannot be read or holds anything but cases."""
    value = _load(Path(path) if path is not None else _HERE / "cases.json")
    return Fixture(read_cases(value), digest(value))


def load_overlay() -> dict[str, object]:
    """The sections that the drill's own cases need, laid over whatever policy is drilled."""
    value = _load(_HERE / "overlay.json")
    if not isinstance(value, dict):
        raise CaseError("", "the overlay must be an object")
    return value


def _load(path: Path) -> object:
    try:
        return load(path.read_text(encoding="utf-8"))
    except DocumentError as error:
        raise CaseError(error.at, error.problem) from None
    except (OSError, UnicodeDecodeError):
        raise CaseError("", "the file cannot be read") from None


def run(document: Document, revision: int, fixture: Fixture, overlay: bool = True) -> Report:
    """Run every case under ``document``, with the drill's overlay laid over it or without (a policy's own cases).
    Deterministic: nothing but the arguments and the overlay's file counts."""
    laid = load_overlay() if overlay else {}
    under = lay_over(document, laid) if laid else document
    results = []
    for case in fixture.cases:
        actual, correlation = actual_action(case, under, revision)
        results.append(CaseResult(case.case_id, case.mode, case.expected, actual, correlation))
    return Report(revision, document.digest, fixture.digest, tuple(results), tuple(laid))
