"""What the tests of the signals' pages share: a signal that stands, its page, and one of each as the rules write it."""

from __future__ import annotations

from audit.models import Signal
from audit.signals import raise_signal
from elicitation.services import clock

SIGNALS = "/admin/audit/signal/"


def opened(rule: str = "late_sweep", about: str = "expire", tenant: str = "desk") -> Signal:
    raise_signal(rule, tenant, about, clock.now())
    return Signal.objects.latest("pk")


def page_of(signal: Signal) -> str:
    return f"{SIGNALS}{signal.pk}/change/"


#: One of each, as the rules write it.
ABOUT = {
    "activation_alone": ("desk", "revision-2"),
    "late_sweep": ("desk", "expire"),
    "ledger_broken": ("acme", "leaf-256"),
    "lost_rate": ("acme", "example-pay"),
    "bad_signatures": ("acme", "example-pay"),
    "credential_forms": ("acme", "booking"),
    "lookalike_origins": ("acme", "booking"),
    "auto_answers": ("acme", "client-1"),
    "wrong_user_person": ("acme", "0" * 32),
}
