"""What the client declared for this very request: form, url, nothing, or something that is no declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Mode


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration as three bits; a malformed one declares nothing."""

    form: bool = False
    url: bool = False
    malformed: bool = False
    present: bool = False

    def negotiated(self, mode: Mode) -> bool:
        match mode:
            case Mode.FORM:
                return self.form
            case Mode.URL:
                return self.url

    def problem(self, mode: Mode | None) -> Rule | None:
        """The rule that denies ``mode``; without a mode, only whether there is a declaration at all."""
        if self.malformed:
            return Rule.CAPABILITY_MALFORMED
        if not self.present:
            return Rule.CAPABILITY_MISSING
        if mode is not None and not self.negotiated(mode):
            return Rule.CAPABILITY_MODE_UNDECLARED
        return None


_FORM: Final = str(Mode.FORM)
_URL: Final = str(Mode.URL)
_MALFORMED: Final = Declared(malformed=True, present=True)


def read(capabilities: object) -> Declared:
    """Read ``elicitation`` from the client's capabilities. ``{}`` means form only; an object that names neither
    mode declares neither (2025-11-25 and 2026-07-28, client/elicitation, Capabilities; R1 to R4)."""
    # Here and below: a dict is what a request nearly always has, and it is told faster than any Mapping.
    if not isinstance(capabilities, (dict, Mapping)):
        return _MALFORMED
    if "elicitation" not in capabilities:
        return Declared()
    elicitation = capabilities["elicitation"]
    if not isinstance(elicitation, (dict, Mapping)):
        return _MALFORMED
    form, url = _FORM in elicitation, _URL in elicitation
    if form and not isinstance(elicitation[_FORM], (dict, Mapping)):
        return _MALFORMED
    if url and not isinstance(elicitation[_URL], (dict, Mapping)):
        return _MALFORMED
    return Declared(form=form or not elicitation, url=url, present=True)
