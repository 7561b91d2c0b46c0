"""Read-only admin pages of signals, and of the messages that tell of them.

The application that raises signals registers these, with its own words.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin import ListedFilter, ReadOnlyAdmin
from audit.models import Outgoing, Signal
from audit.outbox import Problem


class StatusFilter(ListedFilter):
    title = "status"
    parameter_name = "status"
    values = list(Signal.Status.choices)


class SentFilter(ListedFilter):
    title = "state"
    parameter_name = "status"
    values = list(Outgoing.Status.choices)


class SignalAdmin(ReadOnlyAdmin):
    """What somebody should look at; what happened is on the ledger."""

    list_display: tuple[str, ...] = ("id", "rule", "about", "tenant", "count", "status", "first", "last")
    list_filter: ClassVar[tuple[Any, ...]] = (StatusFilter,)
    nothing_yet = "Nothing calls for attention."

    @admin.display(description="first")
    def first(self, row: Signal) -> SafeString:
        return _moment(row.first_at)

    @admin.display(description="last")
    def last(self, row: Signal) -> SafeString:
        return _moment(row.last_at)


#: What went wrong with a message, for people.
PROBLEMS: Final = {
    Problem.NOT_CONFIGURED: "the channel is not configured any more",
    Problem.UNREACHABLE: "the receiver could not be reached",
    Problem.TIMEOUT: "the receiver took too long",
    Problem.TLS: "the receiver's certificate was not trusted",
    Problem.REDIRECT: "the receiver answered with a redirect, which is not followed",
    Problem.REFUSED: "the receiver refused the message",
    Problem.FAILED: "the receiver reported a fault of its own",
    Problem.MALFORMED: "the receiver's answer could not be read",
    Problem.AUTHENTICATION: "the mail server did not accept user and password",
    Problem.INTERRUPTED: "the last try was never heard of again",
    Problem.INTERNAL: "the desk failed: its log says how",
}


def state_of(message: Outgoing) -> str:
    """How it stands with a message, in words."""
    problem = f": {PROBLEMS[Problem(message.problem)]}" if message.problem else ""
    match Outgoing.Status(message.status):
        case Outgoing.Status.SENT:
            return "sent"
        case Outgoing.Status.DEAD:
            return f"given up{problem}"
        case Outgoing.Status.WAITING:
            return f"waiting for another try{problem}" if message.problem else "waiting"


class OutgoingAdmin(ReadOnlyAdmin):
    """Messages about signals, and what became of them."""

    list_display = ("id", "its_signal", "channel", "how_it_stands", "tries", "made", "next_try", "arrived")
    list_filter = (SentFilter,)
    list_select_related = ("signal",)
    nothing_yet = "No signal has been sent out yet."

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """What can be said about this message: the next try of one that waits, or when it was sent."""
        times = {"next_try": Outgoing.Status.WAITING, "arrived": Outgoing.Status.SENT}
        known = [name for name in self.list_display[1:] if obj is None or times.get(name, obj.status) == obj.status]
        return ["its_id", *known]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    @admin.display(description="id")
    def its_id(self, row: Outgoing) -> SafeString:
        return format_html("<code>{}</code>", row.uid)

    @admin.display(description="signal")
    def its_signal(self, row: Outgoing) -> SafeString:
        link = reverse("admin:audit_signal_change", args=[row.signal_id])
        return format_html('<a href="{}">{}</a>', link, self.signal_title(row.signal))

    def signal_title(self, signal: Signal) -> str:
        return signal.rule

    @admin.display(description="state")
    def how_it_stands(self, row: Outgoing) -> str:
        return state_of(row).capitalize()

    @admin.display(description="tries")
    def tries(self, row: Outgoing) -> int:
        return row.attempts

    @admin.display(description="made")
    def made(self, row: Outgoing) -> SafeString:
        return _moment(row.made_at)

    @admin.display(description="next try")
    def next_try(self, row: Outgoing) -> SafeString | None:
        return _moment(row.due_at) if row.status == Outgoing.Status.WAITING else None

    @admin.display(description="sent")
    def arrived(self, row: Outgoing) -> SafeString | None:
        return _moment(row.sent_at) if row.sent_at else None


def _moment(at: datetime) -> SafeString:
    return format_html('<time datetime="{}">{} UTC</time>', at.isoformat(), f"{at:%Y-%m-%d %H:%M:%S}")
