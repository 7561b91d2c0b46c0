"""The roles of the people at the desk, and what each may do. A role is a group of Django's, kept as it stands here.

About whose rows somebody may do it is said by the seat (:mod:`elicitation.services.scoping`). Source: operator policy.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from django.contrib.auth.models import Group, Permission


class Role(StrEnum):
    """The name of the group."""

    ADMINISTRATOR = "Administrator"
    OPERATOR = "Operator"
    AUDITOR = "Auditor"
    SUPPORT = "Support"
    POLICY_EDITOR = "Policy editor"
    POLICY_APPROVER = "Policy approver"


#: What each role is for, for who gives it.
ABOUT: Final[dict[Role, str]] = {
    Role.ADMINISTRATOR: "people, providers, legal holds; acts on no entry and approves no policy",
    Role.OPERATOR: "sees what is stuck, resolves it on the record, reviews signals",
    Role.AUDITOR: "reads the ledger and the policy's history, exports, verifies; changes nothing",
    Role.SUPPORT: "looks up single elicitations by id; no lists",
    Role.POLICY_EDITOR: "drafts, drills, compares and replays the policy; needs the whole desk",
    Role.POLICY_APPROVER: "approves and activates what somebody else drafted; needs the whole desk",
}

_READS_POLICY: Final = frozenset({"elicitation.view_policyrevision", "elicitation.view_decision"})
#: Permissions as Django names them.
MAY: Final[dict[Role, frozenset[str]]] = {
    Role.ADMINISTRATOR: frozenset(
        {
            "auth.view_user",
            "auth.add_user",
            "auth.change_user",
            "elicitation.view_tenant",
            "elicitation.view_service",
            "elicitation.view_provider",
            "elicitation.change_provider",
            "elicitation.view_client",
            "audit.view_legalhold",
            "audit.manage_legalhold",
            "audit.view_prune",
        }
    ),
    Role.OPERATOR: frozenset(
        {
            "elicitation.view_elicitation",
            "elicitation.cancel_elicitation",
            "elicitation.lookup_elicitation",
            "elicitation.view_tenant",
            "elicitation.view_service",
            "elicitation.view_provider",
            "elicitation.view_client",
            "audit.view_signal",
            "audit.review_signal",
            "audit.view_outgoing",
            "audit.resend_outgoing",
            *_READS_POLICY,
        }
    ),
    Role.AUDITOR: frozenset(
        {
            "audit.view_ledgerentry",
            "audit.view_log",
            "audit.verify_log",
            "audit.view_export",
            "audit.add_export",
            "audit.view_legalhold",
            "audit.view_prune",
            *_READS_POLICY,
        }
    ),
    Role.SUPPORT: frozenset({"elicitation.lookup_elicitation"}),
    Role.POLICY_EDITOR: frozenset(
        {
            "elicitation.view_policydraft",
            "elicitation.add_policydraft",
            "elicitation.change_policydraft",
            *_READS_POLICY,
        }
    ),
    Role.POLICY_APPROVER: frozenset(
        {"elicitation.view_policydraft", "elicitation.approve_policydraft", *_READS_POLICY}
    ),
}


def make_groups(**_: Any) -> None:
    """Bring the groups to what :data:`MAY` says, after every migration: a role is the same on every desk.

    A permission that is missing (its application was not migrated yet) is added after the next one.
    """
    there = {
        f"{app}.{codename}": number
        for number, app, codename in Permission.objects.values_list("pk", "content_type__app_label", "codename")
    }
    for role, names in MAY.items():
        group, _made = Group.objects.get_or_create(name=role)
        group.permissions.set(there[name] for name in names if name in there)
