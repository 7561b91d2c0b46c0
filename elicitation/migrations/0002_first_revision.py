"""Activates policy revision 1: the safe default, which admits forms and no destination."""

from datetime import UTC, datetime

from django.db import migrations

from elicitation.policy.document import DEFAULT_DOCUMENT


def activate(apps, schema_editor):
    apps.get_model("elicitation", "PolicyRevision").objects.create(
        number=1,
        document=DEFAULT_DOCUMENT.canonical().decode(),
        digest=DEFAULT_DOCUMENT.digest,
        status="active",
        activated_at=datetime.now(UTC),
        note="The safe default: forms, and no destination.",
    )


class Migration(migrations.Migration):
    dependencies = [("elicitation", "0001_initial")]

    operations = [migrations.RunPython(activate, migrations.RunPython.noop)]
