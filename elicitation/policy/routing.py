"""The purpose chooses the mode; a caller's mode is only held against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Mode, Purpose

if TYPE_CHECKING:
    from elicitation.policy.document import Document

#: Purposes whose answer grants access or authorizes a transaction: the protocol itself bans them from forms.
SENSITIVE: Final = frozenset({Purpose.CREDENTIAL, Purpose.PAYMENT, Purpose.THIRD_PARTY_AUTHORIZATION})
#: No policy can give these a form; the last one by the operator's choice.
URL_ONLY: Final = SENSITIVE | {Purpose.EXTERNAL_TRANSACTION}

REASONS: Final[dict[Purpose, str]] = {
    Purpose.CHOICE: "a choice among options",
    Purpose.CONFIRMATION: "a confirmation",
    Purpose.PARAMETER: "a parameter of the call",
    Purpose.PROFILE: "data about the person that is no secret",
    Purpose.CREDENTIAL: "a credential",
    Purpose.PAYMENT: "a payment",
    Purpose.THIRD_PARTY_AUTHORIZATION: "an authorization at a third party",
    Purpose.EXTERNAL_TRANSACTION: "a transaction at an outside service",
}


def route(purpose: Purpose, asked: Mode | None, document: Document) -> tuple[Mode | None, Rule | None]:
    """The mode to use, and the rule that denies the caller's one. ``None`` as the mode: the purpose is not served
    and nothing was asked. R11 reads an absent mode on the wire; here the desk writes the mode that it sends."""
    served = document.purposes.get(purpose)
    if served is None:
        return asked, Rule.ROUTE_PURPOSE_NOT_SERVED
    if asked is None or asked is served.mode:
        return served.mode, None
    if purpose in SENSITIVE:
        return asked, Rule.ROUTE_SENSITIVE_IN_FORM
    return asked, Rule.ROUTE_MODE_CONTRADICTS_PURPOSE
