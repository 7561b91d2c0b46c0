"""How much is asked already, counted in the database and no further than the limits need."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db.models import QuerySet

from elicitation.models import Elicitation, Service, Subject
from elicitation.policy.lifecycle import LIVE
from elicitation.policy.limits import Asked
from elicitation.policy.sections import Limits

HOUR: Final = timedelta(hours=1)


def asked(service: Service, subject: Subject, limits: Limits, now: datetime) -> Asked:
    """To be called in the transaction that registers a new question.

    The person's row is locked, so that two questions at once cannot both be the last one. The service's count takes no
    lock: it can be passed by as many questions as are admitted in the same moment.
    """
    Subject.objects.select_for_update().get(pk=subject.pk)
    mine = Elicitation.objects.filter(subject=subject)
    return Asked(
        pending_of_subject=_up_to(limits.pending_per_subject, mine.filter(state__in=sorted(LIVE), deadline__gt=now)),
        asks_of_subject=_up_to(limits.asks_per_subject_hour, mine.filter(admitted_at__gt=now - HOUR)),
        asks_of_service=_up_to(
            limits.asks_per_service_hour, Elicitation.objects.filter(service=service, admitted_at__gt=now - HOUR)
        ),
    )


def _up_to(limit: int, rows: QuerySet[Elicitation]) -> int:
    return rows.order_by()[:limit].count()
