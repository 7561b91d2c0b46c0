"""Which leaves of a log an export shows; the others are left out, told by their hashes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection

from audit.models import Export


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is asked for, each part optional: nothing asked means the whole log.

    ``since`` is included, ``until`` is not, both aware. ``from_size`` leaves out what an earlier checkpoint of that
    size already covers.
    """

    since: datetime | None = None
    until: datetime | None = None
    from_size: int | None = None
    event: str = ""
    elicitation_id: UUID | None = None
    policy_revision: int | None = None

    @classmethod
    def of(cls, export: Export) -> Selection:
        """The selection that an export was made with."""
        return cls(
            since=export.since,
            until=export.until,
            from_size=export.from_size,
            event=export.event,
            elicitation_id=export.elicitation_id,
            policy_revision=export.policy_revision,
        )

    @property
    def by_entry(self) -> bool:
        """Whether each entry has to be looked at: a selection by more than its place."""
        return any((self.since, self.until, self.event, self.elicitation_id, self.policy_revision is not None))

    def columns(self) -> dict[str, Any]:
        """What is given, by the names of the export's columns."""
        given = {
            "since": self.since,
            "until": self.until,
            "from_size": self.from_size,
            "event": self.event or None,
            "elicitation_id": self.elicitation_id,
            "policy_revision": self.policy_revision,
        }
        return {name: value for name, value in given.items() if value is not None}

    def as_json(self) -> dict[str, object]:
        """What is given, as the manifest says it."""
        return {name: _spelled(value) for name, value in self.columns().items()}

    def where(self) -> tuple[str, list[Any]]:
        """SQL over the entry ``e``, and its parameters; for a selection ``by_entry``."""
        fits = connection.ops.adapt_datetimefield_value
        given: list[tuple[str, Any]] = [
            ("e.at >= %s", self.since and fits(self.since)),
            ("e.at < %s", self.until and fits(self.until)),
            ("e.event = %s", self.event or None),
            ("e.elicitation_id = %s", self.elicitation_id and _uuid(self.elicitation_id)),
            ("e.policy_revision = %s", self.policy_revision),
        ]
        said = [(condition, value) for condition, value in given if value is not None]
        return " AND ".join(condition for condition, _ in said), [value for _, value in said]


def _spelled(value: object) -> object:
    match value:
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
        case UUID():
            return str(value)
        case _:
            return value


def _uuid(uid: UUID) -> UUID | str:
    return uid if connection.features.has_native_uuid_field else uid.hex
