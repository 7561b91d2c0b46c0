"""What a bench is, and how one is measured: interleaved rounds, medians, a ratio and a goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import Final

#: Fewer rounds have no median worth the name.
FEWEST_ROUNDS: Final = 3
#: The unit of a time; any other is shown as it is.
SECONDS: Final = "s"


class CannotMeasure(Exception):
    """One sentence: what this machine lacks."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of a bench. ``measure`` and ``peer`` return so much of ``unit``; the peer is asked first. A limit is
    a peer that is a constant."""

    figure: str
    beside: str
    measure: Callable[[], float]
    peer: Callable[[], float] | float
    at_most: float
    unit: str = SECONDS

    def peer_value(self) -> float:
        return self.peer() if callable(self.peer) else self.peer


@dataclass(frozen=True, slots=True)
class Row:
    """A measured figure: medians in ``unit``, their ratio, and the ratio that was to be reached."""

    bench: str
    figure: str
    unit: str
    value: float
    beside: str
    peer_value: float
    ratio: float
    goal: float
    met: bool
    rounds: int


def readable(value: float, unit: str = SECONDS) -> str:
    """A measure with two decimals; a time in the unit that suits its size."""
    if unit != SECONDS:
        return f"{value:.2f} {unit}"
    for shown, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size / 10:
            return f"{value / size:.2f} {shown}"
    return f"{value * 1e6:.2f} µs"


#: A bench sets up what its comparisons share, and clears it away.
Bench = Callable[[], AbstractContextManager[Sequence[Comparison]]]


def measure(name: str, bench: Bench, rounds: int) -> Iterator[Row | str]:
    """Yields a sentence for each measurement as it is made, then the rows. Raises ``CannotMeasure``."""
    with bench() as comparisons:
        ours: dict[str, list[float]] = {each.figure: [] for each in comparisons}
        peers: dict[str, list[float]] = {each.figure: [] for each in comparisons}
        for number in range(1, rounds + 1):
            for each in comparisons:
                peers[each.figure].append(each.peer_value())
                ours[each.figure].append(each.measure())
                yield (
                    f"{name}, round {number} of {rounds}: {each.figure} "
                    f"{readable(ours[each.figure][-1], each.unit)}, "
                    f"{each.beside} {readable(peers[each.figure][-1], each.unit)}"
                )
        for each in comparisons:
            value, peer = median(ours[each.figure]), median(peers[each.figure])
            ratio = value / peer
            met = ratio <= each.at_most
            yield Row(name, each.figure, each.unit, value, each.beside, peer, ratio, each.at_most, met, rounds)
