"""What no balancer can beat: the ideal fabric's runs, and what it says of claims."""

import json
from typing import Any

import pytest

from leafspine.engine import Point
from leafspine.reproduce import ideal, pages
from leafspine.reproduce.claims import Check, Claim
from leafspine.reproduce.data import Data
from leafspine.reproduce.judging import judge
from test_engine import python

LOAD: Point = (("load", 0.8),)

RUNS = """
import json
import leafspine
from leafspine import scenario
from leafspine.reproduce import ideal
source = scenario.read('''
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "1Gbps", delay = "5us" }
fabric_link = { rate = "2.5Gbps", delay = "5us" }
[[topology.change]]
link = "leaf0-spine0"
rate = "100Mbps"
[[variant]]
name = "ECMP"
[[workload]]
kind = "poisson"
sizes = { kind = "uniform", low = "20KB", high = "200KB" }
load = 0.6
flows = 200
''')
case = scenario.single(source)
other = ideal.case_of(case)
found = {"rates": [], "starts": [], "bytes": [], "fct": []}
for one in (case, other):
    flows = leafspine.run(one.toml).flows
    found["rates"].append("25" in one.toml.split("fabric_link")[1].split(",")[0])
    found["starts"].append(flows["start_ps"].to_pylist())
    found["bytes"].append(flows["bytes"].to_pylist())
    found["fct"].append(sum(flows["fct_ps"].to_pylist()))
found["names"] = [other.variant, other.seed == case.seed, other.point == case.point]
found["change"] = "100Mbps" in other.toml
print(json.dumps(found))
"""


def test_the_ideal_fabric_has_the_same_flows() -> None:
    """Breaks if its flows are others (their number, sizes or starts), its links no faster, a slow
    link stays, or it is slower than the fabric."""
    done = python("-c", RUNS)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["starts"][0] == found["starts"][1] and len(found["starts"][0]) == 200
    assert found["bytes"][0] == found["bytes"][1]
    assert found["rates"] == [False, True] and not found["change"]
    assert found["names"] == ["ECMP", True, True]
    assert found["fct"][1] < 0.8 * found["fct"][0]


def data(ours: float, theirs: float, best: float, metric: str = "all.fct_mean") -> Data:
    """Of a system, another scheme and the ideal fabric, three seeds each."""
    made = Data()
    worse = 0.9 if "goodput" in metric else 1.1  # the system's own marks may cost something
    for runs, variant, value in (
        ("main", "QDAPS", ours),
        ("main", "ECMP", theirs),
        (ideal.runs_of("main"), "ECMP", best),
        (ideal.runs_of("main"), "QDAPS", best * worse),
    ):
        for seed in (1, 2, 3):
            made.put((runs, variant, LOAD), metric, seed, value * (1 + seed / 1000))
    return made


def claim(kind: str, metric: str = "all.fct_mean", **keys: Any) -> Claim:
    """A claim with one test."""
    return Claim("X1", "§1", "fig", kind, "", "", (Check(kind, metric, **keys),))


@pytest.mark.parametrize(
    ("best", "keys", "words"),
    [
        (6.0, {"claimed": -50}, "-40.0 % against ECMP at load 0.8"),
        (8.7, {"claimed": -50}, "-13.0 % against ECMP at load 0.8: out of reach"),
        (8.7, {"claimed": -20}, "-13.0 % against ECMP at load 0.8"),  # within the tolerance of 20
        (8.7, {"claimed": -20, "or_more": True}, "-13.0 % against ECMP at load 0.8: out of reach"),
        (8.7, {"claimed": (-50, -30)}, "-13.0 % against ECMP at load 0.8: out of reach"),
    ],
)
def test_an_effect_beyond_the_ideal_fabric_is_out_of_reach(
    best: float, keys: dict[str, Any], words: str
) -> None:
    """Breaks if an impossible claim looks like any other, or a possible one like that."""
    kind = "range" if isinstance(keys["claimed"], tuple) else "at"
    found = claim(kind, scheme="QDAPS", against="ECMP", **keys)
    assert judge(found, data(9.0, 10.0, best)).ideal == words


