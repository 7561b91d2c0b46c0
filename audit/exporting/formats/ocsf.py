"""OCSF 1.8 as JSON Lines: each entry is an Entity Management event (class 3004), its line in ``raw_data``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, Final

from audit.exporting.formats.rendering import Rendering, plain, revisions_of, stretch_json
from audit.exporting.walk import Step
from audit.verify import Format, Stretch

VERSION: Final = "1.8.0"
_CATEGORY: Final = 3
_CLASS: Final = 3004
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Activity(IntEnum):
    """What happened to the entity, in the words of the class."""

    CREATE = 1
    READ = 2
    UPDATE = 3
    DELETE = 4
    ACTIVATE = 10


class _Severity(IntEnum):
    INFORMATIONAL = 1
    LOW = 2


class _Status(IntEnum):
    SUCCESS = 1
    FAILURE = 2


#: The activity of an event; those of an elicitation's life, and whatever is not named here, update something.
ACTIVITIES: Final[dict[str, Activity]] = {
    "admit": Activity.CREATE,
    "policy_drafted": Activity.CREATE,
    "tenant_opened": Activity.CREATE,
    "service_opened": Activity.CREATE,
    "provider_opened": Activity.CREATE,
    "honour_proposed": Activity.CREATE,
    "key_created": Activity.CREATE,
    "staff_opened": Activity.CREATE,
    "role_granted": Activity.CREATE,
    "seat_bound": Activity.CREATE,
    "hold_placed": Activity.CREATE,
    "lookup": Activity.READ,
    "looked_up": Activity.READ,
    "exported": Activity.READ,
    "evidence_packed": Activity.READ,
    "value_asked": Activity.READ,
    "policy_discarded": Activity.DELETE,
    "honour_withdrawn": Activity.DELETE,
    "key_revoked": Activity.DELETE,
    "staff_closed": Activity.DELETE,
    "role_withdrawn": Activity.DELETE,
    "seat_unbound": Activity.DELETE,
    "hold_lifted": Activity.DELETE,
    "pruned": Activity.DELETE,
    "policy_activated": Activity.ACTIVATE,
}
_REFUSALS: Final = frozenset({"refused", "refused_again", "policy_refused"})
#: Actors that are programs; the others are people, or nobody knows.
_PROGRAMS: Final = frozenset({"service", "provider", "policy", "scheduler"})


class Ocsf(Rendering):
    """``digest`` is over all bytes before the last record."""

    format = Format.OCSF

    def opening(self) -> bytes:
        return b""

    def step(self, step: Step) -> bytes:
        self._take(step.rows)
        events = [self._event(line) for line in step.rows]
        if step.left_out:
            events[0]["unmapped"] = {"left_out": stretch_json(step.left_out)}
        return self._kept(b"\n".join([*map(plain, events), b""]))

    def ending(self, made_at: str) -> bytes:
        event = _event(
            Activity.READ,
            at=made_at,
            failed=False,
            metadata=self._metadata("exported"),
            entity={"type": "Ledger", "uid": self.head.origin},
        )
        return plain(event)[:-1] + b',"unmapped":{"manifest":'

    def closing(self, sealed: dict[str, object], left_out: Stretch | None) -> bytes:
        manifest: Any = sealed["manifest"]
        told = b',"left_out":' + plain(stretch_json(left_out)) if left_out else b""
        return self.ending(manifest["made_at"]) + plain(sealed) + told + b"}}\n"

    def again(self, written: Iterable[bytes]) -> None:
        for line in written:
            self._take([json.loads(self._kept(line))["raw_data"].encode()])

    def _take(self, lines: list[bytes]) -> None:
        self.counted(lines)
        self.revisions |= revisions_of(lines)

    def _kept(self, data: bytes) -> bytes:
        self.digest.update(data)
        return data

    def _event(self, line: bytes) -> dict[str, Any]:
        said = _members(line)
        event, outcome = said.get("event", ""), said.get("outcome", "")
        metadata = self._metadata(event)
        if "index" in said:
            metadata["sequence"] = said["index"]
        if "elicitation_id" in said:
            metadata["correlation_uid"] = said["elicitation_id"]
        shown = _event(
            ACTIVITIES.get(event, Activity.UPDATE),
            at=said.get("at", ""),
            failed=event in _REFUSALS or outcome == "deny" or outcome.endswith("_denied"),
            metadata=metadata,
            entity=self._entity(event, said),
        )
        because = said.get("rule") or said.get("reason_code") or outcome
        return (
            shown | ({"status_code": because} if because else {}) | {"actor": _actor(said), "raw_data": line.decode()}
        )

    def _metadata(self, event: str) -> dict[str, Any]:
        return {
            "version": VERSION,
            "product": {"name": "Elicitation Desk"},
            "log_name": self.head.origin,
            "tenant_uid": self.head.tenant,
            "event_code": event,
        }

    def _entity(self, event: str, said: dict[str, Any]) -> dict[str, str]:
        """What the entry is about."""
        if "elicitation_id" in said:
            return {"type": "Elicitation", "uid": said["elicitation_id"]}
        if event.startswith("policy_") and "policy_revision" in said:
            return {"type": "Policy revision", "uid": str(said["policy_revision"])}
        for column in ("provider", "service"):
            if column in said:
                return {"type": column.capitalize(), "uid": said[column]}
        return {"type": "Tenant", "uid": self.head.tenant}


def _event(
    activity: Activity, *, at: str, failed: bool, metadata: dict[str, Any], entity: dict[str, str]
) -> dict[str, Any]:
    return {
        "category_uid": _CATEGORY,
        "class_uid": _CLASS,
        "class_name": "Entity Management",
        "activity_id": activity,
        "activity_name": activity.name.capitalize(),
        "type_uid": _CLASS * 100 + activity,
        "severity_id": _Severity.LOW if failed else _Severity.INFORMATIONAL,
        "status_id": _Status.FAILURE if failed else _Status.SUCCESS,
        "time": _milliseconds(at),
        "metadata": metadata,
        "entity": entity,
    }


def _actor(said: dict[str, Any]) -> dict[str, Any]:
    kind, name = said.get("actor_kind", "unknown"), said.get("actor_id")
    if kind in _PROGRAMS:
        return {"app_name": kind, **({"app_uid": name} if name else {})}
    return {"user": {"type": kind, "uid": name or kind}}


def _members(line: bytes) -> dict[str, Any]:
    """A line that somebody has tampered with may be no JSON. It is shown as it is, for the verifier to judge."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return {name: value for name, value in said.items() if isinstance(value, str | int)}


def _milliseconds(at: str) -> int:
    try:
        return (datetime.fromisoformat(at) - _EPOCH) // timedelta(milliseconds=1)
    except ValueError:
        return 0
