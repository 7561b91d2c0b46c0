"""The rules about URLs and destinations."""

from __future__ import annotations

from typing import Final

from elicitation.policy.codes import Rule, RuleEntry
from elicitation.policy.entries import SAFE_URL, URL_MODE, local, spec

URLS: Final[tuple[RuleEntry, ...]] = (
    spec(Rule.URL_MISSING, URL_MODE, "R15", "A url request needs a URL", "Send the URL as a string."),
    local(Rule.URL_TOO_LONG, "The URL is too long", "Send a shorter URL, or have the policy's length raised."),
    local(
        Rule.URL_FORBIDDEN_CHARACTER,
        "The URL carries a forbidden character",
        "Send printable ASCII without white space and backslashes.",
        needs="R16",
    ),
    spec(Rule.URL_MALFORMED, URL_MODE, "R16", "The URL is not valid", "Send an absolute URL."),
    local(
        Rule.URL_NOT_CANONICAL,
        "A browser would rewrite the URL",
        "Send the URL as a browser serialises it.",
        needs="R16",
    ),
    local(Rule.URL_SCHEME, "The scheme is not https", "Send an https URL.", needs="R56"),
    local(Rule.URL_USERINFO, "The URL carries userinfo", "Leave user name and password out.", needs="R54 R55"),
    local(Rule.URL_AUTHORITY_ESCAPE, "The host is percent-escaped", "Write the host in plain letters."),
    local(Rule.URL_TRAILING_DOT, "The host ends with a dot", "Write the host without the dot."),
    local(
        Rule.URL_PUNYCODE,
        "An internationalised host is not listed",
        "Use a host that the policy lists.",
        needs="R60",
    ),
    local(Rule.URL_IP_LITERAL, "An address in place of a host name is not listed", "Use a host that is listed."),
    local(
        Rule.URL_ORIGIN_NOT_LISTED,
        "The origin is not on the allowlist of this service",
        "Have the policy owner add the destination; there is no wildcard.",
    ),
    local(Rule.URL_PATH_NOT_LISTED, "The path is outside the destination's", "Use a path that is listed."),
    local(
        Rule.URL_PATH_ESCAPE,
        "The path hides dots, slashes or control characters",
        "Write the path plainly.",
    ),
    local(
        Rule.URL_QUERY_MALFORMED,
        "The query cannot be read in one way only",
        "Send name=value pairs joined by &, encoded once, without semicolons and brackets.",
    ),
    spec(
        Rule.URL_PARAMETER_SECRET,
        SAFE_URL,
        "R54 R55",
        "A parameter's name says that it carries a secret",
        "Leave the secret out of the URL; keep it at the service and look it up by the elicitation's id.",
    ),
    local(Rule.URL_PARAMETER_NOT_LISTED, "The parameter is not listed", "Send only listed parameters."),
    local(Rule.URL_PARAMETER_REPEATED, "The parameter is repeated", "Send each parameter once."),
    local(
        Rule.URL_PARAMETER_BOUND,
        "The parameter is bound to the elicitation's id",
        "Leave it out: the desk writes the id into it.",
        needs="R47 R52",
    ),
    local(
        Rule.URL_PARAMETER_VALUE,
        "The parameter's value does not fit its pattern",
        "Send a value that the destination's pattern admits.",
    ),
    spec(
        Rule.URL_VALUE_SECRET,
        SAFE_URL,
        "R54 R55",
        "A part of the URL has the shape of a secret or of personal data",
        "Leave it out of the URL; keep it at the service and look it up by the elicitation's id.",
    ),
    local(Rule.URL_FRAGMENT, "The URL carries a fragment", "Leave the fragment out."),
    local(
        Rule.DESTINATION_PURPOSE,
        "The destination does not serve this purpose",
        "Name the purpose that the destination is listed for.",
    ),
    local(
        Rule.DESTINATION_PROVIDER,
        "The destination's provider is not open to this tenant, so nobody could confirm the work",
        "Have the operator open the provider that the destination names.",
    ),
)
