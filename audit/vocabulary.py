"""The closed lists of the ledger: what each typed column may hold. Pure; held against the policy's enums by a test."""

from __future__ import annotations

import re
from typing import Final

EVENTS: Final = frozenset(
    {
        # the life of an elicitation
        "admit",
        "ask_again",
        "delivered",
        "shown",
        "call_ended",
        "answer_accept",
        "answer_decline",
        "answer_cancel",
        "policy_withdrawn",
        "page_consent",
        "page_decline",
        "evidence",
        "evidence_withdrawn",
        "lost",
        "retry",
        "provider_failure",
        "cancel",
        "closed",
        "deadline",
        "honour_evidence",
        "close",
        "reversal",
        "consume",
        # what was refused, and how often again
        "refused",
        "refused_again",
        # around it
        "drill_case",
        "policy_drafted",
        "policy_edited",
        "policy_discarded",
        "policy_approved",
        "policy_activated",
        "policy_refused",
        "tenant_opened",
        "service_opened",
        "provider_opened",
        "provider_changed",
        "lookup",
        "honour_proposed",
        "honour_withdrawn",
        "signal_acknowledged",
        "signal_resolved",
        "signal_resent",
        "key_created",
        "key_revoked",
        # the people at the desk, each named by ``related_id``; a role is the reason code
        "staff_opened",
        "staff_closed",
        "role_granted",
        "role_withdrawn",
        "seat_bound",
        "seat_unbound",
        "password_set",
        # somebody looked up an elicitation by its id, or nothing was found
        "looked_up",
        # the ledger itself
        "exported",
        "evidence_packed",
        "value_asked",
        "hold_placed",
        "hold_lifted",
        "pruned",
    }
)

STATES: Final = frozenset(
    {
        "ADMITTED",
        "CONSENT_PENDING",
        "RETRY_REQUIRED",
        "COMPLETE",
        "ACCEPTED",
        "DECLINED",
        "CANCELLED",
        "EXPIRED",
    }
)

OUTCOMES: Final = frozenset(
    {
        "admit",
        "deny",
        "moved",
        "recorded",
        "stripped",
        "completed",
        "held",
        "unbound_held",
        "policy_withdrawn_held",
        "duplicate_ignored",
        "unknown_ignored",
        "wrong_tenant_denied",
        "wrong_service_denied",
        "wrong_provider_denied",
        "wrong_user_denied",
        "conflict_denied",
        "result_reused_denied",
        "expired_denied",
        "reversed",
        "not_pending_denied",
        "transition_refused",
        "content_missing",
        "still_pending",
        "failed",
        "provider_unknown",
        "unreachable",
        "no_lookup",
        "applied",
        "already_applied",
        "not_complete",
        "conflict",
        "unknown",
        # why a draft was not approved or activated
        "same_person",
        "not_approved",
        "base_changed",
        "draft_changed",
        "draft_closed",
        "red_drill",
        # why kept evidence was not honoured
        "entry_changed",
        "newer_entry",
        "proposal_expired",
    }
)

#: What a drill case expects and gets: an action of the drill, or a state.
ACTIONS: Final = frozenset({"ADMIT", "DENY", "IGNORE"}) | STATES

WIRES: Final = frozenset({"2025-11-25", "2026-07-28"})
MODES: Final = frozenset({"form", "url"})
DELIVERIES: Final = frozenset({"create", "url_required", "input_required"})
PURPOSES: Final = frozenset(
    {
        "choice",
        "confirmation",
        "parameter",
        "profile",
        "credential",
        "payment",
        "third_party_authorization",
        "external_transaction",
    }
)
BINDING_CLASSES: Final = frozenset({"asserted", "verified"})
ID_CLASSES: Final = frozenset(
    {"minted", "uuid4", "opaque", "too_short", "structured", "sequential", "personal", "token", "missing"}
)
REASON_CODES: Final = frozenset(
    {
        "user_abandoned",
        "provider_outage",
        "duplicate_request",
        "wrong_destination",
        "test_traffic",
        "security",
        "other",
        "alone",
        "refunded",
        "duplicate",
        "not_ours",
        "handled",
        "false_alarm",
        "retention",
        "legal",
        # which role was granted or withdrawn
        "administrator",
        "operator",
        "auditor",
        "support",
        "policy_editor",
        "policy_approver",
    }
)
ACTOR_KINDS: Final = frozenset({"client", "user", "service", "provider", "operator", "policy", "scheduler", "unknown"})
ROLES: Final = frozenset(
    {"administrator", "operator", "auditor", "support", "policy_editor", "policy_approver", "shell"}
)
#: What calls for a person's attention. The first four need no threshold.
SIGNALS: Final = frozenset(
    {
        "activation_alone",
        "reversal",
        "conflicting_result",
        "reused_result",
        "wrong_user_entry",
        "wrong_user_person",
        "wrong_tenant",
        "lost_rate",
        "credential_forms",
        "lookalike_origins",
        "bad_signatures",
        "auto_answers",
        "late_sweep",
        "ledger_broken",
    }
)
DECIDED_BY: Final = frozenset({"person", "client_asserted", "probably_not_shown", "unknown"})
CONSENT_SOURCES: Final = frozenset({"answer", "connect_page", "user_report", "evidence_only"})
COMPLETION_SOURCES: Final = frozenset({"webhook", "server", "reconcile", "operator"})
RULE_SOURCES: Final = frozenset({"spec", "operator"})

