"""What was kept of a request that was decided, and what can be said about it under another document."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from elicitation.policy.codes import Rule
from elicitation.policy.decision import IdClass, Mode, Purpose, Wire


class ReplayOutcome(StrEnum):
    ADMIT = "admit"
    DENY = "deny"
    NOT_REPLAYABLE = "not_replayable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a decision row keeps of a request. ``origin`` and ``path_prefix`` are empty where no destination was found;
    ``rules`` are all findings; names that were not kept are spelled ``#n``. Where the caller left the mode out
    (``mode_asked`` false), ``mode`` is the purpose's."""

    wire: Wire
    purpose: Purpose
    mode: Mode | None
    mode_asked: bool
    tenant: str
    service: str
    origin: str
    path_prefix: str
    parameter_names: tuple[str, ...]
    property_names: tuple[str, ...]
    keywords: tuple[str, ...]
    property_count: int
    choice_count: int
    text_bytes: int
    schema_bytes: int
    url_length: int
    id_class: IdClass
    asked_window: int | None
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``rule`` is the one that would deny, or the one that cannot be judged without the text; else ``None``."""

    outcome: ReplayOutcome
    rule: Rule | None


@dataclass(slots=True)
class Found:
    """What a replay is sure of, and what it cannot tell, each in the order in which it was found."""

    denied: list[Rule] = field(default_factory=list)
    unknown: list[Rule] = field(default_factory=list)

    def deny(self, rule: Rule, when: bool = True) -> None:
        if when:
            self.denied.append(rule)

    def wonder(self, rule: Rule, when: bool = True) -> None:
        if when:
            self.unknown.append(rule)
