"""The elicitation application: registers its system checks, and keeps the roles as they are defined."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ElicitationConfig(AppConfig):
    name = "elicitation"
    verbose_name = "Elicitations"

    def ready(self) -> None:
        from elicitation import checks  # noqa: F401 - registers the checks
        from elicitation.services.roles import make_groups

        post_migrate.connect(make_groups, sender=self)
