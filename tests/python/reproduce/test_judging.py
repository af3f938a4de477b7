"""Verdicts from numbers made by hand: each rule of docs/reproducing.md at its edges."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from leafspine.engine import Point
from leafspine.reproduce.claims import Check, Claim, read_claims
from leafspine.reproduce.data import Data
from leafspine.reproduce.judging import judge
from leafspine.reproduce.tolerances import beyond, of_ratio, tolerance
from leafspine.reproduce.verdicts import Judged, Verdict, effect
from leafspine.stats import Estimate

LOW: Point = (("load", 0.4),)
HIGH: Point = (("load", 0.8),)


def made(**variants: object) -> Data:
    """``QDAPS={0.4: [...], 0.8: [...]}``: values of the metric ``m`` by seed."""
    data = Data()
    for variant, points in variants.items():
        assert isinstance(points, dict)
        for load, values in points.items():
            for seed, value in enumerate(values, 1):
                data.put(("main", variant, (("load", load),)), "m", seed, value)
    return data


def claim_of(test: Check) -> Claim:
    """A claim with one test."""
    return Claim("X1", "§1", "fig", test.type, "", "", (test,))


def verdict(data: Data, kind: str, **keys: object) -> Verdict:
    """The verdict of a claim with one test."""
    return judge(claim_of(Check(kind, "m", **keys)), data).verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("claimed", "mean", "half", "expected"),
    [
        (-50, -50, 5, Verdict.REPRODUCED),
        (-50, -33.4, 5, Verdict.REPRODUCED),  # a third of 50 is 16.7
        (-50, -33.2, 5, Verdict.DIRECTION),
        (-50, -66.6, 5, Verdict.REPRODUCED),
        (-50, -66.8, 5, Verdict.DIRECTION),
        (-15, -5.1, 1, Verdict.DIRECTION),  # half of 15 is 7.5: more than a third, less than ten
        (-15, -7.6, 1, Verdict.REPRODUCED),
        (-15, -22.4, 1, Verdict.REPRODUCED),
        (-50, -50, 51, Verdict.NOT),  # the interval holds zero
        (-50, 50, 5, Verdict.NOT),
        (-50, -50, None, Verdict.DIRECTION),  # one seed
        (-50, 1, None, Verdict.NOT),
        (20, 25, 3, Verdict.REPRODUCED),
        (20, -25, 3, Verdict.NOT),
    ],
)
def test_an_effect_needs_sign_interval_and_size(
    claimed: float, mean: float, half: float | None, expected: Verdict
) -> None:
    """Breaks if a bound is off, a sign is lost, or one seed passes for certain."""
    assert effect(Estimate(mean, half, 1 if half is None else 5), claimed) == expected


@pytest.mark.parametrize(
    ("claimed", "mean", "expected"),
    [
        # Ten times less: 6.7 to 15 times, not 2.5 times (60 %).
        (-90, -60, Verdict.DIRECTION),
        (-90, -84.9, Verdict.DIRECTION),
        (-90, -85.1, Verdict.REPRODUCED),
        (-90, -93.3, Verdict.REPRODUCED),
        (-90, -93.4, Verdict.DIRECTION),
        # -54 %: a third of its logarithm.
        (-54, -40.3, Verdict.DIRECTION),
        (-54, -40.5, Verdict.REPRODUCED),
        (-90, -100, Verdict.DIRECTION),
        # A half, and an increase to twice as much, are still percentages.
        (-50, -33.4, Verdict.REPRODUCED),
        (100, 67, Verdict.REPRODUCED),
        (400, 240, Verdict.REPRODUCED),
        (400, 233, Verdict.DIRECTION),
    ],
)
def test_percentages_near_a_hundred_are_judged_as_ratios(
    claimed: float, mean: float, expected: Verdict
) -> None:
    """Breaks if three times less passes for ten times less."""
    assert effect(Estimate(mean, 1.0, 5), claimed) == expected


def test_how_far_a_ratio_may_be_off() -> None:
    """Breaks if a large ratio may be off by more than a value may, or a small one by nothing."""
    assert of_ratio(math.log(5)) == pytest.approx(math.log(1.5))
    assert of_ratio(math.log(2)) == pytest.approx(math.log(2) / 3)
    assert of_ratio(-math.log(1.5)) == pytest.approx(math.log(1.5) / 3)
    assert of_ratio(math.log(1.1)) == pytest.approx(math.log(1.1) / 2)
    assert beyond(-100, -90) == math.inf and beyond(-33.3, -50) == pytest.approx(-1, abs=0.01)


def test_the_tolerance_is_the_larger_of_its_two() -> None:
    """Breaks if small claims get ten points, or large ones no more than those."""
    assert [tolerance(c) for c in (-90, 30, -24, 10)] == [30, 10, 10, 5]


@pytest.mark.parametrize(
    ("claimed", "mean", "expected"),
    [
        (22, 80, Verdict.REPRODUCED),
        (22, 27.1, Verdict.REPRODUCED),
        (22, 26.9, Verdict.DIRECTION),  # the interval holds the bound
        (22, 12.1, Verdict.DIRECTION),  # no tolerance
        (22, -80, Verdict.NOT),
        (-22, -80, Verdict.REPRODUCED),
        (-22, -21.9, Verdict.DIRECTION),
    ],
)
def test_more_than_is_a_bound(claimed: float, mean: float, expected: Verdict) -> None:
    """Breaks if "more than 22 %" fails at 80 %, or passes with less or the wrong sign."""
    assert effect(Estimate(mean, 5, 5), claimed, or_more=True) == expected


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (-53.0, 1.0, Verdict.REPRODUCED),  # within a third of what is claimed
        (-55.0, 14.0, Verdict.EXCEEDS),  # its near end within the tolerance, beyond the claim
        (-55.0, 16.0, Verdict.DIRECTION),  # its near end short of the claim
    ],
)
def test_what_exceeds_is_certainly_better_than_claimed(
    mean: float, half: float, expected: Verdict
) -> None:
    """Breaks if a mean beyond the tolerance is enough, or its whole interval has to be beyond."""
    assert effect(Estimate(mean, half, 5), -40, praises=True) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([9.5, 9.6, 9.5], Verdict.REPRODUCED),
        ([12.0, 12.1, 12.0], Verdict.REPRODUCED),  # a gain is no loss
        ([9.9, 9.5, 9.0], Verdict.DIRECTION),  # the mean keeps the bound, the interval does not
        ([9.0, 9.1, 9.0], Verdict.NOT),
    ],
)
def test_a_difference_keeps_a_bound(values: list[float], expected: Verdict) -> None:
    """Breaks if "a loss of less than 7 %" needs a loss, or ignores the interval."""
    data = made(QDAPS={0.8: values}, ECMP={0.8: [10, 10, 10]})
    assert verdict(data, "at", scheme="QDAPS", against="ECMP", above=-7) == expected


def test_differences_are_paired() -> None:
    """Breaks if means are compared: the seeds differ tenfold, the effect is 50 % in each."""
    data = made(QDAPS={0.8: [5, 51, 495]}, ECMP={0.8: [10, 100, 1000]})
    assert verdict(data, "at", scheme="QDAPS", against="ECMP", claimed=-50) == Verdict.REPRODUCED
    data = made(QDAPS={0.8: [5, 100, 495]}, ECMP={0.8: [10, 100, 1000]})
    assert verdict(data, "at", scheme="QDAPS", against="ECMP", claimed=-50) == Verdict.NOT


def test_batches_of_one_seed_make_an_interval() -> None:
    """Breaks if one seed in batches passes for one number, if batches are not paired (they differ
    tenfold here), or if the value shown is not that of the whole run."""
    data = made(QDAPS={0.8: [170]}, ECMP={0.8: [350]})
    keys = {"scheme": "QDAPS", "against": "ECMP", "claimed": -50}
    assert verdict(data, "at", **keys) == Verdict.DIRECTION
    place, other = (("main", name, HIGH) for name in ("QDAPS", "ECMP"))
    data.put_batches(place, "m", 1, [5, 51, 495])
    data.put_batches(other, "m", 1, [10, 100, 1000])
    assert verdict(data, "at", **keys) == Verdict.REPRODUCED
    mean = data.mean(place, "m")
    assert mean is not None and mean.mean == 170 and mean.half is not None and mean.n == 3
    # A class without flows in one batch of one variant: that pair is left out, nothing else.
    data.put_batches(place, "m", 1, [5, None, 495])
    assert verdict(data, "at", **keys) == Verdict.REPRODUCED
    data.put_batches(place, "m", 1, [5, 100, 495])
    assert verdict(data, "at", **keys) == Verdict.NOT


def test_batches_of_several_seeds_are_paired_with_their_own() -> None:
    """Breaks if the same batch of different seeds is taken for one."""
    data = made(QDAPS={0.8: [5, 500]}, ECMP={0.8: [10, 1000]})
    for name, factor in (("QDAPS", 0.5), ("ECMP", 1.0)):
        data.put_batches(("main", name, HIGH), "m", 1, [factor * 8, factor * 12])
        data.put_batches(("main", name, HIGH), "m", 2, [factor * 700, factor * 1301])
    keys = {"scheme": "QDAPS", "against": "ECMP", "claimed": -50}
    assert len(data.samples(("main", "ECMP", HIGH), "m")) == 4
    assert verdict(data, "at", **keys) == Verdict.REPRODUCED


def test_without_a_point_the_highest_one_counts() -> None:
    """Breaks if "high load" is the first point of the file, or the mean over all."""
    data = made(
        QDAPS={0.8: [5, 5.1, 4.9], 0.4: [20, 21, 20]}, ECMP={0.8: [10, 10, 10], 0.4: [10, 10, 10]}
    )
    assert verdict(data, "at", scheme="QDAPS", against="ECMP", claimed=-50) == Verdict.REPRODUCED
    low = {"load": 0.4}
    assert verdict(data, "at", scheme="QDAPS", against="ECMP", claimed=-50, at=low) == Verdict.NOT


def test_up_to_is_the_largest_effect() -> None:
    """Breaks if "up to" is a mean over the sweep, or an increase passes for a reduction."""
    data = made(
        P={0.4: [9, 9.1, 8.9], 0.8: [5, 5.1, 4.9]}, E={0.4: [10, 10, 10], 0.8: [10, 10, 10]}
    )
    assert verdict(data, "upto", scheme="P", against="E", claimed=-50) == Verdict.REPRODUCED
    assert verdict(data, "upto", scheme="E", against="P", claimed=-50) == Verdict.NOT
    assert verdict(data, "upto", scheme="E", against="P", claimed=100) == Verdict.REPRODUCED


def test_the_largest_of_many_may_be_so_by_chance() -> None:
    """Breaks if nothing says that it was chosen, or what it would be with intervals for all."""
    ours, flat = (8.6, 8.8, 9.0), (10.0, 10.1, 9.9)  # 12 % [7, 17] less, and nothing
    test = Check("upto", "m", scheme="A", against="B", claimed=-12)
    loads = [0.1 * step for step in range(1, 10)]
    for count, said in (
        (
            9,
            "largest of 9: -12.0 % [-17.0, -7.0] at load 0.1; with intervals for all 9 at once not",
        ),
        (2, "largest of 2: -12.0 % [-17.0, -7.0] at load 0.1"),
        (1, "largest: -12.0 % [-17.0, -7.0] at load 0.1"),
    ):
        a = {load: ours if load == loads[0] else flat for load in loads[:count]}
        found = judge(claim_of(test), made(A=a, B=dict.fromkeys(a, (10.0, 10.0, 10.0))))
        assert found.verdict == Verdict.REPRODUCED
        assert found.found == (f"{said} reproduced" if count == 9 else said)
    all_of = made(A=dict.fromkeys(loads, ours), B=dict.fromkeys(loads, (10.0, 10.0, 10.0)))
    range_ = judge(claim_of(replace(test, type="range", claimed=(-12.0, -12.0))), all_of)
    assert range_.verdict == Verdict.REPRODUCED
    assert range_.found.endswith(", of 9; with intervals for all 9 at once not reproduced")


def test_a_range_needs_both_ends() -> None:
    """Breaks if one end is not looked at, or a point of the other sign is let by."""
    data = made(
        P={0.4: [7.5, 7.6, 7.4], 0.8: [5, 5.1, 4.9]}, E={0.4: [10, 10, 10], 0.8: [10, 10, 10]}
    )
    keys = {"scheme": "P", "against": "E"}
    assert verdict(data, "range", claimed=(-25, -50), **keys) == Verdict.REPRODUCED
    assert verdict(data, "range", claimed=(-50, -50), **keys) == Verdict.DIRECTION
    worse = made(
        P={0.4: [10.5, 10.6, 10.4], 0.8: [5, 5.1, 4.9]}, E={0.4: [10, 10, 10], 0.8: [10, 10, 10]}
    )
    assert verdict(worse, "range", claimed=(-25, -50), **keys) == Verdict.NOT


def test_ratios_are_judged_as_logarithms() -> None:
    """Breaks if 5 times is judged in points, or the direction is lost."""
    keys = {"scheme": "RPS", "start": {"load": 0.4}, "end": {"load": 0.8}}
    for last, expected in (
        (50, Verdict.REPRODUCED),
        (76, Verdict.DIRECTION),  # more than 5 * 1.5
        (74, Verdict.REPRODUCED),
        (34, Verdict.REPRODUCED),
        (33, Verdict.DIRECTION),  # less than 5 / 1.5
        (9, Verdict.NOT),
    ):
        data = made(RPS={0.4: [10, 10, 10], 0.8: [last, last * 1.001, last * 0.999]})
        assert verdict(data, "ratio", claimed=5, **keys) == expected, last
    data = made(A={0.8: [15, 15.1, 14.9]}, B={0.8: [10, 10, 10]})
    assert verdict(data, "ratio", claimed=1.5, scheme="A", against="B") == Verdict.REPRODUCED
    assert verdict(data, "ratio", claimed=1.5, scheme="B", against="A") == Verdict.NOT


def test_absolute_values_and_bounds() -> None:
    """Breaks if the relative error or a bound is off, or zero divides."""
    data = made(R={0.8: [30, 31, 29]}, Z={0.8: [0, 0, 0]}, N={0.8: [0.4, 0.6, 0.45]})
    assert verdict(data, "abs", scheme="R", claimed=40) == Verdict.REPRODUCED
    assert verdict(data, "abs", scheme="R", claimed=46) == Verdict.DIRECTION
    assert verdict(data, "abs", scheme="R", claimed=61) == Verdict.NOT
    assert verdict(data, "abs", scheme="Z", claimed=0, below=0.5) == Verdict.REPRODUCED
    assert verdict(data, "abs", scheme="N", below=0.5) == Verdict.DIRECTION
    assert verdict(data, "abs", scheme="N", below=0.1) == Verdict.NOT
    assert verdict(data, "abs", scheme="R", above=25) == Verdict.REPRODUCED
    one = made(R={0.8: [30]})
    assert verdict(one, "abs", scheme="R", claimed=30) == Verdict.DIRECTION


@pytest.mark.parametrize(
    ("values", "better", "expected"),
    [
        ([3, 3.1, 2.9], "less", Verdict.EXCEEDS),  # 3 for a claimed 10
        ([6, 6.1, 5.9], "less", Verdict.EXCEEDS),  # within a factor of two
        ([7, 7.1, 6.9], "less", Verdict.REPRODUCED),  # within a third
        ([3, 3.1, 2.9], "", Verdict.NOT),
        ([6, 6.1, 5.9], "", Verdict.DIRECTION),
        ([3, 3.1, 2.9], "more", Verdict.NOT),
        ([30, 31, 29], "more", Verdict.EXCEEDS),
        ([30, 31, 29], "less", Verdict.NOT),
        ([1, 6, 11], "less", Verdict.DIRECTION),  # the interval holds 10
        ([3], "less", Verdict.NOT),  # one seed
    ],
)
def test_a_value_better_than_claimed_exceeds(
    values: list[float], better: str, expected: Verdict
) -> None:
    """Breaks if a better value counts as a miss, a worse or a doubtful one as better, or if it does
    where nobody is praised."""
    data = made(P={0.8: values})
    assert verdict(data, "abs", scheme="P", claimed=10, better=better) == expected


def test_an_order_is_every_pair() -> None:
    """Breaks if one pair is enough, a doubtful one passes, or zeros cannot be compared."""
    data = made(
        A={0.8: [1, 1.1, 0.9]}, B={0.8: [2, 2.1, 1.9]}, C={0.8: [2, 2.3, 1.8]}, Z={0.8: [0, 0, 0]}
    )
    assert verdict(data, "order", less=("A", "B")) == Verdict.REPRODUCED
    assert verdict(data, "order", less=("A", "B", "C")) == Verdict.DIRECTION
    assert verdict(data, "order", less=("B", "A")) == Verdict.NOT
    assert verdict(data, "order", less=("Z", "A")) == Verdict.REPRODUCED
    assert verdict(data, "order", scheme="A", less_than=("B", "C")) == Verdict.REPRODUCED
    assert verdict(data, "order", scheme="A", more_than=("Z",)) == Verdict.REPRODUCED
    assert verdict(data, "order", scheme="A", less_than=("B", "Z")) == Verdict.NOT
    assert verdict(data, "order", scheme="Z", less_than=("Z",)) == Verdict.NOT


def test_an_advantage_can_be_greater_elsewhere() -> None:
    """Breaks if sets of runs are mixed up."""
    data = made(P={0.8: [8, 8.1, 7.9]}, E={0.8: [10, 10, 10]})
    for seed, value in enumerate((5, 5.1, 4.9), 1):
        data.put(("asym", "P", HIGH), "m", seed, value)
        data.put(("asym", "E", HIGH), "m", seed, 10)
    keys = {"scheme": "P", "against": "E", "advantage": True}
    good = verdict(data, "order", runs="asym", runs_against="main", **keys)
    bad = verdict(data, "order", runs="main", runs_against="asym", **keys)
    assert (good, bad) == (Verdict.REPRODUCED, Verdict.NOT)


def test_both_sides_of_an_advantage_are_changed() -> None:
    """Breaks if an advantage under another setting is compared with one without it, or if a set
    that the setting leaves alone is not compared as it was."""
    data = made(P={0.8: [8, 8.1, 7.9]}, E={0.8: [10, 10, 10]})
    for runs, mean in (("asym", 9), ("asym~other", 5), ("main~other", 2), ("asym~one", 5)):
        for seed, off in enumerate((0, 0.1, -0.1), 1):
            data.put((runs, "P", HIGH), "m", seed, mean + off)
            data.put((runs, "E", HIGH), "m", seed, 10)
    keys = {"scheme": "P", "against": "E", "advantage": True}
    test = Check("order", "m", runs="asym", runs_against="main", **keys)  # type: ignore[arg-type]
    claim = Claim("X1", "§1", "fig", "order", "", "", (test,))
    assert judge(claim, data).found == "advantage 10.0 against 20.0 %: -10.0 % [-10.0, -10.0]"
    assert judge(claim, data, "~other").found.startswith("advantage 50.0 against 80.0 %")
    assert judge(claim, data, "~one").found.startswith("advantage 50.0 against 20.0 %")


def test_trends() -> None:
    """Breaks if a fall passes for a rise, or a flat line's bound is not that of its interval."""
    data = made(A={0.4: [10, 10, 10], 0.8: [11.5, 11.4, 11.6]}, B={0.4: [9, 9, 9], 0.8: [5, 5, 5]})
    assert verdict(data, "rise", scheme="A") == Verdict.REPRODUCED
    assert verdict(data, "rise", scheme="B") == Verdict.NOT
    assert verdict(data, "rise", schemes=("A", "B")) == Verdict.NOT
    assert verdict(data, "flat", scheme="A", bound=20) == Verdict.REPRODUCED
    assert verdict(data, "flat", scheme="A", bound=14) == Verdict.DIRECTION
    assert verdict(data, "flat", scheme="B", bound=20) == Verdict.NOT
    assert verdict(data, "rise", scheme="B", against="A") == Verdict.REPRODUCED
    assert verdict(data, "rise", scheme="A", against="B") == Verdict.NOT