def test_orders_and_goodputs_have_a_bound_too() -> None:
    """Breaks if a rank that even the ideal fabric has not passes, or goodput's sign is lost."""
    order = claim("order", scheme="QDAPS", less_than=("ECMP",))
    assert judge(order, data(11, 10, 10.5)).ideal.endswith("out of reach")
    assert judge(order, data(9.8, 10, 9.5)).ideal == "-5.0 % against ECMP at load 0.8"
    name = "long.goodput_mean"
    gain = claim("at", name, scheme="QDAPS", against="ECMP", claimed=60)
    assert judge(gain, data(11, 10, 12, name)).ideal.startswith("+20.0 % against ECMP")
    assert judge(gain, data(11, 10, 12, name)).ideal.endswith("out of reach")


def several(best: float, metric: str = "all.fct_mean", **values: float) -> Data:
    """Of some schemes, and of the ideal fabric under one of them, three seeds each."""
    made = Data()
    places = {("main", name): value for name, value in values.items()}
    places[ideal.runs_of("main"), next(iter(values))] = best
    for (runs, variant), value in places.items():
        for seed in (1, 2, 3):
            made.put((runs, variant, LOAD), metric, seed, value * (1 + seed / 1000))
    return made


@pytest.mark.parametrize(
    ("metric", "keys", "words"),
    [
        ("all.fct_mean", {"less": ("A", "B", "C")}, "-20.0 % against B; -50.0 % against C"),
        ("all.goodput_mean", {"less": ("A", "B", "C")}, "+100.0 % against B; +150.0 % against A"),
        ("all.fct_mean", {"scheme": "C", "more_than": ("A", "B")}, "-50.0 % against C"),
        ("all.goodput_mean", {"scheme": "A", "less_than": ("B", "C")}, "+150.0 % against A"),
        (
            "all.fct_mean",
            {"scheme": "A", "less_than": ("B", "C")},
            "-20.0 % against B; -50.0 % against C",
        ),
        ("all.goodput_mean", {"scheme": "C", "more_than": ("B",)}, "+100.0 % against B"),
    ],
)
def test_whoever_is_said_to_be_behind_has_a_bound(
    metric: str, keys: dict[str, Any], words: str
) -> None:
    """Breaks if an order without a system has none, if it is over the one ahead, or if goodput's
    side is that of times."""
    best = 20.0 if "goodput" in metric else 8.0
    made = several(best, metric, A=8.0, B=10.0, C=16.0)
    found = judge(claim("order", metric, **keys), made).ideal.replace(" at load 0.8", "")
    assert found.startswith(words) and found.count("against") == words.count("against")


def test_of_several_who_are_ahead_the_one_with_most_decides() -> None:
    """Breaks if a bound that one of them beats stands for the others, or the words hide whose."""
    made = several(9.0, A=8.0, B=8.5, C=10.0)
    found = judge(claim("order", scheme="C", more_than=("B", "A")), made).ideal
    assert found == "-10.0 % against C at load 0.8: no bound, -20.0 % is found for A"


@pytest.mark.parametrize(
    ("best", "by", "reach"), [(6.6, 40, True), (6.7, 40, False), (9.0, 0, True), (10.1, 0, False)]
)
def test_an_order_by_much_needs_much(best: float, by: float, reach: bool) -> None:
    """Breaks if "greatly less" is within reach of a fabric that is a little better, or a bound of
    40 % of the mean of both is taken for 40 % of the other."""
    made = several(best, A=11.0, B=10.0)
    order = claim("order", scheme="A", less_than=("B",), by=by)
    assert judge(order, made).ideal.endswith("out of reach") != reach


