"""Which races there are on which database."""

from django.conf import settings

#: SQLite has one writer at a time: there nothing commits in another order than it was numbered.
_LATE = ["test_export_races.py", "test_late_commits.py", "test_retention_races.py"]
collect_ignore = [] if settings.DATABASES["default"]["ENGINE"].endswith("postgresql") else _LATE
