"""Every page and action of the admin: who may use it, about what, and how it is asked for; and one of each thing that
it can be about, of a tenant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from django.urls import get_resolver
from django.utils import timezone

from audit.models import Export, LedgerEntry, LegalHold, Log, Outgoing, Prune, Signal
from elicitation.admin.acting_words import Verb
from elicitation.models import Elicitation, PolicyDraft, Tenant
from elicitation.services import drafts, revisions
from elicitation.services.roles import Role
from tests.people import staff

A, O, U, S = Role.ADMINISTRATOR, Role.OPERATOR, Role.AUDITOR, Role.SUPPORT  # noqa: E741 - as in the table
E, P = Role.POLICY_EDITOR, Role.POLICY_APPROVER
EVERYBODY: Final = frozenset(Role)


@dataclass(frozen=True, slots=True)
class Page:
    """``about`` names what its address has the number of; ``whole``: it is the whole desk's, whoever's role it is."""

    who: frozenset[Role]
    about: str = ""
    method: str = "get"
    whole: bool = False
    data: dict[str, str] = field(default_factory=dict)


def _of(*who: Role, about: str = "", method: str = "get", whole: bool = False, **data: str) -> Page:
    return Page(frozenset(who), about, method, whole, data)


_ENTRY = {
    f"admin:elicitation_elicitation_{verb}": _of(O, about="entry", seen="CONSENT_PENDING", reason="other", note="x")
    for verb in Verb
}
PAGES: Final[dict[str, Page]] = {
    "rules": _of(*EVERYBODY),
    "value": _of(U),
    "lookup": _of(O, S),
    "answers": _of(U, about="entry"),
    "evidence_pack": _of(U, about="entry", method="post"),
    "admin:index": _of(*EVERYBODY),
    "admin:login": _of(*EVERYBODY),
    "admin:logout": _of(*EVERYBODY, method="post"),
    "admin:password_change": _of(*EVERYBODY),
    "admin:password_change_done": _of(*EVERYBODY),
    "admin:jsi18n": _of(*EVERYBODY),
    "admin:audit_log_changelist": _of(U),
    "admin:audit_log_change": _of(U, about="log"),
    "admin:audit_log_verify": _of(U, about="log", method="post"),
    "admin:audit_log_key": _of(U, about="log"),
    "admin:audit_log_checkpoint": _of(U, about="log"),
    "admin:elicitation_decision_changelist": _of(O, U, E, P),
    "admin:elicitation_decision_change": _of(O, U, E, P, about="decision"),
    "admin:elicitation_policydraft_changelist": _of(E, P, whole=True),
    "admin:elicitation_policydraft_add": _of(E, whole=True),
    "admin:elicitation_policydraft_change": _of(E, P, about="draft", whole=True),
    "admin:elicitation_policydraft_edit": _of(E, about="draft", whole=True),
    "admin:elicitation_policydraft_approve": _of(P, about="draft", whole=True),
    "admin:elicitation_policydraft_activate": _of(P, about="draft", whole=True),
    "admin:elicitation_policydraft_discard": _of(E, about="draft", whole=True),
    "admin:elicitation_policydraft_carry_over": _of(E, about="draft", whole=True),
    "admin:elicitation_policydraft_export": _of(E, P, about="draft", whole=True),
    "admin:elicitation_elicitation_changelist": _of(O),
    "admin:elicitation_elicitation_change": _of(O, about="entry"),
    **_ENTRY,
    "admin:audit_export_changelist": _of(U),
    "admin:audit_export_add": _of(U),
    "admin:audit_export_verifier": _of(U),
    "admin:audit_export_change": _of(U, about="export"),
    "admin:audit_export_file": _of(U, about="file"),
    "admin:audit_export_resume": _of(U, about="export", method="post"),
    "admin:audit_legalhold_changelist": _of(A, U),
    "admin:audit_legalhold_change": _of(A, U, about="hold"),
    "admin:audit_legalhold_place": _of(A),
    "admin:audit_legalhold_lift": _of(A, about="hold", reason="other", note="x"),
    "admin:audit_prune_changelist": _of(A, U),
    "admin:audit_prune_change": _of(A, U, about="prune"),
    "admin:audit_ledgerentry_changelist": _of(U),
    "admin:audit_ledgerentry_change": _of(U, about="line"),
    "admin:auth_user_changelist": _of(A),
    "admin:auth_user_add": _of(A),
    "admin:auth_user_change": _of(A, about="person"),
    "admin:auth_user_password_change": _of(A, about="person", password1="a-long-one-4711", password2="a-long-one-4711"),
    "admin:elicitation_tenant_changelist": _of(A, O),
    "admin:elicitation_service_changelist": _of(A, O),
    "admin:elicitation_provider_changelist": _of(A, O),
    "admin:elicitation_provider_change": _of(A, O, about="provider"),
    "admin:elicitation_client_changelist": _of(A, O),
    "admin:elicitation_policyrevision_changelist": _of(O, U, E, P),
    "admin:elicitation_policyrevision_change": _of(O, U, E, P, about="revision"),
    "admin:elicitation_policyrevision_export": _of(O, U, E, P, about="revision", whole=True),
    "admin:elicitation_policyrevision_roll_back": _of(E, about="revision", whole=True),
    "admin:audit_signal_changelist": _of(O),
    "admin:audit_signal_change": _of(O, about="signal"),
    "admin:audit_signal_acknowledge": _of(O, about="signal", seen="open"),
    "admin:audit_signal_resolve": _of(O, about="signal", seen="open", count="1", reason="handled"),
    "admin:audit_outgoing_changelist": _of(O),
    "admin:audit_outgoing_change": _of(O, about="message"),
    "admin:audit_outgoing_resend": _of(O, about="message"),
}
#: What is of no tenant: the policy is the whole desk's.
DESK_WIDE: Final = frozenset({"draft", "revision"})
#: What an address has for something that is nowhere.
ABSENT: Final = {"entry": "elc_" + "a" * 26}
ABSENT_NUMBER: Final = 999_999


def addresses() -> Iterator[str]:
    """The names of all addresses for people, as Django knows them: everything but the API and the probes."""

    def walk(patterns: Any, at: str, space: str) -> Iterator[str]:
        for each in patterns:
            here = at + str(each.pattern)
            if hasattr(each, "url_patterns"):
                yield from walk(each.url_patterns, here, f"{each.namespace}:" if each.namespace else space)
            elif here.startswith("admin/") and each.name not in (None, "app_list"):
                yield space + each.name

    yield from walk(get_resolver().url_patterns, "", "")


def one_of_each(tenant: Tenant, entry: Elicitation, log: Log) -> dict[str, Any]:
    """What each address can be about, of ``tenant``: by the name that :class:`Page` has for it."""
    slug, now = tenant.slug, timezone.now()

    def export(status: str) -> Export:
        return Export.objects.create(
            log=log, format="jsonl", size=log.size, status=status, made_at=now, finished_at=now, actor_kind="scheduler"
        )

    signal = Signal.objects.create(
        tenant=slug, rule="lost_rate", about=entry.provider.slug if entry.provider else "", first_at=now, last_at=now
    )
    message = Outgoing.objects.create(
        signal=signal, channel="email", status=Outgoing.Status.DEAD, made_at=now, due_at=now
    )
    made = export("failed")
    return {
        "entry": entry,
        "log": log,
        "decision": entry.decision,
        "export": made,
        "file": made,
        "hold": LegalHold.objects.create(log=log, elicitation_id=uuid4(), made_at=now),
        "prune": Prune.objects.create(log=log, upto=0, export=made, ordered_at=now, finished_at=now),
        "line": LedgerEntry.objects.filter(tenant=slug).earliest("pk"),
        "person": staff(f"somebody-of-{slug}", tenants=(tenant,)),
        "provider": entry.provider,
        "signal": signal,
        "message": message,
    }


def draft() -> PolicyDraft:
    present = revisions.active()
    return drafts.begin("A draft", present, present.document, "[]", None)