def test_a_rise_slows_where_its_second_half_is_less_than_its_first() -> None:
    """Breaks if a steady rise passes for one that slows, or one that is not certain for certain."""

    def rising(*rises: list[float]) -> Data:
        return made(
            RPS={load: [10 + rise[at] for rise in rises] for at, load in enumerate((1, 2, 3))}
        )

    slows = rising([0, 5, 6], [0, 4.8, 6])
    assert verdict(slows, "slows", scheme="RPS") == Verdict.REPRODUCED
    assert verdict(rising([0, 2, 5], [0, 2, 4]), "slows", scheme="RPS") == Verdict.NOT
    assert verdict(rising([0, 5, 6], [0, 2, 4]), "slows", scheme="RPS") == Verdict.DIRECTION
    found = judge(claim_of(Check("slows", "m", scheme="RPS")), rising([0, 5, 6], [0, 5, 6])).found
    # A rise of 5, then of 1: 4 less, of a mean of 13.67.
    assert found.startswith("RPS -29.3 %")
    assert verdict(rising([0, 5, 6]), "slows", scheme="ECMP") == Verdict.MISSING


def test_every_point_counts() -> None:
    """Breaks if a mean over the points hides one where it does not hold, or one without numbers."""
    data = made(A={0.4: [1, 1], 0.8: [3, 3]}, B={0.4: [9, 9], 0.8: [2, 2]})
    order = {"scheme": "A", "less_than": ("B",)}
    assert verdict(data, "order", **order) == Verdict.REPRODUCED
    assert verdict(data, "order", **order, every=True) == Verdict.NOT
    assert verdict(data, "order", **order, every=True, at={"load": 0.4}) == Verdict.REPRODUCED
    assert verdict(data, "abs", scheme="A", below=2.5) == Verdict.REPRODUCED
    assert verdict(data, "abs", scheme="A", below=2.5, every=True) == Verdict.NOT
    del data.values["main", "B", LOW]
    assert verdict(data, "order", **order, every=True) == Verdict.MISSING
    found = judge(claim_of(Check("abs", "m", scheme="A", below=9, every=True)), data).found
    assert found.count("at load 0.4") == found.count("at load 0.8") == 1