def test_the_largest_of_several_is_out_of_reach_only_over_all() -> None:
    """Breaks if "up to 40 % over the others" is said to be out of reach because one of the others
    has little to lose, or a range because its larger end is not over each of them."""
    made = several(6.0, A=8.0, B=8.2, C=10.0)  # 27 % below B, 40 % below C
    keys: dict[str, Any] = {"scheme": "A", "others": ("B", "C")}
    words = "-26.8 % against B at load 0.8; -40.0 % against C at load 0.8"
    assert judge(claim("upto", claimed=-45, **keys), made).ideal == words
    assert judge(claim("upto", claimed=-75, **keys), made).ideal.count("out of reach") == 2
    assert judge(claim("range", claimed=(-45, -20), **keys), made).ideal == words
    assert judge(claim("range", claimed=(-45, -42), **keys), made).ideal == words.replace(
        " at load 0.8;", " at load 0.8: out of reach;", 1
    )
    assert judge(claim("range", claimed=(-75, -20), **keys), made).ideal.count("out of") == 2


@pytest.mark.parametrize(("kind", "claimed"), [("upto", -75), ("range", (-75, -20))])
def test_the_largest_of_several_loads_needs_the_ideal_fabric_at_all(
    kind: str, claimed: float | tuple[float, float]
) -> None:
    """Breaks if "up to 75 %" is said to be out of reach for one load of two."""
    made = several(6.0, A=8.0, B=10.0)
    other: Point = (("load", 0.2),)
    for (runs, variant, _), found in list(made.values.items()):
        for seed, value in found["all.fct_mean"].items():
            assert value is not None
            if "ideal" not in runs:
                made.put((runs, variant, other), "all.fct_mean", seed, value)
    largest = claim(kind, scheme="A", against="B", claimed=claimed)
    assert judge(largest, made).ideal == "-40.0 % against B at load 0.8 alone"
    for (runs, variant, _), found in list(made.values.items()):
        for seed, value in found["all.fct_mean"].items():
            assert value is not None
            if "ideal" in runs:
                made.put((runs, variant, other), "all.fct_mean", seed, value * 1.1)
    assert judge(largest, made).ideal == "-40.0 % against B at load 0.8: out of reach"


def test_more_sets_of_runs_have_a_bound_each() -> None:
    """Breaks if a claim on two workloads is bounded by the first alone."""
    made = several(6.0, A=8.0, B=10.0)
    for (runs, variant, point), found in list(made.values.items()):
        for seed, value in found["all.fct_mean"].items():
            assert value is not None
            other = runs.replace("main", "more")
            value *= 2 if "ideal" in other else 3
            made.put((other, variant, point), "all.fct_mean", seed, value)
    upto = claim("upto", scheme="A", against="B", claimed=-50, more_runs=("more",))
    assert judge(upto, made).ideal == (
        "-40.0 % against B at load 0.8 (main); -60.0 % against B at load 0.8 (more)"
    )


def test_a_bound_that_is_beaten_is_none() -> None:
    """Breaks if a claim is out of reach of an ideal fabric that its own system beats."""
    lower = claim("at", scheme="QDAPS", against="ECMP", claimed=-50)
    assert judge(lower, data(8, 10, 9)).ideal == (
        "-10.0 % against ECMP at load 0.8: no bound, -20.0 % is found"
    )
    name = "long.goodput_mean"
    gain = claim("at", name, scheme="QDAPS", against="ECMP", claimed=60)
    assert judge(gain, data(13, 10, 12, name)).ideal.endswith(": no bound, +30.0 % is found")


def test_what_has_no_ideal_runs_has_no_bound() -> None:
    """Breaks if drops, or claims without such runs, get a bound or a column."""
    made = data(9, 10, 8)
    for variant in ("ECMP", "QDAPS"):
        del made.values[ideal.runs_of("main"), variant, LOAD]
    judged = judge(claim("at", scheme="QDAPS", against="ECMP", claimed=-50), made)
    assert judged.ideal == "" and "ideal fabric" not in "".join(pages._claims([judged]))
    other = judge(claim("at", scheme="QDAPS", against="ECMP", claimed=-50), data(9, 10, 8))
    lines = pages._claims([judged, other])
    assert lines[0].endswith("| ideal fabric |") and lines[2].endswith("| – |")
    assert not ideal.is_bounded("network.drops") and not ideal.is_bounded("own.path_deviation")
