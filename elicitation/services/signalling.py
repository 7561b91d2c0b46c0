"""The rules of signals: events that the database holds, counted over a window and held against the policy's thresholds.

A window is half open: what happened exactly its length ago is outside. Events up to the last one that a resolved signal
told of count no more. Nothing is remembered between two looks but the signals themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from audit.ledger import SYSTEM_TENANT
from audit.signals import About, Observed, observe, observe_again, told_until
from elicitation.models import Heartbeat
from elicitation.policy.signal_rules import CountSignal, RateSignal, Signals
from elicitation.services import tallying
from elicitation.services.tallying import Since, Tally

#: The sweep that raises signals, and so can tell of the others only while it runs itself.
OWN: Final = "signals"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Watch:
    """One rule: what it counts since a moment, and when that is worth a signal."""

    rule: str
    threshold: CountSignal | RateSignal
    tallies: Callable[[Since], Mapping[About, Tally]]


def watches(signals: Signals) -> list[Watch]:
    """Every rule that has a window, under the thresholds of the policy."""
    return [
        Watch("wrong_user_entry", signals.wrong_user, tallying.wrong_users_of_entries),
        Watch("wrong_user_person", signals.wrong_user, tallying.wrong_users_of_people),
        Watch("wrong_tenant", signals.wrong_user, tallying.wrong_tenants),
        Watch("lost_rate", signals.lost_rate, tallying.lost),
        Watch("credential_forms", signals.credential_forms, tallying.credential_forms),
        Watch("lookalike_origins", signals.lookalike_origins, tallying.lookalike_origins),
        Watch("bad_signatures", signals.bad_signatures, tallying.bad_signatures),
        Watch("auto_answers", signals.auto_answers, tallying.auto_answers),
    ]


def judge(signals: Signals, at: datetime) -> int:
    """Raise what is to be raised at ``at``. A rule that fails is logged and stops no other. Returns how many signals
    were opened."""
    opened = 0
    for watch in watches(signals):
        try:
            opened += _judge(watch, at)
        except Exception:
            logger.exception("a rule of signals could not be judged", extra={"rule": watch.rule})
    return opened + late_sweeps(timedelta(seconds=signals.late_sweep_seconds), at)


def late_sweeps(allowed: timedelta, at: datetime) -> int:
    """One event for each silence of a sweep that is longer than ``allowed``. Returns how many signals were opened.

    When this sweep was silent itself, the whole schedule stood still: that is told once, and the others are judged at
    the next look, when they have had their turn.
    """
    beats = dict(Heartbeat.objects.filter(at__lt=at - allowed).values_list("name", "at"))
    if OWN in beats:
        beats = {OWN: beats[OWN]}
    opened = 0
    for name, last in sorted(beats.items()):
        about = About(SYSTEM_TENANT, name)
        told = told_until("late_sweep", last).get(about)
        if told is None:
            opened += observe_again("late_sweep", about, last, at)
    return opened


def reached(threshold: CountSignal | RateSignal, tally: Tally) -> bool:
    """At the threshold is enough; a share of nothing is none."""
    match threshold:
        case CountSignal():
            return tally.count >= threshold.count
        case RateSignal():
            enough = tally.count > 0 and tally.of >= threshold.minimum
            return enough and tally.count / tally.of >= threshold.ratio


def _judge(watch: Watch, at: datetime) -> int:
    since = at - timedelta(seconds=watch.threshold.seconds)
    found = {about: tally for about, tally in watch.tallies(Since(since)).items() if reached(watch.threshold, tally)}
    told = told_until(watch.rule, since) if found else {}
    opened = 0
    for about, tally in found.items():
        left: Tally | None = tally
        if about in told:
            left = watch.tallies(Since(told[about], told=True)).get(about)
        if left is not None and reached(watch.threshold, left):
            opened += observe(watch.rule, about, Observed(left.count, left.first_at, left.last_at), at)
    return opened