def test_a_test_with_lists_is_one_for_each(tmp_path: Path) -> None:
    """Breaks if one of a list is left out, or another scheme is meant by itself."""
    path = tmp_path / "claims.toml"
    path.write_text("""
[[claim]]
id = "C1"
place = "§1"
figure = "fig1"
type = "order"
says = "cache is slower"
[[claim.test]]
metric = ["m", "n"]
runs = "cache"
runs_against = ["web", "mining"]
scheme = ["A", "B"]
more_than = "itself"
""")
    (found,) = read_claims(path)
    said = [(t.metric, t.runs_against, t.scheme, *t.more_than) for t in found.tests]
    assert said == [
        (metric, runs, scheme, scheme)
        for metric in ("m", "n")
        for runs in ("web", "mining")
        for scheme in ("A", "B")
    ]


def test_any_two_are_similar() -> None:
    """Breaks if schemes that are all near one of them pass, though two of them are not."""
    data = made(A={0.8: [10, 10]}, B={0.8: [11, 11]}, C={0.8: [12, 12]})
    assert verdict(data, "similar", schemes=("A", "B"), bound=15) == Verdict.REPRODUCED
    assert verdict(data, "similar", schemes=("B", "A", "C"), bound=15) == Verdict.NOT


def test_similar_means_the_whole_interval() -> None:
    """Breaks if a wide interval around zero counts as alike."""
    data = made(A={0.8: [10, 10.1, 9.9]}, B={0.8: [10, 10, 10]}, C={0.8: [10, 12, 8]})
    assert verdict(data, "similar", scheme="A", against="B", bound=10) == Verdict.REPRODUCED
    assert verdict(data, "similar", scheme="C", against="B", bound=10) == Verdict.DIRECTION
    assert verdict(data, "similar", scheme="A", against="B", bound=0.5) == Verdict.DIRECTION


