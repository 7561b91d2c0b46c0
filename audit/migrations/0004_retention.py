from django.db import migrations, models

from audit import retention_role
from audit.triggers import EXPORTS, HOLDS, LEAVES, LEDGER, PRUNES


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0003_sealed_logs"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="ledgerentry",
            index=models.Index(
                condition=models.Q(("result_digest", ""), _negated=True), fields=["result_digest"], name="ledger_result"
            ),
        ),
        migrations.RunPython(EXPORTS.install, migrations.RunPython.noop),
        migrations.RunPython(HOLDS.install, migrations.RunPython.noop),
        migrations.RunPython(PRUNES.install, migrations.RunPython.noop),
        migrations.RunPython(LEDGER.let_prunes_through, migrations.RunPython.noop),
        migrations.RunPython(LEAVES.let_prunes_through, migrations.RunPython.noop),
        migrations.RunPython(retention_role.try_to_set_up, migrations.RunPython.noop),
    ]
