"""``docs/bounds.py``: which claims have the ideal fabric's bound, and why the others have none."""

import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from leafspine.reproduce import ideal
from leafspine.reproduce.claims import Check
from leafspine.reproduce.data import Data
from test_engine import ROOT

SPEC = importlib.util.spec_from_file_location("bounds", ROOT / "docs" / "bounds.py")
assert SPEC is not None and SPEC.loader is not None
bounds = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bounds)

BEST = ideal.runs_of("main")


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        ("at", {"scheme": "A", "against": "B", "claimed": -5}, "not run"),
        ("at", {"scheme": "A", "against": "B", "claimed": -5, "runs": "two"}, "one switch"),
        ("at", {"scheme": "A", "against": "B", "above": -7}, "no gain claimed"),
        ("similar", {"scheme": "A", "against": "B", "bound": 10}, "no gain claimed"),
        ("flat", {"scheme": "A", "bound": 10}, "no gain claimed"),
        ("order", {"less": ("A", "B")}, "not run"),
        (
            "order",
            {"scheme": "A", "more_than": ("A",), "runs_against": "x"},
            "a scheme with itself",
        ),
        ("rise", {"scheme": "A", "against": "B"}, "a scheme with itself"),
        ("ratio", {"scheme": "A", "start": {"n": 1}, "end": {"n": 2}}, "a scheme with itself"),
    ],
)
def test_why_there_is_no_bound(kind: str, keys: dict[str, Any], expected: str) -> None:
    """Breaks if a claim that could have one is said to need none, or the other way round."""
    assert bounds.kind_of(Check(kind, "all.fct_mean", **keys), ("main",)) == expected


def test_only_claims_on_time_and_goodput_count() -> None:
    """Breaks if claims on drops count, one of two tests hides the other, or a claim counts as
    bounded that lacks a bound of two."""

    def claim(*tests: Check) -> Any:
        return SimpleNamespace(claim=SimpleNamespace(tests=tests))

    made = Data()
    for runs, variant, value in (("main", "A", 8.0), ("main", "B", 10.0), (BEST, "A", 6.0)):
        made.put((runs, variant, ()), "all.fct_mean", 1, value)
    drops = Check("order", "network.drops", less=("A", "B"))
    alike = Check("similar", "own.goodput", scheme="A", against="B", bound=10)
    order = Check("order", "own.fct_p1", runs="one", less=("A", "B"))
    bound = Check("order", "all.fct_mean", less=("A", "B"))
    lacks = Check("order", "all.fct_mean", runs="other", less=("A", "B"))
    pairs = ((drops,), (drops, alike), (alike, order), (bound, alike), (bound, lacks))
    judged = [claim(*tests) for tests in pairs]
    figure = SimpleNamespace(ideal=SimpleNamespace(runs=("main", "other")))
    found = bounds.counted(SimpleNamespace(judged=judged, figure=figure, data=made))
    assert found == {"no gain claimed": 1, "one switch": 1, "with a bound": 1, "not run": 1}