def test_the_worst_test_counts_and_holes_are_seen() -> None:
    """Breaks if a claim has its best test's verdict, or a missing run passes for anything."""
    data = made(A={0.8: [1, 1.1, 0.9]}, B={0.8: [2, 2.1, 1.9]})
    tests = (Check("order", "m", less=("A", "B")), Check("order", "m", less=("B", "A")))
    claim = Claim("X1", "§1", "fig", "order", "", "", tests)
    assert judge(claim, data).verdict == Verdict.NOT
    for kind, keys in (
        ("at", {"scheme": "A", "against": "B", "claimed": -50}),
        ("upto", {"scheme": "A", "against": "B", "claimed": -50}),
        ("range", {"scheme": "A", "against": "B", "claimed": (-50, -60)}),
        ("ratio", {"scheme": "A", "against": "B", "claimed": 2}),
        ("abs", {"scheme": "A", "claimed": 1}),
        ("order", {"less": ("A", "B")}),
        ("similar", {"scheme": "A", "against": "B", "bound": 10}),
        ("rise", {"scheme": "A"}),
        ("flat", {"scheme": "A", "bound": 20}),
    ):
        assert verdict(Data(), kind, **keys) == Verdict.MISSING, kind


def test_a_sensitivity_judges_its_own_runs() -> None:
    """Breaks if the claim is judged by the runs of the default again."""
    data = made(A={0.8: [1, 1.1, 0.9]}, B={0.8: [2, 2.1, 1.9]})
    for seed in (1, 2, 3):
        data.put(("main~other", "A", HIGH), "m", seed, 3 + seed / 10)
        data.put(("main~other", "B", HIGH), "m", seed, 2 + seed / 10)
    claim = Claim("X1", "§1", "fig", "order", "", "", (Check("order", "m", less=("A", "B")),))
    found = (judge(claim, data).verdict, judge(claim, data, "~other").verdict)
    assert found == (Verdict.REPRODUCED, Verdict.NOT)


