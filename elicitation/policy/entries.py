"""How an entry of the rule catalogue is written: by the protocol, or by the operator; and the protocol's sections."""

from __future__ import annotations

from typing import Final

from elicitation.policy.codes import Rule, RuleEntry, Source

PAGE: Final = "client/elicitation"
CAPABILITIES: Final = f"{PAGE}#capabilities"
REQUESTS: Final = f"{PAGE}#creating-elicitation-requests"
SCHEMA: Final = f"{PAGE}#requested-schema"
SENSITIVE: Final = f"{PAGE}#form-mode-security"
URL_MODE: Final = f"{PAGE}#url-mode-elicitation-requests"
SAFE_URL: Final = f"{PAGE}#safe-url-handling"
REQUIRED_ERROR: Final = f"{PAGE}#url-elicitation-required-error"
ACTIONS: Final = f"{PAGE}#response-actions"

BOTH: Final = (Source.SPEC_2025_11_25, Source.SPEC_2026_07_28)
OLD: Final = (Source.SPEC_2025_11_25,)
NEW: Final = (Source.SPEC_2026_07_28,)


def spec(
    rule: Rule,
    section: str,
    needs: str,
    title: str,
    advice: str,
    *,
    sources: tuple[Source, ...] = BOTH,
    denies: bool = True,
) -> RuleEntry:
    """A rule that the protocol demands, with its page and section and the numbers of its requirements."""
    return RuleEntry(rule, title, sources, section, tuple(needs.split()), advice, denies)


def local(rule: Rule, title: str, advice: str, *, needs: str = "", denies: bool = True) -> RuleEntry:
    """A rule of the operator's choice; ``needs`` are requirements that it goes beyond or helps to meet."""
    return RuleEntry(rule, title, (Source.OPERATOR,), "", tuple(needs.split()), advice, denies)
