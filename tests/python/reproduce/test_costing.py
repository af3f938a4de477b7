"""What a reproduction would cost."""

from pathlib import Path

import pytest
from small_paper import library_of_one  # noqa: F401  (the fixture library)

import leafspine
from leafspine import engine
from leafspine.engine import Case
from leafspine.reproduce import costing, reproducing
from leafspine.reproduce.costing import Cost


def _one(_case: Case) -> float:
    """A packet-hop a second."""
    return 1.0


def test_the_longest_run_bounds_it() -> None:
    """Breaks if runs are not dealt the longest first, or many cores beat the longest run: on two
    cores 5 + 3 + ... against 4 + 3 + 3, which is 10."""
    cost = Cost((5.0, 4.0, 3.0, 3.0, 3.0), 2, "a/fig1, ECMP seed=1", (7.04e6, 1e7))
    assert cost.on(1) == 18
    assert cost.on(2) == 10
    assert cost.on(3) == 7
    assert cost.on(1000) == 5
    said = cost.in_words(1000)
    assert "longest run: 5 s, a/fig1, ECMP seed=1" in said
    assert "on 1000 cores: 5 s" in said
    assert "core-hours at 7.0 to 10.0 million" in said
    assert "2 of the runs are not kept" in said
    with pytest.raises(leafspine.InputError, match="at least 1 core"):
        cost.on(0)
    with pytest.raises(leafspine.InputError, match="no runs"):
        Cost((), 3, "", ()).in_words(10)


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
    paper = costing.cost(reproducing.plans(chosen, "paper"), kept, _one)
    assert (paper.seconds, paper.drawn) == ((12345.0,) * 24, 0)
    quick = costing.cost(reproducing.plans(chosen, "quick"), kept, _one)
    # One load with fewer flows, of both figures.
    assert quick.seconds == (300.0, 300.0, 200.0, 200.0, 100.0, 100.0)
    assert quick.drawn == 6


def test_what_a_time_ends_is_said(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if runs that `run.until` ends are told as if they sent all of their flows."""
    monkeypatch.setattr(engine, "work", lambda case: {"packet_hops": 100 * case.seed})
    chosen = reproducing.choose(["some"], library)
    whole = costing.cost(reproducing.plans(chosen, "quick"), {}, _one)
    assert whole.ended == 0 and "run.until" not in whole.in_words(1)
    file = library / "some" / "fig1" / "scenario.toml"
    text = file.read_text()
    file.write_text(text.replace("[run]", '[run]\nuntil = "1ms"'))
    assert file.read_text() != text
    chosen = reproducing.choose(["some"], library)
    ended = costing.cost(reproducing.plans(chosen, "quick"), {}, _one)
    assert ended.ended == ended.drawn == 6
    assert "run.until ends 6 of these" in ended.in_words(1)
    assert ended.in_words(1).endswith("what hosts' links cannot carry by then is left out")


def test_each_scheme_has_its_speed(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if one scheme's speed stands for another's, or it is measured on a small run of it."""
    monkeypatch.setattr(engine, "work", lambda case: {"packet_hops": 100 * case.seed})
    measured = []

    def speed(case: Case) -> float:
        measured.append((case.variant, case.seed))
        return 50.0 if case.variant == "ECMP" else 10.0

    chosen = reproducing.choose(["some"], library)
    found = costing.cost(reproducing.plans(chosen, "quick"), {}, speed)
    assert found.seconds == (30.0, 20.0, 10.0, 6.0, 4.0, 2.0)
    assert found.speeds == (10.0, 50.0)
    assert sorted(seed for _, seed in measured) == [3, 3]


def test_a_speed_is_that_of_a_run(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if a run that is over before its sample has none, or a sample goes on to the end."""
    chosen = reproducing.choose(["some"], library)
    case = reproducing.plans(chosen, "quick")[0].wanted[0].case
    looked = []

    class Whole:
        def summary(self) -> str:
            return '{"packet_hops": 5000}'

    def simulate(_toml: str, _base: str, look: engine.Watch) -> Whole:
        for hops in (0, 1000, 3000, 5000):
            looked.append(hops)
            look(0, None, 0, hops, "")
        return Whole()

    monkeypatch.setattr(engine, "simulate", simulate)
    clock = iter(range(100))
    monkeypatch.setattr(costing.time, "monotonic", lambda: float(next(clock)))
    assert costing._speed(case) == 2000.0
    assert looked == [0, 1000, 3000]
    monkeypatch.setattr(costing, "SAMPLE", 100.0)
    assert costing._speed(case) == 5000 / 4