def test_the_largest_effect_of_several_sets_of_runs() -> None:
    """Breaks if only the first set is looked at, or if it is not said which had the largest."""
    data = made(A={0.8: [9, 9.1, 8.9]}, B={0.8: [10, 10.1, 9.9]})
    for seed in (1, 2, 3):
        data.put(("more", "A", HIGH), "m", seed, 5 + seed / 10)
        data.put(("more", "B", HIGH), "m", seed, 10 + seed / 5)
    keys = {"scheme": "A", "against": "B", "claimed": -50}
    assert verdict(data, "upto", **keys) == Verdict.DIRECTION
    test = Check("upto", "m", more_runs=("more",), **keys)  # type: ignore[arg-type]
    found = judge(Claim("X1", "§1", "fig", "upto", "", "", (test,)), data)
    assert found.verdict == Verdict.REPRODUCED
    assert found.found.endswith("(more)")


def test_a_claim_about_one_set_of_runs() -> None:
    """Breaks if a sensitivity is tested on runs that it does not change, or not of its own."""
    web, cache = (Check("order", "m", runs=runs, less=("A", "B")) for runs in ("web", "cache"))
    claim = Claim("X1", "§1", "fig", "order", "", "", (web, cache, web))
    assert claim.about("web").tests == (web, web)
    assert claim.about("cache", "web").tests == (web, cache, web)
    assert not claim.about("main").tests