#: The words that a place may be made of; everything else in it is an ordinal such as ``#3`` or ``3``.
PLACE_WORDS: Final = frozenset(
    {
        "$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef", "$ref", "$schema",
        "$vocabulary", "_meta", "action", "additionalProperties", "allOf", "anyOf", "arguments_digest",
        "capabilities", "client", "code", "const", "contains", "content", "contentEncoding", "contentMediaType",
        "contentSchema", "data", "default", "definitions", "delivery", "dependencies", "dependentRequired",
        "dependentSchemas", "deprecated", "description", "elicitation", "elicitationId", "elicitations", "else",
        "enum", "enumNames", "error", "event", "examples", "exclusiveMaximum", "exclusiveMinimum", "form", "format",
        "fragment", "host", "if", "iss", "items", "key", "latency_ms", "maxItems", "maxLength", "maxProperties",
        "maximum", "message", "method", "minItems", "minLength", "minProperties", "minimum", "mode", "multipleOf",
        "name", "not", "nullable", "oneOf", "operation", "path", "pattern", "patternProperties", "port",
        "predecessor", "prefixItems", "properties", "propertyNames", "purpose", "query", "question", "readOnly",
        "request", "request_id", "requestedSchema", "required", "result_ref", "scheme", "sub", "subject", "target",
        "task", "then", "title", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "url",
        "userinfo", "version", "window_seconds", "wire", "writeOnly",
    }
)  # fmt: skip

_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_KEY_ID: Final = re.compile(r"[a-z0-9]{1,16}")
_PLAIN_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_CASE: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+){0,8}")
_RULE: Final = re.compile(r"[a-z0-9_]{1,30}\.[a-z0-9_]{1,40}")
_ACTOR: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_ORDINAL: Final = re.compile(r"#?[0-9]{1,6}")

CLOSED: Final[dict[str, frozenset[str]]] = {
    "event": EVENTS,
    "state_from": STATES,
    "state_to": STATES,
    "outcome": OUTCOMES,
    "expected": ACTIONS,
    "actual": ACTIONS,
    "wire": WIRES,
    "mode": MODES,
    "delivery": DELIVERIES,
    "purpose": PURPOSES,
    "binding_class": BINDING_CLASSES,
    "id_class": ID_CLASSES,
    "reason_code": REASON_CODES,
    "actor_kind": ACTOR_KINDS,
    "role": ROLES,
    "decided_by": DECIDED_BY,
    "consent_source": CONSENT_SOURCES,
    "completion_source": COMPLETION_SOURCES,
    "rule_source": RULE_SOURCES,
}

SHAPED: Final[dict[str, re.Pattern[str]]] = {
    "tenant": _SLUG,
    "service": _SLUG,
    "provider": _SLUG,
    "actor_id": _ACTOR,
    "case_id": _CASE,
    "rule": _RULE,
    "operation_digest": _HEX,
    "result_digest": _HEX,
    "digest_key_id": _KEY_ID,
    "signing_key_id": _KEY_ID,
    "policy_digest": _PLAIN_DIGEST,
    "fixture_digest": _PLAIN_DIGEST,
}


def admissible(column: str, value: str) -> bool:
    """Whether the text column may hold ``value``; the empty string means that it does not apply."""
    if value == "":
        return column not in ("tenant", "event", "actor_kind")
    if column == "place":
        return len(value) <= 200 and all(
            word in PLACE_WORDS or _ORDINAL.fullmatch(word) is not None for word in value.removeprefix("/").split("/")
        )
    if column in CLOSED:
        return value in CLOSED[column]
    return SHAPED[column].fullmatch(value) is not None
