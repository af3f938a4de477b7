"""What a reproduction would cost."""

import pytest

import leafspine
from leafspine.reproduce.costing import Cost


def test_the_longest_run_bounds_it() -> None:
    """Breaks if runs are not dealt the longest first, or many cores beat the longest run: on two
    cores 5 + 3 + ... against 4 + 3 + 3, which is 10."""
    cost = Cost((5.0, 4.0, 3.0, 3.0, 3.0), 2, "a/fig1, ECMP seed=1", 1e7)
    assert cost.on(1) == 18
    assert cost.on(2) == 10
    assert cost.on(3) == 7
    assert cost.on(1000) == 5
    said = cost.in_words(1000)
    assert "longest run: 5 s, a/fig1, ECMP seed=1" in said
    assert "on 1000 cores: 5 s" in said
    assert "2 more runs are not kept, and not counted" in said
    with pytest.raises(leafspine.InputError, match="at least 1 core"):
        cost.on(0)
    with pytest.raises(leafspine.InputError, match="nothing is kept"):
        Cost((), 3, "", 1e7).in_words(10)
