"""Sending a signal to people by e-mail and to a program by a signed webhook: one try, bounded in time, outside of any
transaction."""

from __future__ import annotations

import json
import logging
import smtplib
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

import httpcore
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.urls import reverse

from audit import outbox
from audit.ledger import Entry, append
from audit.models import Outgoing, Signal
from audit.outbox import Channel, Problem
from elicitation.policy.webhooks import HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, sign
from elicitation.providers import answers
from elicitation.providers.sockets import Sockets
from elicitation.services import clock
from elicitation.services.actors import Actor
from elicitation.services.signal_words import WORDS, spelled, subject

#: Seconds for one webhook, whatever the other side does; of them to find and reach the host.
TOTAL_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 2.0
#: Seconds for one e-mail.
EMAIL_SECONDS: Final = 15.0

#: What our own sockets say of a connection, in the outbox's words.
_SOCKET_PROBLEMS: Final = {
    answers.Problem.CONNECT: Problem.UNREACHABLE,
    answers.Problem.TIMEOUT: Problem.TIMEOUT,
    answers.Problem.TLS: Problem.TLS,
}

logger = logging.getLogger(__name__)


class NotSent(Exception):
    """This try failed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def deliver(channel: Channel, seconds: float, most: int) -> int:
    """Send what is due by ``channel``, oldest first: at most ``most`` messages, none begun after ``seconds``. A message
    that fails stops no other. Returns how many were sent."""
    until, done = time.monotonic() + seconds, 0
    for _ in range(most):
        row = outbox.claim(channel, clock.now()) if time.monotonic() < until else None
        if row is None:
            break
        problem = _try(row)
        if problem is None:
            outbox.sent(row, clock.now())
            done += 1
        else:
            if row.attempts in (1, outbox.TRIES):
                logger.warning("a signal was not delivered", extra={"problem": problem, "count": row.attempts})
            outbox.failed(row, problem, clock.now())
    return done


def resend(message: Outgoing, by: Actor) -> bool:
    """Give a message that was given up all its tries again, on the record. Returns whether it was given up."""
    now = clock.now()
    with transaction.atomic():
        if not outbox.revive(message.pk, now):
            return False
        record = Entry(
            tenant=message.signal.tenant,
            event="signal_resent",
            actor_kind=by.kind,
            actor_id=by.id,
            role=by.role,
            related_id=message.uid,
        )
        append(now, record)
    return True


def _try(row: Outgoing) -> Problem | None:
    """What went wrong, or ``None``."""
    sender: Callable[[Outgoing], None] = _email if row.channel == Channel.EMAIL else _webhook
    try:
        sender(row)
    except NotSent as refusal:
        return refusal.problem
    except Exception:
        logger.exception("a signal could not be sent")
        return Problem.INTERNAL
    return None


def address(signal: Signal) -> str:
    """Where the desk shows ``signal``."""
    return f"{settings.DESK_BASE_URL}{reverse('admin:audit_signal_change', args=[signal.pk])}"


def text(signal: Signal) -> str:
    """The body of the e-mail. No names and no values: mail is read in many places."""
    words = WORDS[signal.rule]
    lines = [
        words.happened,
        "",
        f"About: {subject(signal).text}",
        f"Tenant: {signal.tenant}",
        f"Count: {signal.count} ({words.counted})",
        f"First: {_moment(signal.first_at)}",
        f"Last: {_moment(signal.last_at)}",
        "",
        words.to_do,
        "",
        address(signal),
        "",
        "This message is sent once, when the signal is opened. What happens again is counted there.",
    ]
    return "\n".join(lines) + "\n"


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _email(row: Outgoing) -> None:
    if not settings.DESK_SIGNAL_EMAILS:
        raise NotSent(Problem.NOT_CONFIGURED)
    signal = row.signal
    host = urlsplit(settings.DESK_BASE_URL).hostname
    message = EmailMessage(
        subject=f"Elicitation Desk: {WORDS[signal.rule].title} ({subject(signal).text})",
        body=text(signal),
        to=settings.DESK_SIGNAL_EMAILS,
        headers={"Message-ID": f"<{row.uid}@{host}>", "Auto-Submitted": "auto-generated"},
        connection=get_connection(),
    )
    try:
        _within(EMAIL_SECONDS, message.send)
    except smtplib.SMTPAuthenticationError:
        raise NotSent(Problem.AUTHENTICATION) from None
    except (smtplib.SMTPServerDisconnected, smtplib.SMTPConnectError):
        raise NotSent(Problem.UNREACHABLE) from None
    except smtplib.SMTPResponseException as refusal:
        raise NotSent(Problem.REFUSED if refusal.smtp_code >= 500 else Problem.FAILED) from None
    except smtplib.SMTPException:
        raise NotSent(Problem.REFUSED) from None
    except ssl.SSLError:
        raise NotSent(Problem.TLS) from None
    except TimeoutError:
        raise NotSent(Problem.TIMEOUT) from None
    except OSError:
        raise NotSent(Problem.UNREACHABLE) from None


def _within(seconds: float, work: Callable[[], object]) -> None:
    """Do ``work`` in a thread of its own and raise what it raises, or ``TimeoutError`` when it takes longer: the time
    limit of a mail connection begins anew with every line that the server sends."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, daemon=True, name="mail")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError
    if failures:
        raise failures[0]


def payload(row: Outgoing) -> bytes:
    """The body of the webhook, as JSON."""
    signal = row.signal
    data = {
        "rule": signal.rule,
        "tenant": signal.tenant,
        "about": spelled(signal),
        "count": signal.count,
        "first_at": signal.first_at.isoformat(),
        "last_at": signal.last_at.isoformat(),
        "url": address(signal),
    }
    return json.dumps({"type": "signal.opened", "timestamp": row.made_at.isoformat(), "data": data}).encode()


def _webhook(row: Outgoing) -> None:
    if not settings.DESK_SIGNAL_WEBHOOK_URL:
        raise NotSent(Problem.NOT_CONFIGURED)
    body, message_id, moment = payload(row), str(row.uid), int(clock.now().timestamp())
    headers: dict[bytes | str, bytes | str] = {
        "Content-Type": "application/json",
        "User-Agent": "elicitation-desk",
        "Connection": "close",
        "Content-Length": str(len(body)),
        HEADER_ID: message_id,
        HEADER_TIMESTAMP: str(moment),
        HEADER_SIGNATURE: sign(message_id, moment, body, settings.DESK_SIGNAL_WEBHOOK_SECRET),
    }
    status = _post(settings.DESK_SIGNAL_WEBHOOK_URL, headers, body)
    match status // 100:
        case 2:
            return
        case 3:
            raise NotSent(Problem.REDIRECT)
        case 4:
            raise NotSent(Problem.REFUSED)
        case _:
            raise NotSent(Problem.FAILED)


def _post(url: str, headers: Mapping[bytes | str, bytes | str], body: bytes) -> int:
    """The status of the reply; its body is not read, and a redirect is not followed."""
    sockets = Sockets(time.monotonic() + TOTAL_SECONDS, CONNECT_SECONDS)
    try:
        with (
            httpcore.ConnectionPool(ssl.create_default_context(), network_backend=sockets) as pool,
            pool.stream("POST", url, headers=headers, content=body) as response,
        ):
            return response.status
    except answers.NoAnswer as failure:
        raise NotSent(_SOCKET_PROBLEMS.get(failure.problem, Problem.MALFORMED)) from None
    except httpcore.ProtocolError:
        raise NotSent(Problem.MALFORMED) from None
