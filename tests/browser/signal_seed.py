"""Fills a desk with signals: told by mail, refused by a webhook's receiver until it is given up. Run by itself."""

from __future__ import annotations

import os
from typing import Any

import django


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.test.utils import setup_test_environment
    from django.utils import timezone

    backend = "django.core.mail.backends.smtp.EmailBackend"
    setup_test_environment()  # calls go through the API in this process, under the host name of Django's test client
    from django.conf import settings

    settings.EMAIL_BACKEND = backend  # the test environment would keep the letters to itself
    from audit.models import Outgoing
    from elicitation.services.sweeps.delivering import deliver
    from elicitation.services.sweeps.signalling import signals
    from tests import builders
    from tests.builders import ALICE, BOB

    desk = builders.open_desk()

    def ask(target: str, **changes: Any) -> str:
        public_id: str = desk.admit(operation=builders.operation(target=target), **changes).json()["id"]
        return public_id

    taken = [ask(f"taken_{number}") for number in range(2)]
    for public_id in taken:
        for _ in range(3):
            desk.event(public_id, "pi_wrong", subject=BOB)
    for number in range(3):
        twice = ask(f"twice_{number}", delivery="url_required")
        desk.event(twice, f"pi_{number}")
        desk.event(twice, f"pi_{number}_other")
    for number in range(20):
        body = {"subject": ALICE, "action": "decline", "content": "absent", "latency_ms": 40}
        desk.call(f"elicitations/{ask(f'quick_{number}')}/answer", body)
    for _ in range(3):
        desk.admit(request={"mode": "url", "message": "Pay", "url": "https://consent.example.com.evil.example/start"})
    signals()
    deliver()
    Outgoing.objects.filter(channel="webhook").update(attempts=7, due_at=timezone.now())
    deliver()


if __name__ == "__main__":
    main()
