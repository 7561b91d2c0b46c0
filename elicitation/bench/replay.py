"""``replay``: the decisions of a busy week under a draft, by the command that a policy owner runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from elicitation.bench.frame import CannotMeasure, Comparison

ROOT: Final = Path(__file__).resolve().parents[2]
DECISIONS: Final = 100_000
LIMIT: Final = 60.0
#: Each tenth question has more fields than the draft allows.
WIDE: Final = 10


@contextmanager
def replay() -> Iterator[Sequence[Comparison]]:
    with tempfile.TemporaryDirectory(prefix="desk-bench-") as folder:
        desk = _Desk(Path(folder))
        desk.run("-c", "from config.environment import make_absent_secrets; make_absent_secrets()")
        desk.run("manage.py", "migrate", "-v0")
        draft = desk.run("-m", "elicitation.bench.replay").strip()
        yield [Comparison(f"{DECISIONS:,} decisions", "limit", lambda: desk.replay(draft), LIMIT, 1.0)]


class _Desk:
    """A desk of the bench's own, on the embedded database."""

    def __init__(self, folder: Path) -> None:
        kept = ("PATH", "HOME", "LANG")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ}
        self.environment["DESK_STATE_DIR"] = str(folder)

    def run(self, *arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(  # noqa: S603 - our own interpreter
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise CannotMeasure(f"`{arguments[0]}` failed: {done.stderr.strip().rpartition(chr(10))[2]}")
        return done.stdout

    def replay(self, draft: str) -> float:
        began = time.monotonic()
        found = json.loads(self.run("manage.py", "policy", "replay", draft, "--days", "1", "--format", "json"))
        seconds = time.monotonic() - began
        wide = DECISIONS // WIDE
        if (found["total"], found["refused"], len(found["changed"])) != (DECISIONS, wide, wide):
            raise CannotMeasure("The replay did not find exactly the decisions that the draft changes.")
        return seconds


def seed() -> int:
    """Fill an empty desk with decisions, and begin the draft; returns its number."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from elicitation.models import Decision
    from elicitation.policy.document import lay_over
    from elicitation.services import drafts, parties, revisions

    policy = revisions.active()
    tenant = parties.open_tenant("bench", "Bench")
    service = parties.open_service(tenant, "bench", "Bench")
    client = parties.know_client(tenant, "bench", "1")
    common: dict[str, Any] = {
        "kind": Decision.Kind.ADMISSION,
        "at": datetime.now(UTC),
        "service": service,
        "client": client,
        "revision": policy.row,
        "wire": "2025-11-25",
        "delivery": "create",
        "purpose": "choice",
        "mode": "form",
        "mode_asked": True,
        "declared_form": True,
        "declared_url": True,
        "capability_malformed": False,
        "property_names": ["region"],
        "keywords": ["type", "properties", "enum"],
        "choice_count": 3,
        "text_bytes": 40,
        "schema_bytes": 120,
        "id_class": "missing",
        "outcome": "admit",
        "rule": "policy.admitted",
    }
    rows = (Decision(**common, property_count=12 if number % WIDE == 0 else 3) for number in range(DECISIONS))
    Decision.objects.bulk_create(rows, batch_size=1000)
    fewer = lay_over(policy.document, {"forms": {**_forms(policy.document.as_json()), "max_fields": 6}})
    return drafts.begin("Fewer fields", policy, fewer, "[]", None).pk


def _forms(document: dict[str, object]) -> dict[str, object]:
    forms = document["forms"]
    assert isinstance(forms, dict)
    return forms


if __name__ == "__main__":
    sys.stdout.write(f"{seed()}\n")
