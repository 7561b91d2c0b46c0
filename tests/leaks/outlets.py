"""Every way by which something of the ledger leaves the desk, and what goes out by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from audit import packs, seal
from audit.models import Checkpoint, Leaf, LedgerEntry, Log
from audit.note import verifier_key
from audit.verify import Format
from elicitation.services import exports, keys
from elicitation.services.keys import Scope
from elicitation.services.sweeps import witnessing
from elicitation.templatetags.desk import elc
from tests.audit import exported, witnesses
from tests.audit.witnesses import witness_server
from tests.builders import Desk
from tests.elicitation.admin_pages import signed_in
from tests.leaks.marks import tables

#: So many elicitations, the last ones, are packed.
PACKED = 20


def outlets(desk: Desk, settings: Any, folder: Path) -> dict[str, bytes]:
    """What leaves, by the name of the way. The log is sealed first."""
    key = keys.create_service_key(desk.hotels, [Scope.EXPORT])
    exports.seal_all()
    return {
        "witness": b"\n".join(_witnessed(settings, folder)),
        "checkpoints": "\n".join(Checkpoint.objects.values_list("note", flat=True)).encode(),
        **{f"export as {format_}": b"".join(_exports(format_)) for format_ in Format},
        "packs": b"".join(_packs()),
        "api": b"".join(_pages(desk, key)),
        "admin": b"".join(_shown()),
        "hours": tables()["audit_hourly"],
    }


def _witnessed(settings: Any, folder: Path) -> Iterator[bytes]:
    settings.DESK_WITNESS_FILE = folder / "checkpoints"
    with witness_server() as server:
        server.keys = [verifier_key(log.origin, seed) for log in Log.objects.all() for seed in seal.keys().values()]
        settings.DESK_WITNESS_URL, settings.DESK_WITNESS_KEY = server.url, witnesses.key()
        assert witnessing.witness() == Log.objects.count()
        yield from server.requests
    yield settings.DESK_WITNESS_FILE.read_bytes()
    settings.DESK_WITNESS_URL = settings.DESK_WITNESS_KEY = ""
    settings.DESK_WITNESS_FILE = None


def _exports(format_: Format) -> Iterator[bytes]:
    for log in Log.objects.order_by("pk"):
        yield exported.whole(log, format_)[1]
        yield exported.whole(log, format_, event="admit")[1]


def _packs() -> Iterator[bytes]:
    log = Log.objects.get(tenant="acme")
    sealed = LedgerEntry.objects.filter(pk__in=Leaf.objects.filter(log=log).values("entry_id"))
    about = sealed.exclude(elicitation_id=None).order_by("-pk").values_list("elicitation_id", flat=True)
    for uid in list(dict.fromkeys(about))[:PACKED]:
        assert uid is not None
        yield packs.pack(log, uid, timezone.now(), seal.keys())


def _pages(desk: Desk, key: str) -> Iterator[bytes]:
    for path in ("checkpoints", "checkpoints/consistency?old=1&new=2"):
        yield desk.call(path, method="GET", key=key).content
    cursor = ""
    while True:
        page = desk.call(f"ledger?limit=200{cursor}", method="GET", key=key)
        assert page.status_code == 200
        yield page.content
        if page.json()["next"] is None:
            break
        cursor = f"&cursor={page.json()['next']}"
    yield Client().get("/ledger/keys").content


def _shown() -> Iterator[bytes]:
    auditor = signed_in(User.objects.create_superuser("auditor"))
    last = LedgerEntry.objects.exclude(elicitation_id=None).filter(tenant="acme", event="admit").latest("pk")
    assert last.elicitation_id is not None
    for path in ("audit/ledgerentry/", "audit/log/", "audit/export/", f"answers/{elc(last.elicitation_id)}/"):
        page = auditor.get(f"/admin/{path}")
        assert page.status_code == 200, path
        yield page.content