def test_a_claim_at_another_point() -> None:
    """Breaks if a claim that is moved is judged at its own point, or keeps nothing else of it."""
    data = made(A={0.4: [3, 3.1, 2.9], 0.8: [1, 1.1, 0.9]}, B={0.4: [2, 2, 2], 0.8: [2, 2, 2]})
    test = Check("order", "m", less=("A", "B"), at={"load": 0.8})
    claim = Claim("X1", "§1", "fig", "order", "", "", (test,))
    assert judge(claim, data).verdict == Verdict.REPRODUCED
    assert judge(claim.moved({"load": 0.4}), data).verdict == Verdict.NOT
    both = replace(test, at={"load": 0.8, "size": 1})
    [found] = replace(claim, tests=(both,)).moved({"load": 0.4}).tests
    assert found == replace(both, at={"load": 0.4, "size": 1})
    assert claim.moved({}) == claim


def test_a_failed_run_of_a_sensitivity_is_a_hole() -> None:
    """Breaks if the default's number stands in for a baseline that failed elsewhere."""
    data = made(A={0.8: [1, 1.1, 0.9]}, B={0.8: [2, 2.1, 1.9]})
    for seed in (1, 2, 3):
        data.put(("main~other", "A", HIGH), "m", seed, 1 + seed / 10)
    claim = Claim("X1", "§1", "fig", "order", "", "", (Check("order", "m", less=("A", "B")),))
    assert judge(claim, data, "~other").verdict == Verdict.MISSING


