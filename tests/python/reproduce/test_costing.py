"""What a reproduction would cost."""

from pathlib import Path

import pytest
from small_paper import library_of_one  # noqa: F401  (the fixture library)

import leafspine
from leafspine import engine
from leafspine.reproduce import costing, reproducing
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
    assert "2 of the runs are not kept" in said
    with pytest.raises(leafspine.InputError, match="at least 1 core"):
        cost.on(0)
    with pytest.raises(leafspine.InputError, match="no runs"):
        Cost((), 3, "", 1e7).in_words(10)


def test_runs_that_are_not_kept_go_by_their_flows(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if the quick scale, whose runs are not kept, cannot be told, a kept run of other flows
    stands for one of them, or a run of two figures counts twice."""
    monkeypatch.setattr(engine, "work", lambda case: {"packet_hops": 100 * case.seed})
    chosen = reproducing.choose(["some"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "out", keep_in=library)
    kept = reproducing.kept(chosen)
    # Two schemes, two loads, three seeds; as the paper is read and with more flows.
    paper = costing.cost(reproducing.plans(chosen, "paper"), kept, 1.0)
    assert (paper.seconds, paper.drawn) == ((12345.0,) * 24, 0)
    quick = costing.cost(reproducing.plans(chosen, "quick"), kept, 1.0)
    # One load with fewer flows, of both figures.
    assert quick.seconds == (300.0, 300.0, 200.0, 200.0, 100.0, 100.0)
    assert quick.drawn == 6


def test_what_a_time_ends_is_said(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if runs that `run.until` ends are told as if they sent all of their flows."""
    monkeypatch.setattr(engine, "work", lambda case: {"packet_hops": 100 * case.seed})
    chosen = reproducing.choose(["some"], library)
    whole = costing.cost(reproducing.plans(chosen, "quick"), {}, 1.0)
    assert whole.ended == 0 and "run.until" not in whole.in_words(1)
    file = library / "some" / "fig1" / "scenario.toml"
    text = file.read_text()
    file.write_text(text.replace("[run]", '[run]\nuntil = "1ms"'))
    assert file.read_text() != text
    chosen = reproducing.choose(["some"], library)
    ended = costing.cost(reproducing.plans(chosen, "quick"), {}, 1.0)
    assert ended.ended == ended.drawn == 6
    assert "run.until ends 6 of these" in ended.in_words(1)
    assert ended.in_words(1).endswith("what hosts' links cannot carry by then is left out")
