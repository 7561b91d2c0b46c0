"""Which measurements there are on which database."""

from django.conf import settings

#: The ledger's are of PostgreSQL, beside its own tools.
_MEASURED = ["test_ledger_measurements.py"]
collect_ignore = [] if settings.DATABASES["default"]["ENGINE"].endswith("postgresql") else _MEASURED
