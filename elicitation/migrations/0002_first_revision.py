"""Activates policy revision 1: the safe default, which admits forms and no destination."""

from datetime import UTC, datetime

from django.db import migrations

from elicitation.policy.document import DEFAULT_DOCUMENT


def activate(apps, schema_editor):
    now = datetime.now(UTC)
    apps.get_model("elicitation", "PolicyRevision").objects.create(
        number=1,
        document=DEFAULT_DOCUMENT.canonical().decode(),
        digest=DEFAULT_DOCUMENT.digest,
        status="active",
        activated_at=now,
        note="The safe default: forms, and no destination.",
    )
    apps.get_model("audit", "LedgerEntry").objects.create(
        tenant="desk",
        at=now,
        event="policy_activated",
        actor_kind="operator",
        role="shell",
        policy_revision=1,
        policy_digest=DEFAULT_DOCUMENT.digest,
    )


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial"), ("elicitation", "0001_initial")]

    operations = [migrations.RunPython(activate, migrations.RunPython.noop)]
