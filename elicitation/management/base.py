"""What the desk's commands share: notes beside the output, which are no errors and so are not shown as such."""

from __future__ import annotations

from django.core.management.base import BaseCommand


class DeskCommand(BaseCommand):
    """``note()`` tells the person at the terminal; standard output holds what a program may read."""

    def note(self, text: str, ending: str = "\n") -> None:
        self.stderr.write(text, style_func=str, ending=ending)
        self.stderr.flush()