def test_every_scheme_of_a_growing_advantage_counts() -> None:
    """Breaks if only the first one's advantage is looked at."""
    data = made(
        A={0.4: [9, 9, 9], 0.8: [5, 5.1, 4.9]},
        B={0.4: [5, 5, 5], 0.8: [9, 9.1, 8.9]},
        E={0.4: [10, 10, 10], 0.8: [10, 10, 10]},
    )
    assert verdict(data, "rise", schemes=("A",), against="E") == Verdict.REPRODUCED
    assert verdict(data, "rise", schemes=("A", "B"), against="E") == Verdict.NOT


def test_a_rise_can_begin_later() -> None:
    """Breaks if ``from`` is not looked at: the fall before it does not count."""
    data = made(A={0.2: [20, 20, 20], 0.4: [10, 10, 10], 0.8: [15, 15, 15.1]})
    assert verdict(data, "rise", scheme="A") == Verdict.NOT
    assert verdict(data, "rise", scheme="A", start={"load": 0.4}) == Verdict.REPRODUCED


def test_a_rise_from_a_point_without_numbers_is_missing() -> None:
    """Breaks if the first or the last point is taken in the place of one that is named."""
    data = made(A={0.4: [10, 10, 10], 0.8: [15, 15, 15.1]})
    assert verdict(data, "rise", scheme="A", start={"load": 0.2}) == Verdict.MISSING
    assert verdict(data, "rise", scheme="A", end={"load": 0.9}) == Verdict.MISSING


def test_averages_are_taken_before_they_are_compared() -> None:
    """Breaks if points are compared one by one: the first has no base for a percentage."""
    data = made(
        A={0.4: [0.0, 0.0, 0.0], 0.8: [10.0, 11.0, 10.0]},
        B={0.4: [0.0, 0.0, 0.0], 0.8: [40.0, 40.0, 41.0]},
    )
    keys = {"scheme": "A", "against": "B", "average": True}
    assert verdict(data, "at", claimed=-75, **keys) == Verdict.REPRODUCED
    assert verdict(data, "at", claimed=-30, **keys) == Verdict.DIRECTION
    assert verdict(data, "ratio", claimed=0.25, **keys) == Verdict.REPRODUCED
    low = {0.4: [40.0, 40.0, 41.0], 0.8: [10.0, 11.0, 10.0]}
    data = made(A=low, B={0.4: [10.0, 10.0, 11.0], 0.8: [40.0, 41.0, 40.0]})
    assert verdict(data, "at", claimed=-75, **keys) == Verdict.NOT  # at the last point alone: -75


