"""The page of a log says in words what keeps its checkpoints from being witnessed."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import Log
from audit.witness import Problem
from elicitation.admin.checkpoints import WITNESS_PROBLEMS
from tests.audit.pruned import write

pytestmark = pytest.mark.django_db


def test_every_problem_has_its_words() -> None:
    assert set(WITNESS_PROBLEMS) == set(Problem)


@pytest.mark.parametrize("problem", Problem)
def test_what_went_wrong_with_the_witness_is_told_and_not_its_code(problem: Problem, admin_user: User) -> None:
    write(2)
    Log.objects.filter(tenant="acme").update(witness_problem=problem)
    client = Client()
    client.force_login(admin_user)
    page: Any = client.get(f"/admin/audit/log/{Log.objects.get(tenant='acme').pk}/change/")
    assert WITNESS_PROBLEMS[problem][1:].replace("'", "&#x27;") in page.content.decode()
