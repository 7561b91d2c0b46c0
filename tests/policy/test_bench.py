"""The bench of the policy measures what it says, and its times can be read."""

import pytest

from elicitation.bench import policy as bench
from elicitation.bench.frame import CannotMeasure, readable


def test_each_figure_of_the_policy_stands_beside_its_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "LONG_ENOUGH", 0.001)
    with bench.policy() as comparisons:
        assert [(each.figure, each.beside, each.at_most) for each in comparisons] == [
            ("url", "WHATWG parse", 2.0),
            ("url, whole request", "httpx.URL", 2.0),
            ("form", "jsonschema", 0.3),
        ]
        for each in comparisons:
            assert 0 < each.measure() < 0.1
            assert 0 < each.peer_value() < 0.1


@pytest.mark.parametrize("missing", ["can_ada", "httpx", "jsonschema"])
def test_without_a_peer_there_is_one_sentence(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        if name == missing:
            raise ImportError(name)
        return object()

    monkeypatch.setattr(bench, "import_module", absent)
    with pytest.raises(CannotMeasure, match=rf"^`bench policy` needs {missing}, [^.]*\.$"), bench.policy():
        pass


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(58.321, "58.32 s"), (0.61, "0.61 s"), (0.1, "0.10 s"), (0.0456, "45.60 ms"), (0.00075, "0.75 ms"),
     (0.0000058, "5.80 µs")],
)  # fmt: skip
def test_a_time_is_shown_in_the_unit_that_suits_it(seconds: float, text: str) -> None:
    assert readable(seconds) == text
