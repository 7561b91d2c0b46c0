"""The life of a draft: made, edited, approved by somebody else, activated as a new revision, or discarded.

Every attempt to approve or activate is on the ledger, whatever comes of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F

from audit.ledger import SYSTEM_TENANT, Entry, append
from audit.signals import raise_signal
from elicitation.drill.cases import CaseError, read_cases
from elicitation.drill.runner import Fixture, Report, load_cases, run
from elicitation.models import PolicyApproval, PolicyDraft, PolicyRevision
from elicitation.policy.canonical import canonical, digest
from elicitation.policy.document import Document, DocumentError, parse
from elicitation.policy.reader import load
from elicitation.services import actors, clock, revisions
from elicitation.services.actors import Actor
from elicitation.services.revisions import InForce

TITLE_LENGTH: Final = 200
NO_CASES: Final = "[]"


class Obstacle(StrEnum):
    """Why a draft was not approved or activated."""

    SAME_PERSON = "same_person"
    NOT_APPROVED = "not_approved"
    BASE_CHANGED = "base_changed"
    DRAFT_CHANGED = "draft_changed"
    DRAFT_CLOSED = "draft_closed"
    RED_DRILL = "red_drill"


SENTENCES: Final[dict[Obstacle, str]] = {
    Obstacle.SAME_PERSON: "Whoever edited the draft cannot approve or activate it.",
    Obstacle.NOT_APPROVED: "Nobody else has approved the draft as it stands now.",
    Obstacle.BASE_CHANGED: "Another revision has come into force since the draft was begun; make a new draft from it.",
    Obstacle.DRAFT_CHANGED: "The draft was edited meanwhile; look at it again.",
    Obstacle.DRAFT_CLOSED: "The draft was activated or discarded already.",
    Obstacle.RED_DRILL: "Not all cases of the drill and of the policy match.",
}


class NotPossible(Exception):
    """The draft stays as it is, and why."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(SENTENCES[obstacle])
        self.obstacle = obstacle


@dataclass(frozen=True, slots=True)
class Drilled:
    """The 28 cases under the drill's overlay, and the policy's own without it."""

    drill: Report
    own: Report

    @property
    def passed(self) -> bool:
        return self.drill.passed and self.own.passed


def content_digest(document: Document, cases: str) -> str:
    """What an approval approves: the document and its cases together."""
    return digest([document.digest, json.loads(cases)])


def checked_cases(text: str) -> str:
    """A policy's own cases as canonical JSON. Raises ``CaseError``, which names the place."""
    try:
        value = load(text)
    except DocumentError as problem:
        raise CaseError(problem.at, problem.problem) from None
    if value != []:  # a policy need not have cases of its own
        read_cases(value)
    return canonical(value).decode()


def begin(title: str, base: InForce, document: Document, cases: str, by: User | None) -> PolicyDraft:
    """A new draft on ``base``, the revision in force."""
    with transaction.atomic():
        now = clock.now()
        draft = PolicyDraft.objects.create(
            title=title[:TITLE_LENGTH],
            document=document.canonical().decode(),
            cases=cases,
            digest=content_digest(document, cases),
            base=base.row,
            created_at=now,
            edited_at=now,
        )
        if by is not None:
            draft.editors.add(by)
        append(now, _entry(draft, "policy_drafted", by))
    return draft


def edit(draft: PolicyDraft, document: Document, cases: str, by: User | None) -> PolicyDraft:
    """Replace the content of an open draft as it was read; an edit voids every approval. Raises ``NotPossible``."""
    with transaction.atomic():
        now = clock.now()
        rows = PolicyDraft.objects.filter(pk=draft.pk, version=draft.version, status=PolicyDraft.Status.OPEN)
        changed = rows.update(
            document=document.canonical().decode(),
            cases=cases,
            digest=content_digest(document, cases),
            edited_at=now,
            version=F("version") + 1,
        )
        if not changed:
            raise NotPossible(_lost(draft))
        if by is not None:
            draft.editors.add(by)
        draft.refresh_from_db()
        append(now, _entry(draft, "policy_edited", by))
    return draft


def discard(draft: PolicyDraft, seen: str, by: User | None) -> None:
    """Close an open draft with the digest ``seen`` without activating it. Raises ``NotPossible``."""
    with transaction.atomic():
        now = clock.now()
        rows = PolicyDraft.objects.filter(pk=draft.pk, digest=seen, status=PolicyDraft.Status.OPEN)
        if not rows.update(status=PolicyDraft.Status.DISCARDED, version=F("version") + 1):
            raise NotPossible(_lost(draft))
        append(now, _entry(draft, "policy_discarded", by))


def drilled(document: Document, cases: str, number: int) -> Drilled:
    """Run the drill and the policy's own cases against ``document``."""
    value = json.loads(cases)
    own = Fixture(read_cases(value) if value else (), digest(value))
    return Drilled(run(document, number, load_cases()), run(document, number, own, overlay=False))


def approve(draft: PolicyDraft, seen: str, by: User) -> None:
    """Say yes to the content with the digest ``seen``. Raises ``NotPossible``, with the attempt on the ledger."""

    def obstacle(present: PolicyDraft) -> Obstacle | None:
        return _common_obstacle(present, seen, by)

    def proceed(present: PolicyDraft, now: datetime) -> None:
        PolicyApproval.objects.get_or_create(draft=present, digest=present.digest, by=by, defaults={"at": now})
        append(now, _entry(present, "policy_approved", by))

    _attempt(draft, by, obstacle, proceed)


