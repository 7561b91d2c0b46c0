"""The page of a draft: what it changes, whether it passes, whom it touches, who said yes, and what is in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Final

from django.contrib.auth.models import User
from django.utils.safestring import SafeString

from elicitation.admin import policy_words, rules
from elicitation.drill.runner import CaseError, CaseResult
from elicitation.models import Decision, PolicyDraft, PolicyRevision, Provider, Service
from elicitation.policy.document import Document, DocumentError, parse
from elicitation.policy.rules import Rule, entry
from elicitation.services import drafts, replays, revisions
from elicitation.services.drafts import SENTENCES, Drilled, Obstacle
from elicitation.services.replays import ChangedVerdict, Replayed, Touched

TOUCHED_SHOWN: Final = 50
CHANGED_SHOWN: Final = 200
MOST_DAYS: Final = 90


@dataclass(frozen=True, slots=True)
class Case:
    """One case of the drill or of the policy's own."""

    result: CaseResult
    of: str


@dataclass(frozen=True, slots=True)
class Approval:
    by: str
    at: datetime
    stands: bool


@dataclass(slots=True)
class Page:
    """``invalid`` says what is wrong with a document that rules of today refuse; nothing else is known then."""

    draft: PolicyDraft
    editors: list[str]
    against: PolicyRevision
    approvals: list[Approval]
    invalid: str = ""
    lines: list[policy_words.Line] = field(default_factory=list)
    same_content: bool = False
    doubts: list[str] = field(default_factory=list)
    drilled: Drilled | None = None
    touched: list[tuple[Touched, SafeString, str]] = field(default_factory=list)
    touched_count: int = 0
    in_the_way: list[str] = field(default_factory=list)
    own: bool = False
    approved_by_me: bool = False

    @property
    def open(self) -> bool:
        return self.draft.status == PolicyDraft.Status.OPEN

    @property
    def base_changed(self) -> bool:
        return self.open and self.against.pk != self.draft.base_id

    @property
    def red(self) -> list[Case]:
        return [case for case in self._cases() if not case.result.match]

    @property
    def green(self) -> list[Case]:
        return [case for case in self._cases() if case.result.match]

    def _cases(self) -> Iterator[Case]:
        if self.drilled is not None:
            yield from (Case(result, "drill") for result in self.drilled.drill.cases)
            yield from (Case(result, "own") for result in self.drilled.own.cases)


def page(draft: PolicyDraft, reader: User) -> Page:
    """All that is known of ``draft``, for ``reader``. A closed one is held against the revision that it began from."""
    editors = {person.pk: person.get_username() for person in draft.editors.order_by("pk")}
    still_open = draft.status == PolicyDraft.Status.OPEN
    row = PolicyRevision.objects.get(status=PolicyRevision.Status.ACTIVE) if still_open else draft.base
    found = Page(
        draft,
        list(editors.values()),
        row,
        approvals=[
            Approval(each.by.get_username(), each.at, each.digest == draft.digest and each.by_id not in editors)
            for each in draft.approvals.select_related("by").order_by("pk")
        ],
        own=reader.pk in editors,
        approved_by_me=draft.approvals.filter(digest=draft.digest, by=reader).exists(),
    )
    try:
        document, against = parse(draft.document), revisions.in_force(row).document
        found.lines = policy_words.changes(against, document, row.cases, draft.cases)
        found.same_content = document.digest == row.digest and draft.cases == row.cases
        if still_open:
            found.doubts = list(doubts(document))
            found.drilled = drafts.drilled(document, draft.cases, draft.base.number + 1)
            _touch(found, document)
    except (DocumentError, CaseError) as problem:
        found.invalid = str(problem)
    found.in_the_way = list(_in_the_way(found))
    return found


def _touch(found: Page, document: Document) -> None:
    each = replays.touched(document)
    shown = [(one, rules.link(one.rule), entry(one.rule).title) for one in islice(each, TOUCHED_SHOWN)]
    found.touched, found.touched_count = shown, len(shown) + sum(1 for _ in each)


def _in_the_way(found: Page) -> Iterator[str]:
    """What the service would refuse an activation for, as things stand."""
    if not found.open:
        yield SENTENCES[Obstacle.DRAFT_CLOSED]
        return
    if found.invalid:
        yield "The document is not valid."
    if found.own:
        yield SENTENCES[Obstacle.SAME_PERSON]
    if not any(approval.stands for approval in found.approvals):
        yield SENTENCES[Obstacle.NOT_APPROVED]
    if found.drilled is not None and not found.drilled.passed:
        yield SENTENCES[Obstacle.RED_DRILL]
    if found.base_changed:
        yield SENTENCES[Obstacle.BASE_CHANGED]


def doubts(document: Document) -> Iterator[str]:
    """Slugs in the document that are nobody's here: valid, and perhaps a slip of the pen."""
    services = set(Service.objects.filter(closed_at=None).values_list("tenant__slug", "slug"))
    providers = dict(Provider.objects.filter(closed_at=None).values_list("slug", "tenant__slug"))
    tenants = {tenant for tenant, _ in services}
    for destination in document.destinations:
        at = destination.origin
        for tenant in destination.tenants:
            if tenant not in tenants:
                yield f"{at}: no open tenant {tenant} with a service."
        for service in destination.services:
            if not any((tenant, service) in services for tenant in destination.tenants):
                yield f"{at}: no open service {service} of its tenants."
        if destination.provider not in providers:
            yield f"{at}: no open provider {destination.provider}."
        elif providers[destination.provider] not in destination.tenants:
            yield f"{at}: the provider {destination.provider} belongs to none of its tenants."


@dataclass(frozen=True, slots=True)
class Row:
    """A changed verdict with the number of its decision, which leads to its page."""

    changed: ChangedVerdict
    decision: int | None
    rule: SafeString
    title: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay as the page shows it: all counts, and the first of the changed verdicts."""

    days: int
    result: Replayed
    rows: list[Row]
    by_rule: list[tuple[SafeString, str, int]]
    untold: list[tuple[SafeString, str, int]]

    @property
    def not_replayable(self) -> int:
        return sum(self.result.not_replayable.values())


def replay(document: Document, days: int) -> Replay:
    """Replay the decisions of the last ``days`` under ``document``."""
    result = replays.replay_days(document, days)
    shown = result.changed[:CHANGED_SHOWN]
    found = Decision.objects.filter(uid__in=[each.decision for each in shown])
    numbers = dict(found.values_list("uid", "pk"))
    return Replay(
        days,
        result,
        [Row(each, numbers.get(each.decision), rules.link(each.rule), _title(each.rule)) for each in shown],
        _counted(Counter(each.rule for each in result.changed)),
        _counted(result.not_replayable),
    )


def _counted(by: Counter[str]) -> list[tuple[SafeString, str, int]]:
    return [(rules.link(rule), _title(rule), count) for rule, count in by.most_common()]


def _title(rule: str) -> str:
    return entry(Rule(rule)).title
