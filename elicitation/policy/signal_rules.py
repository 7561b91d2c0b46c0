"""When something is worth a person's attention: the thresholds of the policy document (operator policy)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from elicitation.policy.reader import Section

_DAY: Final = 86400


@dataclass(frozen=True, slots=True)
class CountSignal:
    """Raised by ``count`` events within ``seconds``."""

    count: int
    seconds: int


@dataclass(frozen=True, slots=True)
class RateSignal:
    """Raised by a share of at least ``ratio`` among at least ``minimum`` events within ``seconds``."""

    ratio: float
    minimum: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Signals:
    """When something is worth a person's attention. ``late_sweep_seconds``: a sweep that was silent for longer."""

    wrong_user: CountSignal
    lost_rate: RateSignal
    credential_forms: CountSignal
    lookalike_origins: CountSignal
    bad_signatures: CountSignal
    auto_answers: RateSignal
    late_sweep_seconds: int


DEFAULT: Final = Signals(
    wrong_user=CountSignal(count=3, seconds=600),
    lost_rate=RateSignal(ratio=0.1, minimum=20, seconds=3600),
    credential_forms=CountSignal(count=5, seconds=3600),
    lookalike_origins=CountSignal(count=3, seconds=3600),
    bad_signatures=CountSignal(count=20, seconds=3600),
    auto_answers=RateSignal(ratio=0.2, minimum=20, seconds=3600),
    late_sweep_seconds=60,
)


def read(section: Section) -> Signals:
    """The section of a document; one from before a signal existed does not name it, and gets its default.

    Raises ``DocumentError``.
    """
    usual = DEFAULT
    signals = Signals(
        wrong_user=_count_signal(section, "wrong_user", usual.wrong_user),
        lost_rate=_rate_signal(section, "lost_rate", usual.lost_rate),
        credential_forms=_count_signal(section, "credential_forms", usual.credential_forms),
        lookalike_origins=_count_signal(section, "lookalike_origins", usual.lookalike_origins),
        bad_signatures=_count_signal(section, "bad_signatures", usual.bad_signatures),
        auto_answers=_rate_signal(section, "auto_answers", usual.auto_answers),
        late_sweep_seconds=section.integer("late_sweep_seconds", 15, _DAY)
        if section.has("late_sweep_seconds")
        else usual.late_sweep_seconds,
    )
    section.done()
    return signals


def _count_signal(section: Section, name: str, usual: CountSignal) -> CountSignal:
    if not section.has(name):
        return usual
    one = section.section(name)
    signal = CountSignal(one.integer("count", 1, 10_000), one.integer("seconds", 1, _DAY))
    one.done()
    return signal


def _rate_signal(section: Section, name: str, usual: RateSignal) -> RateSignal:
    if not section.has(name):
        return usual
    one = section.section(name)
    signal = RateSignal(one.number("ratio", 0, 1), one.integer("minimum", 1, 100_000), one.integer("seconds", 1, _DAY))
    one.done()
    return signal
