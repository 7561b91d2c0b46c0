"""What the rules of signals count: one bounded query or two for each, by what the events are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from audit.ledger import SYSTEM_TENANT
from audit.signals import About
from elicitation.models import (
    BadSignature,
    Client,
    Decision,
    Elicitation,
    Provider,
    RefusedAttempt,
    Service,
    WebhookDelivery,
)
from elicitation.policy.codes import Rule
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.services.registry import PROBABLY_NOT_SHOWN_MS
from elicitation.services.scoping import Scope

#: What is looked at in one go of each kind; of more, those with the most events.
MOST: Final = 1000

#: A form that asks for a credential, or for a purpose that no form may serve.
CREDENTIAL_RULES: Final = (
    Rule.FORM_CREDENTIAL_NAME,
    Rule.FORM_CREDENTIAL_TEXT,
    Rule.FORM_CREDENTIAL_MESSAGE,
    Rule.FORM_CREDENTIAL_FORMAT,
    Rule.FORM_CREDENTIAL_VALUE,
    Rule.ROUTE_SENSITIVE_IN_FORM,
)
#: A link whose host is not listed, or is disguised. The refused host is not kept, so a lookalike of a listed one and a
#: host that nobody has listed yet are not told apart.
ORIGIN_RULES: Final = (
    Rule.URL_ORIGIN_NOT_LISTED,
    Rule.URL_PUNYCODE,
    Rule.URL_USERINFO,
    Rule.URL_FORBIDDEN_CHARACTER,
    Rule.URL_AUTHORITY_ESCAPE,
    Rule.URL_TRAILING_DOT,
    Rule.URL_IP_LITERAL,
)


class Since(NamedTuple):
    """Events later than ``at`` count. ``told``: a resolved signal told of those up to ``at``, so that a row which began
    before and went on is not counted, as nobody knows how much of it is new."""

    at: datetime
    told: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """How many events, among how many (0 where no share is asked for), and the first and last of them."""

    count: int
    first_at: datetime
    last_at: datetime
    of: int = 0


Tallies = Mapping[About, Tally]


@dataclass(frozen=True, slots=True)
class _Attempts:
    """Attempts on one entry. ``person`` is the handle of the one who was asked; ``None`` when it was erased."""

    tenant: str
    entry: UUID
    person: UUID | None
    tally: Tally


def wrong_users_of_entries(since: Since) -> Tallies:
    """Confirmations that named another person than the one who was asked, by entry."""
    return {About(each.tenant, each.entry.hex): each.tally for each in _wrong_users(since)}


def wrong_users_of_people(since: Since) -> Tallies:
    """The same by the person who was asked, for those with several such entries: one alone is told of by entry."""
    mine: defaultdict[About, list[Tally]] = defaultdict(list)
    for each in _wrong_users(since):
        if each.person is not None:
            mine[About(each.tenant, each.person.hex)].append(each.tally)
    return {about: _together(tallies) for about, tallies in mine.items() if len(tallies) > 1}


def entries_of(person: str, scope: Scope, first: datetime, last: datetime) -> QuerySet[Elicitation]:
    """The entries of ``person`` (a handle) within ``scope`` whose confirmations named somebody else from ``first`` to
    ``last``, as far as the traces of a day before ``last`` say; newest first."""
    outcome = EvidenceOutcome.WRONG_USER_DENIED
    day = (max(first, last - timedelta(days=1)), last)
    traces = WebhookDelivery.objects.filter(received_at__range=day, outcome=outcome)
    refusals = RefusedAttempt.objects.filter(since__range=day, outcome=outcome)
    named = Q(uid__in=traces.values("elicitation_id")) | Q(pk__in=refusals.values("elicitation"))
    return scope.rows(Elicitation).filter(named, subject__handle=person).order_by("-admitted_at")


def wrong_tenants(since: Since) -> Tallies:
    """Callers that named another tenant's entry: by entry, for its owner, who must not learn who it was; and by caller,
    for those who run the desk."""
    outcome = EvidenceOutcome.WRONG_TENANT_DENIED
    found = {About(each.tenant, each.entry.hex): each.tally for each in _refused(outcome, since)}
    rows = _summed(_refusals(outcome, since), ("caller",), "since", Sum("count"))
    callers = _numbers([row["caller"] for row in rows])
    for row in rows:
        if row["caller"] in callers:
            found[About(SYSTEM_TENANT, callers[row["caller"]])] = _tally(row)
    return found


def lost(since: Since) -> Tallies:
    """Lost confirmations among those that were lost or came, by provider."""
    found: dict[About, Tally] = {}
    for providers in _chunks(Provider.objects.all()):
        rows = Elicitation.objects.filter(provider__in=providers)
        names = ("provider", "provider__slug", "provider__tenant__slug")
        losses = _summed(rows.filter(lost_at__gt=since.at), names, "lost_at")
        came = _counts(
            rows.filter(provider__in=[row["provider"] for row in losses], completed_at__gt=since.at), "provider"
        )
        for row in losses:
            of = row["n"] + came.get(row["provider"], 0)
            found[About(row["provider__tenant__slug"], row["provider__slug"])] = _tally(row, of)
    return found


def auto_answers(since: Since) -> Tallies:
    """Answers faster than a person reads among all answers, by client."""
    found: dict[About, Tally] = {}
    for clients in _chunks(Client.objects.all()):
        answers = Elicitation.objects.filter(client__in=clients, answered_at__gt=since.at)
        early = answers.filter(answer_latency_ms__lt=PROBABLY_NOT_SHOWN_MS)
        fast = _summed(early, ("client", "client__tenant__slug"), "answered_at")
        totals = _counts(answers.filter(client__in=[row["client"] for row in fast]), "client")
        for row in fast:
            about = About(row["client__tenant__slug"], f"client-{row['client']}")
            found[about] = _tally(row, totals[row["client"]])
    return found


def credential_forms(since: Since) -> Tallies:
    """Forms that were refused because they ask for a credential, by service."""
    return _denials(CREDENTIAL_RULES, since)


def lookalike_origins(since: Since) -> Tallies:
    """Links that were refused for their host, by service."""
    return _denials(ORIGIN_RULES, since)


def bad_signatures(since: Since) -> Tallies:
    """Deliveries to a provider's address that no live key of it signed. They are counted by the hour: an hour whose
    last one lies in the window counts whole."""
    hours = BadSignature.objects.filter(last_at__gt=since.at)
    if since.told:
        hours = hours.filter(hour__gt=since.at)
    keys = hours.values("provider__slug", "provider__tenant__slug")
    rows = keys.annotate(n=Sum("count"), first=Min("hour"), last=Max("last_at")).order_by("-n")[:MOST]
    return {About(row["provider__tenant__slug"], row["provider__slug"]): _tally(row) for row in rows}


def _denials(rules: tuple[Rule, ...], since: Since) -> Tallies:
    """Real requests whose deciding finding is one of ``rules``; dry runs ask nobody."""
    real = (Decision.Kind.ADMISSION, Decision.Kind.ERROR)
    denied = Decision.objects.filter(at__gt=since.at, outcome="deny", rule__in=rules, kind__in=real)
    rows = _summed(denied, ("service__slug", "service__tenant__slug"), "at")
    return {About(row["service__tenant__slug"], row["service__slug"]): _tally(row) for row in rows}


def _wrong_users(since: Since) -> list[_Attempts]:
    """Refused attempts are counted by the hour from their first, deliveries one by one: the larger number of the two
    holds, since most attempts are in both."""
    outcome = EvidenceOutcome.WRONG_USER_DENIED
    found = {each.entry: each for each in _refused(outcome, since)}
    traces = WebhookDelivery.objects.filter(received_at__gt=since.at, outcome=outcome, elicitation_id__isnull=False)
    delivered = {row["elicitation_id"]: row for row in _summed(traces, ("elicitation_id",), "received_at")}
    entries = Elicitation.objects.filter(uid__in=list(delivered))
    for uid, tenant, person in entries.values_list("uid", "tenant__slug", "subject__handle"):
        tally = _tally(delivered[uid])
        if uid not in found or found[uid].tally.count <= tally.count:
            found[uid] = _Attempts(tenant, uid, person, tally)
    return list(found.values())


def _refusals(outcome: EvidenceOutcome, since: Since) -> QuerySet[RefusedAttempt]:
    """Refusals whose first lies in the window; when their repeats came is not known."""
    return RefusedAttempt.objects.filter(outcome=outcome, since__gt=since.at)


def _refused(outcome: EvidenceOutcome, since: Since) -> list[_Attempts]:
    names = ("elicitation__tenant__slug", "elicitation__uid", "elicitation__subject__handle")
    rows = _summed(_refusals(outcome, since), names, "since", Sum("count"))
    return [_Attempts(row[names[0]], row[names[1]], row[names[2]], _tally(row)) for row in rows]


def _numbers(callers: Iterable[str]) -> dict[str, str]:
    """Kind and number of callers by their names as refusals keep them. The number is short enough to be an id."""
    found: dict[str, str] = {}
    for caller in callers:
        kind, _, name = caller.partition(":")
        tenant, _, slug = name.rpartition("/")
        mine: QuerySet[Any] = (
            Service.objects.filter(slug=slug, tenant__slug=tenant)
            if kind == "service"
            else Provider.objects.filter(slug=slug)
        )
        for number in mine.values_list("pk", flat=True):
            found[caller] = f"{kind}-{number}"
    return found


def _summed(rows: QuerySet[Any], by: tuple[str, ...], at: str, n: Count | Sum | None = None) -> list[dict[str, Any]]:
    """The ``MOST`` largest groups, each with ``n`` and its ``first`` and ``last`` moment in the column ``at``."""
    groups: Any = rows.values(*by).annotate(n=n or Count("pk"), first=Min(at), last=Max(at))
    return list(groups.order_by("-n")[:MOST])


def _counts(rows: QuerySet[Elicitation], column: str) -> dict[int, int]:
    return dict(rows.values_list(column).annotate(n=Count("pk")).order_by())


def _tally(row: Mapping[str, Any], of: int = 0) -> Tally:
    return Tally(row["n"], row["first"], row["last"], of)


def _together(tallies: list[Tally]) -> Tally:
    return Tally(
        sum(tally.count for tally in tallies),
        min(tally.first_at for tally in tallies),
        max(tally.last_at for tally in tallies),
    )


def _chunks(rows: QuerySet[Any]) -> Iterator[list[int]]:
    """The numbers of all rows, ``MOST`` at a time, so that a query by an index that begins with them stays small."""
    last = 0
    while chunk := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:MOST]):
        yield chunk
        last = chunk[-1]
