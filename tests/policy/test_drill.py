"""The drill: the 28 cases match, and a policy or a rule that is broken turns them red."""

import json
from pathlib import Path
from typing import Any

import pytest

from elicitation.drill import judges
from elicitation.drill.runner import CaseError, Report, load_cases, load_overlay, run
from elicitation.policy import admission, answers, evidence, lifecycle, urls
from elicitation.policy.capability import Declared
from elicitation.policy.codes import Rule
from elicitation.policy.decision import IdClass
from elicitation.policy.document import DEFAULT_DOCUMENT, lay_over
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Allowed, State
from tests.policy.asking import DOCUMENT

ORDER = [
    "capability-missing", "capability-form", "capability-url-not-negotiated", "capability-url", "form-flat-enum",
    "form-nested-object", "form-array", "form-credential-property", "form-password-in-message", "action-accept",
    "action-accept-without-content", "action-decline-strips-content", "action-cancel-strips-content",
    "url-allowlisted", "url-plain-http", "url-lookalike-origin", "url-secret-query", "url-short-correlation-id",
    "url-accept-is-consent", "completion-matching", "completion-duplicate", "completion-unknown",
    "completion-wrong-user", "completion-expired", "lost-completion", "manual-retry", "error-url-required",
    "error-generic",
]  # fmt: skip


def red(report: Report) -> list[str]:
    return [case.case_id for case in report.cases if not case.match]


def test_the_fixture_is_the_28_cases_in_their_order() -> None:
    assert [case.case_id for case in load_cases().cases] == ORDER


@pytest.mark.parametrize("document", [DEFAULT_DOCUMENT, DOCUMENT], ids=["default", "with a destination"])
def test_every_case_matches(document: Any) -> None:
    report = run(document, 4, load_cases())
    assert red(report) == []
    assert report.passed


def test_a_report_is_what_programs_outside_read() -> None:
    report = run(DEFAULT_DOCUMENT, 4, load_cases()).as_json()
    assert list(report) == [
        "policy_revision",
        "policy_digest",
        "fixture_digest",
        "total",
        "matched",
        "cases",
        "overlaid",
    ]
    assert report["policy_digest"] == DEFAULT_DOCUMENT.digest
    assert (report["policy_revision"], report["total"], report["matched"]) == (4, 28, 28)
    assert report["overlaid"] == list(load_overlay())
    cases: Any = report["cases"]
    assert cases[17] == {
        "case_id": "url-short-correlation-id",
        "mode": "url",
        "expected": "DENY",
        "actual": "DENY",
        "match": True,
        "correlation_class": "too_short",
    }
    json.dumps(report)


def test_a_run_is_the_same_every_time() -> None:
    assert run(DEFAULT_DOCUMENT, 1, load_cases()) == run(DEFAULT_DOCUMENT, 1, load_cases())


def test_without_its_overlay_the_drills_host_is_not_trusted() -> None:
    report = run(DEFAULT_DOCUMENT, 1, load_cases(), overlay=False)
    assert "url-allowlisted" in red(report)
    assert report.overlaid == ()


def test_a_policy_without_a_vocabulary_turns_cases_red() -> None:
    blind = lay_over(DEFAULT_DOCUMENT, {"vocabulary": {"deny": ["nothing"], "allow": []}})
    assert red(run(blind, 1, load_cases())) == ["form-credential-property", "form-password-in-message"]


@pytest.mark.parametrize(
    ("module", "name", "broken", "case"),
    [
        (Declared, "problem", lambda *_: None, "capability-missing"),
        (admission, "check_schema", lambda *_: None, "form-nested-object"),
        (urls, "_unlisted", lambda _: Rule.FORM_LINK_FLAGGED, "url-lookalike-origin"),
        (admission, "classify", lambda *_: IdClass.OPAQUE, "url-short-correlation-id"),
        (lifecycle, "step", lambda *_: Allowed(State.COMPLETE), "url-accept-is-consent"),
        (evidence, "check", lambda _: EvidenceOutcome.COMPLETED, "completion-duplicate"),
        (evidence, "check", lambda _: EvidenceOutcome.COMPLETED, "completion-matching"),
        (evidence, "check", lambda _: EvidenceOutcome.COMPLETED, "manual-retry"),
        (evidence, "out_of_reach", lambda _: None, "completion-unknown"),
        (answers, "judge", lambda one, two, _: answers.AnswerRuling(one, two), "action-accept-without-content"),
        (judges, "judge_error", lambda *_: pytest.fail("not run"), None),
    ],
    ids=range(11),
)
def test_a_broken_rule_turns_its_case_red(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, broken: object, case: str | None
) -> None:
    monkeypatch.setattr(module, name, broken)
    if case is None:
        with pytest.raises(pytest.fail.Exception):
            run(DEFAULT_DOCUMENT, 1, load_cases())
    else:
        assert case in red(run(DEFAULT_DOCUMENT, 1, load_cases()))


