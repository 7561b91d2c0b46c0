"""The ledger for auditors' tools: its lines, exports, checkpoints. A key shows its own tenant's log and no other."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from audit import note, seal, tree
from audit.exporting.selection import Selection
from audit.models import Checkpoint, Export, Log
from audit.verify import parse_key
from audit.vocabulary import EVENTS
from elicitation.api import examples, ledger_shapes
from elicitation.api.body import decode
from elicitation.api.calls import ServiceView, check_moment
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.api.views import limit_of
from elicitation.policy import identifiers
from elicitation.services import actors, exports, reading
from elicitation.services.downloads import download, verifier
from elicitation.services.exports import (
    NoSuchCheckpoint,
    NoSuchElicitation,
    NothingSealed,
    PruneNotTold,
    TooMany,
    Wanted,
)
from elicitation.services.keys import Scope

_TAG: Final = "Auditors"
_CURSOR: Final = OpenApiParameter("cursor", int, description="`next` of the page before.")
_LIMIT: Final = OpenApiParameter("limit", int, description="1 to 200, 50 by default.")
_DIGITS: Final = 18


class AuditorView(ServiceView):
    """A call by an auditor's key."""

    scope = Scope.EXPORT

    def log(self, request: Request) -> Log | None:
        """The log of the key's tenant; ``None`` while nothing is sealed."""
        return Log.objects.filter(tenant=self.service(request).tenant.slug).first()

    def sealed_log(self, request: Request) -> Log:
        """The same. Raises ``Problem`` (409) while nothing is sealed."""
        log = self.log(request)
        if log is None:
            raise _nothing_sealed()
        return log


class Ledger(AuditorView):
    @described(
        "ledger",
        "The sealed entries in the order of the log, oldest first",
        reply=ledger_shapes.LedgerReply,
        refusals=(400, 401, 403, 409),
        parameters=(_CURSOR, _LIMIT),
        tag=_TAG,
    )
    def get(self, request: Request) -> HttpResponse:
        log, cursor = self.log(request), _number(request, "cursor")
        limit = limit_of(request.query_params.get("limit"))
        if log is None:
            return ledger_shapes.LedgerReply(items=[], size=0, next=None).response()
        reading.note(log, actors.service(self.service(request)))
        start = max(cursor or 0, log.pruned)
        stop = min(start + limit, log.size)
        try:
            items = [msgspec.Raw(line) for line in tree.lines(log, start, stop)] if start < stop else []
        except tree.NotKept:
            raise _not_kept() from None
        return ledger_shapes.LedgerReply(items=items, size=log.size, next=stop if stop < log.size else None).response()


class Exports(AuditorView):
    @described(
        "export",
        "Ask for an export of the ledger",
        body=ledger_shapes.ExportOrder,
        example=examples.EXPORT,
        reply=ledger_shapes.ExportReply,
        statuses=(201,),
        refusals=(400, 401, 403, 404, 409, 413, 415, 429, 503),
        tag=_TAG,
    )
    def post(self, request: Request) -> HttpResponse:
        wanted = _wanted(decode(request._request, ledger_shapes.ExportOrder))
        log = self.sealed_log(request)
        try:
            export = exports.ask(log, wanted, actors.service(self.service(request)))
        except NothingSealed:
            raise _nothing_sealed() from None
        except NoSuchCheckpoint as problem:
            sentence = "The log has no checkpoint of this size."
            raise Problem(400, "checkpoint.unknown", sentence, at=f"/{problem.member}") from None
        except PruneNotTold:
            sentence = "What this checkpoint covers was pruned, at least in part, and nothing up to there tells of it."
            raise Problem(400, "checkpoint.pruned", sentence, at="/to") from None
        except NoSuchElicitation:
            raise Problem(404, "unknown", "There is no such elicitation.", at="/elicitation_id") from None
        except TooMany as problem:
            raise Problem(429, "exports.too_many", str(problem)) from None
        return _export_reply(export).response(201)


class OneExport(AuditorView):
    @described(
        "show_export",
        "How far an export is",
        reply=ledger_shapes.ExportReply,
        refusals=(401, 403, 404),
        tag=_TAG,
    )
    def get(self, request: Request, export_id: str) -> HttpResponse:
        return _export_reply(self.own(request, export_id)).response()

    def own(self, request: Request, export_id: str) -> Export:
        """The tenant's export of this id. Raises ``Problem`` (404)."""
        try:
            uid = UUID(export_id)
        except ValueError:
            raise _unknown() from None
        tenant = self.service(request).tenant.slug
        found = Export.objects.select_related("log").filter(uid=uid, log__tenant=tenant).first()
        if found is None or str(uid) != export_id:
            raise _unknown()
        return found


class ExportFile(OneExport):
    @described(
        "export_file",
        "The file of an export that is ready; in parts, when asked with Range",
        statuses=(200, 206),
        refusals=(401, 403, 404, 409, 416),
        tag=_TAG,
    )
    def get(self, request: Request, export_id: str) -> HttpResponseBase:
        export = self.own(request, export_id)
        if export.status != Export.Status.READY:
            raise Problem(409, "export.not_ready", "The export is not ready.", state=export.status)
        response = download(export, request._request)
        if response is None:
            raise _unknown()
        return response


