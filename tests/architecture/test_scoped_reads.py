"""Whatever people see of a tenant's rows comes through the scope of their seat: nothing reads past it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Model

from elicitation.admin.scoped import ScopedAdmin
from elicitation.models import PolicyDraft, PolicyRevision
from elicitation.services.scoping import SCOPED

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(
    [*(ROOT / "elicitation/admin").glob("*.py"), ROOT / "config/admin_site.py", ROOT / "audit/admin.py"]
)
NAMES: Final = {model.__name__ for model in SCOPED}
#: Reads of what hangs on a row that came through the scope itself, or that need the whole desk.
BESIDE: Final = {
    ("checkpoints.py", "Checkpoint"): "of a log that was found within the scope",
    ("decisions.py", "Elicitation"): "of a decision that was found within the scope",
    ("entry.py", "Evidence"): "of an entry that was found within the scope",
    ("exports.py", "Prune"): "of an export that was found within the scope",
    ("parties.py", "ProviderKey"): "of a provider that was found within the scope",
    ("parties.py", "WebhookDelivery"): "of a provider that was found within the scope",
    ("reviewing.py", "Signal"): "about an entry that was found within the scope, in its own tenant",
    ("signals.py", "Client"): "whom a signal names that was found within the scope",
    ("signals.py", "Outgoing"): "of a signal that was found within the scope",
    ("values.py", "Log"): "of a tenant that was chosen within the scope",
    ("values.py", "Tenant"): "an empty choice, until the form knows the scope",
    ("checkpoints.py", "Log"): "an empty choice, until the form knows the scope",
    ("people.py", "Tenant"): "an empty choice, until the form knows the scope",
    ("waiting.py", "Evidence"): "of entries that come through the scope",
    ("waiting.py", "HonourProposal"): "of entries that come through the scope",
    ("draft_page.py", "Decision"): "drafts need the whole desk",
    ("draft_page.py", "Provider"): "drafts need the whole desk",
    ("draft_page.py", "Service"): "drafts need the whole desk",
    ("editor.py", "Provider"): "drafts need the whole desk",
    ("trying.py", "Provider"): "drafts need the whole desk",
}
#: Models without a tenant.
_DESK_WIDE: Final = {"PolicyRevision", "PolicyDraft", "LogEntry", "ContentType", "Seat", "User"}


def reads() -> Iterator[tuple[str, str]]:
    """Each ``Model.objects`` of a page, as (file, model)."""
    for path in PAGES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("objects", "_default_manager", "_base_manager"):
                name = node.value.id if isinstance(node.value, ast.Name) else ast.unparse(node.value)
                if name not in _DESK_WIDE:
                    yield path.name, name


def test_no_page_reads_past_the_scope() -> None:
    assert set(reads()) == set(BESIDE)


def test_every_model_with_a_tenant_is_scoped() -> None:
    def names_a_tenant(model: type[Model]) -> bool:
        fields = {field.name for field in model._meta.get_fields() if not field.auto_created}
        return bool(fields & {"tenant", "log", "service", "provider", "elicitation"})

    beneath = {"Subject", "BadSignature", "RefusedAttempt", "Leaf", "Subtree"}  # no page reads them by themselves
    models = [model for label in ("audit", "elicitation") for model in apps.get_app_config(label).get_models()]
    assert {model.__name__ for model in models if names_a_tenant(model)} == (NAMES - {"Tenant", "Outgoing"}) | beneath


@pytest.mark.parametrize("model", list(admin.site._registry))
def test_every_list_of_rows_with_a_tenant_is_scoped(model: type[Model]) -> None:
    if model in SCOPED:
        assert isinstance(admin.site._registry[model], ScopedAdmin)
    else:
        assert model in (PolicyRevision, PolicyDraft) or model.__name__ == "User"
