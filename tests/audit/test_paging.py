"""Pages of a long table: every row is on one page, in order, and no page looks through more than its share."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from audit import paging
from audit.models import Signal
from audit.paging import Reading
from tests.audit.sealed import NOON

pytestmark = pytest.mark.django_db

TENANTS = ("acme", "globex", "initech")
RULES = ("late_sweep", "lost_rate")


def rows(kinds: list[tuple[str, str]]) -> None:
    Signal.objects.bulk_create(
        Signal(tenant=tenant, rule=rule, about=str(number), first_at=NOON, last_at=NOON)
        for number, (tenant, rule) in enumerate(kinds)
    )


def every_page(reading: Reading, size: int, window: int) -> list[list[int]]:
    pages, before = [], None
    while True:
        part = paging.newest(reading, size, before, window)
        pages.append(part.numbers)
        if part.older is None:
            return pages
        assert before is None or part.older < before
        before = part.older


class EveryRow(TestCase):
    @settings(max_examples=60, deadline=None)
    @given(
        kinds=st.lists(st.tuples(st.sampled_from(TENANTS), st.sampled_from(RULES)), max_size=40),
        tenants=st.lists(st.sampled_from(TENANTS), min_size=1, max_size=3, unique=True),
        size=st.integers(1, 9),
        window=st.integers(1, 12),
        rest=st.sampled_from([None, Q(rule="lost_rate")]),
    )
    def test_every_row_is_on_one_page_in_order(
        self, kinds: list[tuple[str, str]], tenants: list[str], size: int, window: int, rest: Q | None
    ) -> None:
        rows(kinds)
        pages = every_page(Reading([Signal.objects.filter(tenant=each) for each in tenants], rest), size, window)
        wanted: Any = Signal.objects.filter(rest or Q(), tenant__in=tenants)
        assert [number for page in pages for number in page] == list(
            wanted.order_by("-pk").values_list("pk", flat=True)
        )
        assert all(len(page) <= size for page in pages)


def test_a_page_that_is_not_full_says_down_to_where_it_looked() -> None:
    rows([("acme", "late_sweep")] * 5 + [("acme", "lost_rate")] * 10)
    numbers = list(Signal.objects.order_by("-pk").values_list("pk", flat=True))
    part = paging.newest(Reading([Signal.objects.all()], Q(rule="late_sweep")), 3, None, window=4)
    assert (part.numbers, part.older, part.looked_to) == ([], numbers[3], numbers[3])
    part = paging.newest(Reading([Signal.objects.all()], Q(rule="late_sweep")), 3, numbers[9], window=4)
    assert (part.numbers, part.looked_to) == (numbers[10:13], None)


def test_a_page_without_a_rest_takes_one_query_for_each_branch() -> None:
    rows([("acme", "late_sweep")] * 30)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        paging.newest(Reading([Signal.objects.filter(tenant=each) for each in TENANTS]), 5)
    assert len(queries) == 3
    with CaptureQueriesContext(connection) as queries:
        paging.newest(Reading([Signal.objects.all()], Q(rule="lost_rate")), 5)
    assert len(queries) == 2