def activate(draft: PolicyDraft, seen: str, by: User | None, *, alone: str = "") -> InForce:
    """Bring the draft's content with the digest ``seen`` into force as a new revision.

    With ``alone`` (a reason; ``by`` is ``None``: the machine's shell) nobody else's approval is asked for, and a signal
    is raised. Raises ``NotPossible``, with the attempt on the ledger.
    """
    result: list[InForce] = []
    document = parse(draft.document)
    report = drilled(document, draft.cases, draft.base.number + 1)

    def obstacle(present: PolicyDraft) -> Obstacle | None:
        found = _common_obstacle(present, seen, by)
        if found is None and not alone and not _approved(present):
            found = Obstacle.NOT_APPROVED
        if found is None and not report.passed:
            found = Obstacle.RED_DRILL
        if found is None and present.base.status != PolicyRevision.Status.ACTIVE:
            found = Obstacle.BASE_CHANGED
        return found

    def proceed(present: PolicyDraft, now: datetime) -> None:
        note = alone or present.title
        approver = present.approvals.filter(digest=present.digest).order_by("pk").first()
        row = revisions.put_in_force(
            present.base,
            document,
            cases=present.cases,
            activated_by=by,
            approved_by=approver.by if approver is not None and not alone else None,
            note=note,
            at=now,
        )
        PolicyDraft.objects.filter(pk=present.pk).update(
            status=PolicyDraft.Status.ACTIVATED, revision=row, version=F("version") + 1
        )
        append(
            now,
            _entry(present, "policy_activated", by, revision=row, reason_code="alone" if alone else ""),
        )
        if alone:
            raise_signal("activation_alone", SYSTEM_TENANT, f"revision-{row.number}", now)
        result.append(revisions.in_force(row))

    _attempt(draft, by, obstacle, proceed)
    return result[0]


def activate_alone(document: Document, reason: str) -> InForce:
    """Draft ``document`` with the cases in force and activate it at once, alone. Raises ``NotPossible``."""
    present = revisions.active()
    draft = begin(reason, present, document, present.row.cases, None)
    return activate(draft, draft.digest, None, alone=reason)


def roll_back(number: int, by: User | None) -> PolicyDraft | None:
    """A new draft with the content of an older revision; ``None`` when there is no such revision."""
    old = revisions.numbered(number)
    if old is None:
        return None
    return begin(f"Back to revision {number}", revisions.active(), old.document, old.row.cases, by)


def _attempt(
    draft: PolicyDraft,
    by: User | None,
    obstacle: Callable[[PolicyDraft], Obstacle | None],
    proceed: Callable[[PolicyDraft, datetime], None],
) -> None:
    """Lock the draft, look for an obstacle, and go on or write down why not: the refusal is committed, then raised."""
    with transaction.atomic():
        present = PolicyDraft.objects.select_for_update(of=("self",)).select_related("base").get(pk=draft.pk)
        now = clock.now()
        found = obstacle(present)
        if found is None:
            try:
                with transaction.atomic():
                    proceed(present, now)
            except (revisions.NotActivated, IntegrityError):
                found = Obstacle.BASE_CHANGED  # another activation was first
        if found is not None:
            append(now, _entry(present, "policy_refused", by, outcome=found))
    if found is not None:
        raise NotPossible(found)


def _common_obstacle(present: PolicyDraft, seen: str, by: User | None) -> Obstacle | None:
    if present.status != PolicyDraft.Status.OPEN:
        return Obstacle.DRAFT_CLOSED
    if present.digest != seen:
        return Obstacle.DRAFT_CHANGED
    if by is not None and present.editors.filter(pk=by.pk).exists():
        return Obstacle.SAME_PERSON
    return None


def _approved(present: PolicyDraft) -> bool:
    """Somebody who never edited the draft said yes to exactly this content."""
    editors = present.editors.values("pk")
    return present.approvals.filter(digest=present.digest).exclude(by__in=editors).exists()


def _lost(draft: PolicyDraft) -> Obstacle:
    open_still = PolicyDraft.objects.filter(pk=draft.pk, status=PolicyDraft.Status.OPEN).exists()
    return Obstacle.DRAFT_CHANGED if open_still else Obstacle.DRAFT_CLOSED


def _actor(by: User | None, event: str) -> Actor:
    if by is None:
        return actors.shell()
    edits = event in ("policy_drafted", "policy_edited", "policy_discarded")
    return actors.policy_editor(by.pk) if edits else actors.policy_approver(by.pk)


def _entry(
    draft: PolicyDraft,
    event: str,
    by: User | None,
    *,
    revision: PolicyRevision | None = None,
    outcome: str = "",
    reason_code: str = "",
) -> Entry:
    actor = _actor(by, event)
    return Entry(
        tenant=SYSTEM_TENANT,
        event=event,
        actor_kind=actor.kind,
        actor_id=actor.id,
        role=actor.role,
        related_id=draft.uid,
        outcome=outcome,
        reason_code=reason_code,
        policy_revision=revision.number if revision else None,
        policy_digest=revision.digest if revision else draft.digest,
        admission_revision=draft.base.number,
    )
