"""OpenAPI from the same structs that decode and encode: nothing is described twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from elicitation.api import ledger_shapes, replies, shapes

_REF: Final = "#/components/schemas/{name}"
_BODIES: Final[tuple[type, ...]] = (
    shapes.Admission,
    shapes.Answer,
    shapes.Completion,
    shapes.Consumption,
    shapes.ProgressReport,
    shapes.ProviderEvent,
    shapes.StripeEvent,
    shapes.StripeData,
    shapes.ErrorCheck,
    ledger_shapes.ExportOrder,
    shapes.EventData,
    shapes.SubjectOnly,
)
_REPLIES: Final[tuple[type, ...]] = (
    replies.AdmissionReply,
    replies.ConsumeReply,
    replies.DecisionReply,
    replies.RulesReply,
    replies.EntryReply,
    replies.FeedReply,
    replies.ListReply,
    replies.OutcomeReply,
    ledger_shapes.ExportReply,
    ledger_shapes.LedgerReply,
    ledger_shapes.CheckpointsReply,
    ledger_shapes.ConsistencyReply,
)
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; a denial's is the code of the rule."},
        "detail": {"type": "string"},
        "at": {"type": "string", "description": "JSON pointer into the body; never a value."},
        "state": {"type": "string"},
        "decision": {"type": "object"},
        "decision_id": {"type": "string"},
        "error": {"type": "object", "description": "The exact -32021 object, where the wire requires it."},
    },
}


class ServiceKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "elicitation.api.authentication.ServiceKeyAuthentication"
    name = "serviceKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A service's key, scoped per verb."}


def add_components(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """For ``POSTPROCESSING_HOOKS``: the structs' own JSON Schemas as components."""
    _, components = msgspec.json.schema_components((*_BODIES, *_REPLIES), ref_template=_REF)
    result.setdefault("components", {}).setdefault("schemas", {}).update(components, Problem=_PROBLEM)
    return result


_MEANING: Final[dict[int, str]] = {
    200: "Done, or done before.",
    201: "Registered.",
    204: "Received, whatever became of it.",
    206: "The part that was asked for.",
    400: "Malformed, or an export to a checkpoint that is unknown (`checkpoint.unknown`) or tells of no prune "
    "(`checkpoint.pruned`); `at` names the place, never the value.",
    401: "No live key, or no live signature.",
    403: "The key's scopes do not open this call.",
    404: "Unknown or foreign; never told apart.",
    409: "`transition.refused` with the present `state`, `operation.conflict`, or `evidence_waiting`; of the ledger, "
    "`ledger.nothing_sealed`, `ledger.not_kept`, or `export.not_ready`.",
    413: "Too large.",
    415: "Not sent as application/json.",
    416: "The file has no such part.",
    422: "Denied by policy: `code` is the rule.",
    429: "Denied by a limit on asking, or too many exports unfinished or kept; `Retry-After` says when to look again.",
    503: "Nothing was done; send the same again.",
}


def described(
    operation_id: str,
    summary: str,
    *,
    body: type | tuple[type, ...] | None = None,
    reply: type | None = None,
    statuses: tuple[int, ...] = (200,),
    refusals: tuple[int, ...] = (),
    parameters: tuple[OpenApiParameter, ...] = (),
    example: dict[str, Any] | None = None,
    examples: Mapping[str, dict[str, Any]] | None = None,
    tag: str = "Services",
) -> Callable[[Any], Any]:
    """Describes a view's method by the structs that it decodes and encodes, and the statuses of its refusals.

    ``body`` may be one of several; then ``examples`` has one for each, by what it shows.
    """
    bodies = body if isinstance(body, tuple) else (body,) if body else ()
    shown = examples or ({"As it can be sent": example} if example else {})
    answers: dict[Any, Any] = {
        status: OpenApiResponse(response=_named(reply) if reply else None, description=_MEANING[status])
        for status in statuses
    }
    for status in refusals:
        answers[(status, "application/problem+json")] = OpenApiResponse(
            response={"$ref": _REF.format(name="Problem")}, description=_MEANING[status]
        )
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        description=summary + ".",
        tags=["Providers" if shapes.ProviderEvent in bodies else tag],
        request={"application/json": _any_of(bodies)} if bodies else None,
        responses=answers,
        parameters=list(parameters),
        examples=[OpenApiExample(name, value=value, request_only=True) for name, value in shown.items()] or None,
    )


def _any_of(bodies: tuple[type, ...]) -> dict[str, Any]:
    named = [_named(each) for each in bodies]
    return named[0] if len(named) == 1 else {"anyOf": named}


def _named(shape: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=shape.__name__)}
