"""Policy revisions: which one is in force, and putting another in its place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.contrib.auth.models import User

from elicitation.models import PolicyRevision
from elicitation.policy.document import Document, parse


class NotActivated(Exception):
    """Another revision came into force meanwhile."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A revision with its document parsed."""

    row: PolicyRevision
    document: Document

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def digest(self) -> str:
        return self.row.digest


@lru_cache(maxsize=8)
def _parsed(digest: str, text: str) -> Document:  # the digest makes the key cheap to tell apart
    return parse(text)


def in_force(row: PolicyRevision) -> InForce:
    """``row`` with its document parsed."""
    return InForce(row, _parsed(row.digest, row.document))


def active() -> InForce:
    """The revision in force. Read anew each time: an activation is felt by the next call in every process."""
    return in_force(PolicyRevision.objects.get(status=PolicyRevision.Status.ACTIVE))


def numbered(number: int) -> InForce | None:
    """The revision with this number, in force or not."""
    row = PolicyRevision.objects.filter(number=number).first()
    return None if row is None else in_force(row)


def put_in_force(
    present: PolicyRevision,
    document: Document,
    *,
    cases: str,
    activated_by: User | None,
    approved_by: User | None,
    note: str,
    at: datetime,
) -> PolicyRevision:
    """Supersede ``present`` by a new revision. To be called in the transaction that records it.

    Raises ``NotActivated`` when another one came into force meanwhile.
    """
    standing = PolicyRevision.objects.filter(pk=present.pk, status=PolicyRevision.Status.ACTIVE)
    if not standing.update(status=PolicyRevision.Status.SUPERSEDED):
        raise NotActivated
    return PolicyRevision.objects.create(
        number=present.number + 1,
        document=document.canonical().decode(),
        digest=document.digest,
        cases=cases,
        status=PolicyRevision.Status.ACTIVE,
        activated_at=at,
        activated_by=activated_by,
        approved_by=approved_by,
        note=note,
    )