def test_up_to_looks_at_all_others() -> None:
    """Breaks if only the first of the others counts, or a range leaves one out."""
    data = made(
        A={0.4: [10.0, 10.1, 10.0]}, B={0.4: [12.5, 12.5, 12.6]}, C={0.4: [25.0, 25.0, 25.1]}
    )
    keys = {"scheme": "A", "others": ("B", "C")}
    assert verdict(data, "upto", claimed=-60, **keys) == Verdict.REPRODUCED
    assert verdict(data, "range", claimed=(-20, -60), **keys) == Verdict.REPRODUCED
    assert verdict(data, "range", claimed=(-50, -60), **keys) == Verdict.DIRECTION


def test_pairs_in_two_sets_of_runs_say_which() -> None:
    """Breaks if a reader sees a variant compared with itself."""
    data = made(A={0.4: [1.0, 1.0, 1.1]})
    for seed in (1, 2, 3):
        data.put(("other", "A", LOW), "m", seed, 2.0)
    test = Check("order", "m", scheme="A", less_than=("A",), runs_against="other")
    (finding,) = judge(Claim("X1", "§1", "fig", "order", "", "", (test,)), data).findings
    assert finding.verdict == Verdict.REPRODUCED
    assert finding.found.startswith("A (main) to A (other) -")


def test_many_comparisons_are_cut_to_those_that_decide() -> None:
    """Breaks if the one comparison that fails is lost among those that hold, or a list is cut."""
    data = made(
        A={0.4: [1.0, 1.1, 1.0]},
        Best={0.4: [0.5, 0.5, 0.6]},
        **{f"B{i}": {0.4: [2.0, 2.1, 2.2]} for i in range(5)},
    )
    others = (*(f"B{i}" for i in range(5)), "Best")

    def judged(names: tuple[str, ...]) -> Judged:
        test = Check("order", "m", scheme="A", less_than=names)
        return judge(Claim("X1", "§1", "fig", "order", "", "", (test,)), data)

    mixed = judged(others)
    assert mixed.found.count(" to ") == 6
    assert mixed.brief.startswith("5 of 6 comparisons reproduced; not reproduced: A to Best +")
    assert mixed.brief.count("A to ") == 1
    assert judged(others[:5]).brief.startswith("all 5 comparisons, the first: A to B0 -")
    short = judged(others[2:])
    assert short.brief == short.found
    assert judged(("B0", "absent")).brief == "no data yet for 1 of 2 comparisons"


def test_what_a_number_is_of_is_said_where_a_claim_has_several() -> None:
    """Breaks if two comparisons of a claim, of two metrics or sets of runs, read alike, in full or
    cut to those that decide; or if one that has no other says what needs no word."""
    data = Data()
    for runs in ("main", "cache"):
        for metric in ("all.fct_mean", "short.fct_p99"):
            for at, variant in enumerate(("QDAPS", "ECMP", "RPS")):
                for seed in (1, 2, 3):
                    data.put((runs, variant, HIGH), metric, seed, 10.0 + at + seed / 100)
    test = Check("order", "all.fct_mean", scheme="QDAPS", less_than=("ECMP", "RPS"))
    tests = [
        replace(test, runs=runs, metric=metric)
        for runs in ("main", "cache")
        for metric in ("all.fct_mean", "short.fct_p99")
    ]
    claim = replace(claim_of(test), tests=tuple(tests))
    heads = [part.split(": QDAPS to ECMP")[0] for part in judge(claim, data).found.split("; ")]
    assert heads == [
        *("mean FCT", "p99 FCT of short flows"),
        *("cache, mean FCT", "cache, p99 FCT of short flows"),
    ]
    titled = [replace(each, titles={"main": "web search", "cache": "caches"}) for each in tests]
    text = judge(replace(claim, tests=tuple(titled)), data).found
    assert text.startswith("web search, mean FCT: QDAPS to ECMP") and "; caches, mean FCT: " in text
    assert judge(claim, data).brief.startswith("all 8 comparisons, the first: mean FCT: QDAPS")
    assert judge(claim_of(test), data).found.startswith("QDAPS to ECMP")