class Verifier(AuditorView):
    @described(
        "verifier",
        "The program that verifies exports, in one file for Python alone",
        refusals=(401, 403),
        tag=_TAG,
    )
    def get(self, request: Request) -> HttpResponse:
        return verifier()


class Checkpoints(AuditorView):
    @described(
        "checkpoints",
        "The log's checkpoints, newest first, and its verifier keys",
        reply=ledger_shapes.CheckpointsReply,
        refusals=(400, 401, 403),
        parameters=(_CURSOR, _LIMIT),
        tag=_TAG,
    )
    def get(self, request: Request) -> HttpResponse:
        log, cursor = self.log(request), _number(request, "cursor")
        limit = limit_of(request.query_params.get("limit"))
        if log is None:
            return ledger_shapes.CheckpointsReply(origin=None, keys=[], items=[], next=None).response()
        rows = Checkpoint.objects.filter(log=log)
        rows = rows if cursor is None else rows.filter(size__lt=cursor)
        page = list(rows.order_by("-size")[: limit + 1])
        items = [
            ledger_shapes.CheckpointItem(size=row.size, at=row.at, note=row.note, cosignatures=row.cosignatures)
            for row in page[:limit]
        ]
        return ledger_shapes.CheckpointsReply(
            origin=log.origin,
            keys=exports.verifier_keys(log),
            items=items,
            next=items[-1].size if len(page) > limit else None,
        ).response()


class Consistency(AuditorView):
    @described(
        "consistency",
        "That the log at one size begins with the log at an earlier one",
        reply=ledger_shapes.ConsistencyReply,
        refusals=(400, 401, 403, 409),
        parameters=(
            OpenApiParameter("old", int, required=True, description="The earlier size."),
            OpenApiParameter("new", int, required=True, description="The later size, sealed by now."),
        ),
        tag=_TAG,
    )
    def get(self, request: Request) -> HttpResponse:
        old, new = _number(request, "old"), _number(request, "new")
        log = self.sealed_log(request)
        if old is None or new is None or not old <= new <= log.size:
            sentence = f"old and new are sizes of the log, up to {log.size}, the earlier one first."
            raise Problem(400, "query.invalid", sentence, at="old")
        try:
            proof = tree.consistency(log, old, new)
        except tree.NotKept:
            raise _not_kept() from None
        encoded = [base64.b64encode(each).decode() for each in proof]
        return ledger_shapes.ConsistencyReply(old=old, new=new, proof=encoded).response()


class Keys(APIView):
    """Open to everybody: public keys, and no tenant's name."""

    authentication_classes = ()
    permission_classes = ()
    schema = None

    def get(self, request: Request) -> HttpResponse:
        ring = {kid: parse_key(note.verifier_key("ledger", seed)) for kid, seed in seal.keys().items()}
        shown = [
            ledger_shapes.PublicKey(kid=kid, public_key=base64.b64encode(key.public).decode())
            for kid, key in ring.items()
        ]
        return ledger_shapes.KeysReply(keys=shown).response()


def _unknown() -> Problem:
    return Problem(404, "unknown", "There is no such export.")


def _nothing_sealed() -> Problem:
    return Problem(409, "ledger.nothing_sealed", "Nothing is sealed yet: the log has no checkpoint.")


def _not_kept() -> Problem:
    return Problem(409, "ledger.not_kept", "Entries that this needs are not kept any more.")


def _export_reply(export: Export) -> ledger_shapes.ExportReply:
    ready = export.status == Export.Status.READY
    return ledger_shapes.ExportReply(
        id=str(export.uid),
        state=export.status,
        problem=export.problem or None,
        progress=exports.percent(export),
        size=export.size,
        download=f"/api/v1/exports/{export.uid}/file" if ready else None,
    )


def _wanted(body: ledger_shapes.ExportOrder) -> Wanted:
    """Raises ``Problem`` (400)."""
    if body.event is not None and body.event not in EVENTS:
        raise Problem(400, "body.invalid", "The ledger knows no such event.", at="/event")
    elicitation = None
    if body.elicitation_id is not None:
        raw = identifiers.parse(body.elicitation_id)
        if raw is None:
            raise Problem(400, "body.invalid", "This is not an id of the desk.", at="/elicitation_id")
        elicitation = UUID(bytes=raw)
    selection = Selection(
        since=check_moment(body.start, "/from") if isinstance(body.start, datetime) else None,
        until=check_moment(body.to, "/to") if isinstance(body.to, datetime) else None,
        from_size=body.start if isinstance(body.start, int) else None,
        event=body.event or "",
        elicitation_id=elicitation,
        policy_revision=body.policy_revision,
    )
    return Wanted(body.format, selection, body.to if isinstance(body.to, int) else None)


def _number(request: Request, name: str) -> int | None:
    """A number from the query, ``None`` without one. Raises ``Problem`` (400)."""
    text = request.query_params.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise Problem(400, "query.invalid", f"{name} is a number.", at=name)
    return int(text)
