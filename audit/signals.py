"""Raising a signal: one open row for a rule and what it is about; it counts, it does not multiply."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F

from audit import vocabulary
from audit.ledger import NotAdmissible
from audit.models import Signal


def raise_signal(rule: str, tenant: str, about: str, at: datetime) -> None:
    """Open the signal, or count it once more. To be called in the transaction of what it tells of.

    Raises ``NotAdmissible`` for a rule that is not in the vocabulary.
    """
    if rule not in vocabulary.SIGNALS:
        raise NotAdmissible("signal")
    _, opened = Signal.objects.exclude(status=Signal.Status.RESOLVED).get_or_create(
        tenant=tenant, rule=rule, about=about, defaults={"first_at": at, "last_at": at}
    )
    if not opened:
        standing = Signal.objects.filter(tenant=tenant, rule=rule, about=about)
        standing.exclude(status=Signal.Status.RESOLVED).update(count=F("count") + 1, last_at=at)
