"""What changed between two policy documents: by place, in a fixed order, lists of words as what came and went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """``at`` is a JSON pointer; ``before`` and ``after`` are JSON values, ``None`` where there is none."""

    at: str
    kind: Kind
    before: object
    after: object

    def as_json(self) -> dict[str, object]:
        return {"at": self.at, "kind": self.kind, "before": self.before, "after": self.after}


def difference(before: object, after: object, at: str = "") -> Iterator[Change]:
    """Every change that leads from ``before`` to ``after``, both JSON values as documents hold them."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            here = f"{at}/{_escaped(str(name))}"
            if name not in after:
                yield Change(here, Kind.REMOVED, before[name], None)
            elif name not in before:
                yield Change(here, Kind.ADDED, None, after[name])
            else:
                yield from difference(before[name], after[name], here)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, at)
    else:
        yield Change(at, Kind.CHANGED, before, after)


def _lists(before: list[object], after: list[object], at: str) -> Iterator[Change]:
    """Lists of words are sets to a reader; anything else is compared place by place."""
    if all(isinstance(item, str) for item in [*before, *after]):
        gone = [item for item in before if item not in after]
        new = [item for item in after if item not in before]
        yield from (Change(at, Kind.REMOVED, item, None) for item in gone)
        yield from (Change(at, Kind.ADDED, None, item) for item in new)
        if not gone and not new:
            yield Change(at, Kind.CHANGED, before, after)  # the order alone
        return
    for index in range(max(len(before), len(after))):
        here = f"{at}/{index}"
        if index >= len(after):
            yield Change(here, Kind.REMOVED, before[index], None)
        elif index >= len(before):
            yield Change(here, Kind.ADDED, None, after[index])
        else:
            yield from difference(before[index], after[index], here)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
