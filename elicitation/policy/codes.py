"""The codes of the rules, where a rule comes from, and the shape of its entry in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Who demands a rule: a revision of the protocol, or the operator of this desk. Never both."""

    SPEC_2025_11_25 = "spec:2025-11-25"
    SPEC_2026_07_28 = "spec:2026-07-28"
    OPERATOR = "operator"


class Rule(StrEnum):
    """Every rule of the policy by its code. The codes are part of the API and never change their meaning."""

    ADMITTED = "policy.admitted"

    WIRE_NOT_SERVED = "wire.not_served"
    DELIVERY_NOT_IN_WIRE = "delivery.not_in_wire"
    DELIVERY_NEEDS_URL = "delivery.needs_url"

    CAPABILITY_MISSING = "capability.missing"
    CAPABILITY_MALFORMED = "capability.malformed"
    CAPABILITY_MODE_UNDECLARED = "capability.mode_undeclared"

    REQUEST_MALFORMED = "request.malformed"
    REQUEST_TOO_LARGE = "request.too_large"
    REQUEST_TOO_DEEP = "request.too_deep"
    REQUEST_MEMBER_UNKNOWN = "request.member_unknown"
    REQUEST_MODE_MALFORMED = "request.mode_malformed"
    REQUEST_MESSAGE_MISSING = "request.message_missing"
    REQUEST_MESSAGE_TOO_LONG = "request.message_too_long"
    TEXT_HIDDEN_CHARACTERS = "text.hidden_characters"

    ROUTE_PURPOSE_NOT_SERVED = "route.purpose_not_served"
    ROUTE_SENSITIVE_IN_FORM = "route.sensitive_in_form"
    ROUTE_MODE_CONTRADICTS_PURPOSE = "route.mode_contradicts_purpose"

    FORM_SCHEMA_MISSING = "form.schema_missing"
    FORM_SCHEMA_MALFORMED = "form.schema_malformed"
    FORM_NESTED = "form.nested"
    FORM_ARRAY = "form.array"
    FORM_MULTI_SELECT = "form.multi_select"
    FORM_TYPE_UNKNOWN = "form.type_unknown"
    FORM_NULLABLE = "form.nullable"
    FORM_UNION = "form.union"
    FORM_KEYWORD_LOGIC = "form.keyword_logic"
    FORM_KEYWORD_UNKNOWN = "form.keyword_unknown"
    FORM_KEYWORD_VALUE = "form.keyword_value"
    FORM_DIALECT = "form.dialect"
    FORM_ADDITIONAL_PROPERTIES = "form.additional_properties"
    FORM_FORMAT = "form.format"
    FORM_PATTERN_NOT_IN_WIRE = "form.pattern_not_in_wire"
    FORM_PATTERN_UNSUPPORTED = "form.pattern_unsupported"
    FORM_BOUNDS = "form.bounds"
    FORM_CHOICES_MALFORMED = "form.choices_malformed"
    FORM_CHOICES_DUPLICATE = "form.choices_duplicate"
    FORM_CHOICES_NAMES = "form.choices_names"
    FORM_REQUIRED_UNKNOWN = "form.required_unknown"
    FORM_DEFAULT = "form.default"
    FORM_EMPTY = "form.empty"
    FORM_TOO_MANY_FIELDS = "form.too_many_fields"
    FORM_TOO_MANY_CHOICES = "form.too_many_choices"
    FORM_TEXT_TOO_LONG = "form.text_too_long"
    FORM_LINK = "form.link"
    FORM_LINK_FLAGGED = "form.link_flagged"
    FORM_CREDENTIAL_NAME = "form.credential_name"
    FORM_CREDENTIAL_TEXT = "form.credential_text"
    FORM_CREDENTIAL_MESSAGE = "form.credential_message"
    FORM_CREDENTIAL_FORMAT = "form.credential_format"
    FORM_CREDENTIAL_VALUE = "form.credential_value"

    URL_MISSING = "url.missing"
    URL_TOO_LONG = "url.too_long"
    URL_FORBIDDEN_CHARACTER = "url.forbidden_character"
    URL_MALFORMED = "url.malformed"
    URL_NOT_CANONICAL = "url.not_canonical"
    URL_SCHEME = "url.scheme"
    URL_USERINFO = "url.userinfo"
    URL_AUTHORITY_ESCAPE = "url.authority_escape"
    URL_TRAILING_DOT = "url.trailing_dot"
    URL_PUNYCODE = "url.punycode"
    URL_IP_LITERAL = "url.ip_literal"
    URL_ORIGIN_NOT_LISTED = "url.origin_not_listed"
    URL_PATH_NOT_LISTED = "url.path_not_listed"
    URL_PATH_ESCAPE = "url.path_escape"
    URL_QUERY_MALFORMED = "url.query_malformed"
    URL_PARAMETER_SECRET = "url.parameter_secret"  # noqa: S105 - a rule's code, not a secret
    URL_PARAMETER_NOT_LISTED = "url.parameter_not_listed"
    URL_PARAMETER_REPEATED = "url.parameter_repeated"
    URL_PARAMETER_BOUND = "url.parameter_bound"
    URL_PARAMETER_VALUE = "url.parameter_value"
    URL_VALUE_SECRET = "url.value_secret"  # noqa: S105 - a rule's code, not a secret
    URL_FRAGMENT = "url.fragment"
    DESTINATION_PURPOSE = "destination.purpose"
    DESTINATION_PROVIDER = "destination.provider"

    ID_MISSING = "id.missing"
    ID_MALFORMED = "id.malformed"
    ID_NOT_IN_WIRE = "id.not_in_wire"
    ID_TOO_SHORT = "id.too_short"
    ID_STRUCTURED = "id.structured"
    ID_SEQUENTIAL = "id.sequential"
    ID_PERSONAL = "id.personal"
    ID_TOKEN = "id.token"  # noqa: S105 - a rule's code, not a secret
    ID_FOREIGN = "id.foreign"
    ID_REPEATED = "id.repeated"

    WINDOW_OUT_OF_RANGE = "window.out_of_range"

    LIMIT_PENDING_PER_SUBJECT = "limit.pending_per_subject"
    LIMIT_ASKS_PER_SUBJECT = "limit.asks_per_subject"
    LIMIT_ASKS_PER_SERVICE = "limit.asks_per_service"

    ANSWER_MALFORMED = "answer.malformed"
    ANSWER_CONTENT_MISSING = "answer.content_missing"
    ANSWER_CONTENT_ON_URL = "answer.content_on_url"
    ANSWER_CONTENT_STRIPPED = "answer.content_stripped"

    ERROR_MALFORMED = "error.malformed"
    ERROR_CODE = "error.code"
    ERROR_NOT_IN_WIRE = "error.not_in_wire"
    ERROR_LIST_MISSING = "error.list_missing"
    ERROR_ENTRY_MODE = "error.entry_mode"
    ERROR_FLAT = "error.flat"
    ERROR_FLAT_FLAGGED = "error.flat_flagged"


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """One rule of the catalogue. ``section`` is page and section of the protocol, empty for operator policy;
    ``requirements`` are the numbers of the requirements that it serves; ``denies`` is false for a mere flag."""

    rule: Rule
    title: str
    sources: tuple[Source, ...]
    section: str
    requirements: tuple[str, ...]
    advice: str
    denies: bool = True

    @property
    def source_text(self) -> str:
        """The source as a person reads it: ``spec:2025-11-25 client/elicitation#capabilities``, or ``operator``."""
        return " ".join(part for part in (", ".join(self.sources), self.section) if part)
