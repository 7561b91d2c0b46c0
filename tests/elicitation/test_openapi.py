"""The API held against its own description, and the readable docs under the strict policy."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import schemathesis
from django.core.management import call_command
from django.test import Client
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from config.wsgi import application
from elicitation.api import examples
from tests.builders import Desk

pytestmark = pytest.mark.django_db


def test_the_description_is_valid_and_complete(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn")
    text = capsys.readouterr().out
    for operation in (
        "admit",
        "list",
        "show",
        "progress",
        "answer",
        "completion",
        "lost",
        "retry",
        "cancel",
        "consume",
    ):
        assert re.search(rf"operationId: {operation}\n", text)


def test_every_example_can_be_sent_as_it_stands(desk: Desk) -> None:
    admitted = desk.admit(**examples.ADMISSION)
    assert admitted.status_code == 201, admitted.json()
    path = f"elicitations/{admitted.json()['id']}"
    assert desk.call(f"{path}/answer", examples.ANSWER).json()["state"] == "CONSENT_PENDING"
    data = examples.PROVIDER_EVENT["data"] | {"elicitation_id": admitted.json()["id"]}
    assert desk.deliver(json.dumps(examples.PROVIDER_EVENT | {"data": data}).encode()).status_code == 204
    assert desk.call(f"{path}/consume", examples.CONSUMPTION).json()["outcome"] == "applied"


@pytest.mark.django_db(transaction=True)
def test_no_generated_call_is_a_server_error_or_undescribed(desk: Desk) -> None:
    described = schemathesis.openapi.from_wsgi("/api/schema/?format=json", application)
    tried = []
    for found in described.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr] # the description was found valid above
        tried.append(operation.label)

        @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def never_breaks(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(
                headers={"authorization": f"Bearer {desk.key}"},
                checks=[not_a_server_error, status_code_conformance, response_schema_conformance],
            )

        never_breaks()
    assert len(tried) == 23


def test_the_docs_page_has_no_inline_script_or_style() -> None:
    page = Client().get("/api/docs/")
    assert page.status_code == 200
    assert "'unsafe" not in page["Content-Security-Policy"]
    text = page.content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert "<style" not in text
    assert 'style="' not in text
