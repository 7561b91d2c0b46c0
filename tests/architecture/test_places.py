"""Whatever the policy finds, in whatever a caller sends, its place fits the ledger: a denial is never a 503."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from audit import vocabulary
from elicitation.policy.admission import decide
from elicitation.policy.decision import Ask, Delivery, Purpose, Wire
from elicitation.policy.fields import KEYWORDS
from tests.policy.asking import BOTH_MODES, DESK_ID, DOCUMENT

WORDS = sorted(KEYWORDS | vocabulary.PLACE_WORDS | {"password", "region", "é", "", "a/b", "a~b", "x" * 300, "#1"})
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.sampled_from(WORDS), st.dictionaries(st.sampled_from(sorted(KEYWORDS)), VALUES, max_size=4) | VALUES, max_size=4
)
FORMS = st.fixed_dictionaries(
    {"message": VALUES},
    optional={
        "mode": st.sampled_from(["form", "url", "FORM", None]),
        "requestedSchema": st.fixed_dictionaries(
            {"type": st.just("object"), "properties": FIELDS},
            optional={"required": VALUES, "title": VALUES, "$schema": VALUES, "allOf": VALUES, "x": VALUES},
        )
        | VALUES,
        "url": VALUES | st.text(max_size=60).map(lambda text: f"https://consent.example.com/start?{text}"),
        "elicitationId": VALUES,
        "_meta": VALUES,
        "task": VALUES,
        "other": VALUES,
    },
)


@settings(max_examples=400, deadline=None)
@given(
    request=FORMS | st.dictionaries(st.text(max_size=5), VALUES, max_size=4),
    capabilities=st.just(BOTH_MODES) | VALUES,
    purpose=st.sampled_from(Purpose),
    wire=st.sampled_from(Wire),
    delivery=st.sampled_from(Delivery),
    window=st.none() | st.integers(-5, 10**9),
)
def test_every_place_of_every_finding_fits_the_ledger(
    request: dict[str, Any], capabilities: Any, purpose: Purpose, wire: Wire, delivery: Delivery, window: int | None
) -> None:
    ask = Ask(
        wire=wire,
        delivery=delivery,
        purpose=purpose,
        capabilities=capabilities,
        request=request,
        tenant="acme",
        service="booking",
        elicitation_id=DESK_ID,
        window_seconds=window,
    )
    for finding in decide(ask, DOCUMENT, 1).decision.findings:
        assert vocabulary.admissible("place", finding.place), finding.place
        assert vocabulary.admissible("rule", finding.rule)


def test_every_keyword_that_the_policy_knows_is_a_word_of_the_ledger() -> None:
    assert KEYWORDS <= vocabulary.PLACE_WORDS