CASE: dict[str, Any] = {
    "case_id": "late",
    "mode": "url",
    "kind": "evidence",
    "expected": "DENY",
    "input": {"state": "CONSENT_PENDING", "same_tenant": True, "same_user": True, "seconds_after_admission": 901},
}

NOW = {"same_user": True, "seconds_after_admission": 1}
RETRY = {"state": "RETRY_REQUIRED", "event": "retry"}


def saved(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cases.json"
    path.write_text(text, encoding="utf-8")
    return path


def one(tmp_path: Path, **changes: object) -> str:
    fixture = load_cases(saved(tmp_path, json.dumps([{**CASE, **changes}])))
    return run(DOCUMENT, 1, fixture, overlay=False).cases[0].actual


@pytest.mark.parametrize(
    ("changes", "actual"),
    [
        ({}, "DENY"),
        ({"input": {**CASE["input"], "seconds_after_admission": 899}}, "COMPLETE"),
        ({"input": {"state": "ADMITTED", **NOW}}, "ADMITTED"),
        ({"input": {"state": "ADMITTED", "delivery": "url_required", **NOW}}, "COMPLETE"),
        ({"input": {"state": "CONSENT_PENDING", "seconds_after_admission": 1}}, "CONSENT_PENDING"),
        ({"input": {"state": "CONSENT_PENDING", "same_tenant": False, "seconds_after_admission": 1}}, "IGNORE"),
        ({"input": {"state": "CONSENT_PENDING", "same_service": False, "seconds_after_admission": 1}}, "IGNORE"),
        ({"input": {"state": "CONSENT_PENDING", "same_provider": False, "seconds_after_admission": 1}}, "DENY"),
        ({"kind": "recovery", "input": {**RETRY, "provider": "failed"}}, "CANCELLED"),
        ({"kind": "recovery", "input": {**RETRY, "provider": "pending"}}, "RETRY_REQUIRED"),
        ({"kind": "recovery", "input": {"state": "ADMITTED", "event": "lost"}}, "DENY"),
        ({"kind": "recovery", "input": {"state": "ADMITTED", "event": "lost", "held": True}}, "RETRY_REQUIRED"),
        ({"kind": "answer", "input": {"state": "ADMITTED", "action": "Accept"}}, "DENY"),
        ({"kind": "answer", "input": {"state": "EXPIRED", "action": "accept"}}, "DENY"),
        ({"kind": "answer", "input": {"state": "CONSENT_PENDING", "action": "accept"}}, "CONSENT_PENDING"),
    ],
    ids=str,
)
def test_a_policys_own_cases_run_as_well(tmp_path: Path, changes: dict[str, object], actual: str) -> None:
    assert one(tmp_path, **changes) == actual


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"kind": "guess"}, "/0/kind"),
        ({"mode": "voice"}, "/0/mode"),
        ({"expected": "MAYBE"}, "/0/expected"),
        ({"surprise": 1}, "/0"),
        ({"case_id": 7}, "/0/case_id"),
        ({"input": []}, "/0/input"),
        ({"input": {"state": "GONE", "seconds_after_admission": 1}}, "/0/input/state"),
        ({"input": {"state": "ADMITTED"}}, "/0/input/seconds_after_admission"),
        ({"input": {"state": "ADMITTED", "seconds_after_admission": 1, "same_user": "yes"}}, "/0/input/same_user"),
    ],
    ids=str,
)
def test_a_malformed_case_is_refused_at_its_place(tmp_path: Path, changes: dict[str, object], at: str) -> None:
    with pytest.raises(CaseError) as refused:
        one(tmp_path, **changes)
    assert refused.value.at == at


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '[{"a": 1, "a": 2}]', "[NaN]"])
def test_a_file_that_holds_no_cases_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(CaseError):
        load_cases(saved(tmp_path, text))


def test_a_case_id_stands_once(tmp_path: Path) -> None:
    with pytest.raises(CaseError) as refused:
        load_cases(saved(tmp_path, json.dumps([CASE, CASE])))
    assert refused.value.at == "/1/case_id"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError):
        load_cases(tmp_path / "absent.json")
