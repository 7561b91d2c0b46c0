"""The elicitation application: registers its system checks."""

from django.apps import AppConfig


class ElicitationConfig(AppConfig):
    name = "elicitation"
    verbose_name = "Elicitations"

    def ready(self) -> None:
        from elicitation import checks  # noqa: F401 - registers the checks
