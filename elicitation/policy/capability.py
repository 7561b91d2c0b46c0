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


_MALFORMED: Final = Declared(malformed=True, present=True)


def read(capabilities: object) -> Declared:
    """Read ``elicitation`` from the client's capabilities. ``{}`` means form only; an object that names neither
    mode declares neither (2025-11-25 and 2026-07-28, client/elicitation, Capabilities; R1 to R4)."""
    if not isinstance(capabilities, Mapping):
        return _MALFORMED
    if "elicitation" not in capabilities:
        return Declared()
    elicitation = capabilities["elicitation"]
    if not isinstance(elicitation, Mapping):
        return _MALFORMED
    for mode in Mode:
        if mode in elicitation and not isinstance(elicitation[mode], Mapping):
            return _MALFORMED
    form = not elicitation or Mode.FORM in elicitation
    return Declared(form=form, url=Mode.URL in elicitation, present=True)
