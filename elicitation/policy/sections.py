"""The sections of a policy document as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from elicitation.policy.decision import Mode
from elicitation.policy.vocabulary import Matcher, matcher


class Links(StrEnum):
    """What happens to a link in a form's text."""

    DENY = "deny"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class PurposeRule:
    """How a purpose is asked for, and its own window in seconds, if it has one."""

    mode: Mode
    window_seconds: int | None


@dataclass(frozen=True, slots=True)
class Windows:
    """All in seconds: to answer and act, the longest such time, to find proof, and to read a result again."""

    default_seconds: int
    max_seconds: int
    retry_seconds: int
    replay_seconds: int


@dataclass(frozen=True, slots=True)
class Limits:
    """People who are asked too often say yes to everything."""

    pending_per_subject: int
    asks_per_subject_hour: int
    asks_per_service_hour: int


@dataclass(frozen=True, slots=True)
class Forms:
    """Bounds of a form; lengths in characters, ``max_bytes`` over the whole request in canonical bytes."""

    max_fields: int
    max_choices: int
    max_text: int
    max_message: int
    max_bytes: int
    max_depth: int
    multi_select: bool
    empty_confirmation: bool
    links: Links


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Terms that ask for a credential, and phrases in which they do not."""

    deny: tuple[str, ...]
    allow: tuple[str, ...]

    def matcher(self) -> Matcher:
        return matcher(self.deny, self.allow)


@dataclass(frozen=True, slots=True)
class Urls:
    max_length: int


@dataclass(frozen=True, slots=True)
class Identifiers:
    min_length: int


@dataclass(frozen=True, slots=True)
class Legacy:
    flat_url_required_error: bool
