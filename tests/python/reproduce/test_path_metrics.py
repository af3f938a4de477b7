"""Metrics of parallel paths and of flow sizes: on tables made by hand."""

from typing import Any

import pyarrow as pa
import pytest

from leafspine.engine import Case
from leafspine.errors import InputError
from leafspine.reproduce import metrics, paths, series  # noqa: F401  (paths registers)
from leafspine.reproduce.metrics import Run
from leafspine.results import Result

MS = 10**9


def run(
    flows: dict[str, Any] | None = None,
    ports: dict[str, Any] | None = None,
    probes: dict[str, dict[str, Any]] | None = None,
) -> Run:
    """A run that left these tables."""
    result = Result(
        scenario="",
        summary={},
        flows=pa.table(flows or {}),
        ports=pa.table(ports or {}),
        probes={name: pa.table(columns) for name, columns in (probes or {}).items()},
    )
    return Run(Case("P", (), 1, "", (), "."), result, {})


FOUR_PATHS: dict[str, Any] = {
    "name": [
        *(f"rack-a-top-{n}" for n in range(4)),
        "rack-a-web",
        "rack-b-top-0",
        "top-0-rack-a",
        *(f"top-{n}-rack-a" for n in range(1, 4)),
        "top-0-rack-b",
        "web-rack-a",
    ],
    "uplink": [True] * 4 + [False, True] + [False] * 6,
    "utilisation": [0.6, 0.0, 0.8, 0.2] + [1.0] * 8,
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("min", 0.0),
        ("mean", 40.0),
        ("max", 80.0),
        ("bottom2", 10.0),
        ("top2", 70.0),
        ("spread", 200.0),
    ],
)
def test_use_of_the_paths(name: str, expected: float) -> None:
    """Breaks if a port that is no uplink of the first leaf counts, or the paths are not sorted."""
    found = metrics.value(run(ports=FOUR_PATHS), f"own.path_utilisation_{name}")
    assert found == pytest.approx(expected)


def test_two_of_one_path_are_undefined() -> None:
    """Breaks if one path passes for two."""
    one = {"name": ["leaf0-spine0"], "uplink": [True], "utilisation": [0.5]}
    assert metrics.value(run(ports=one), "own.path_utilisation_top2") is None
    assert metrics.value(run(ports=one), "own.path_utilisation_mean") == 50.0


def test_idle_paths_have_no_spread() -> None:
    """Breaks if the spread of paths that carry nothing is divided by their mean."""
    names = ["leaf0-spine0", "leaf0-spine1"]
    idle = {"name": names, "uplink": [True] * 2, "utilisation": [0.0, 0.0]}
    assert metrics.value(run(ports=idle), "own.path_utilisation_spread") == 0.0


def test_flows_that_moved() -> None:
    """Breaks if changes are counted instead of the flows that made any."""
    assert metrics.value(run({"path_changes": [0, 7, 0, 1]}), "own.flows_moved") == 50.0


def test_state_of_the_largest_balancer() -> None:
    """Breaks if samples are added up, or the unit is off."""
    state = {"time_ps": [0, 0, MS], "switch": ["leaf0", "leaf1", "leaf0"], "bytes": [1, 2500, 9]}
    assert metrics.value(run(probes={"state": state}), "own.balancer_state") == 2.5


def test_shares_of_sizes() -> None:
    """Breaks if a bin's upper bound is outside it, or the bins do not cover all flows."""
    sizes = run({"bytes": [1, 10_000, 10_001, 100_000, 100_001, 1_000_000, 1_000_001, 2_000_000]})
    names = ("to_10kb", "to_100kb", "to_1mb", "above_1mb")
    assert [metrics.value(sizes, f"own.size_{name}") for name in names] == [25.0] * 4
    assert metrics.value(sizes, "own.size_mean") == pytest.approx(4.220003 / 8)


def test_share_of_each_flows_packets() -> None:
    """Breaks if flows without a packet count, or values are not sorted."""
    flows = {"packets": [10, 0, 4], "reordered": [5, 0, 1]}
    x, y = series.of(run(flows), "flow_share:reordered")
    assert list(x) == [25.0, 50.0]
    assert list(y) == [0.5, 1.0]


def test_a_port_against_time() -> None:
    """Breaks if another port's samples slip in, or a unit is off."""
    probe = {
        "time_ps": [0, 0, MS, MS],
        "port": ["leaf0-spine0", "leaf0-spine1"] * 2,
        "utilisation": [0.0, 0.0, 0.25, 0.75],
    }
    ended = run(probes={"paths": probe})
    x, y = series.of(ended, "port:paths/leaf0-spine1")
    assert (list(x), list(y)) == ([0.0, 1.0], [0.0, 75.0])
    with pytest.raises(InputError, match="no port 'leaf0-spine9'"):
        series.of(ended, "port:paths/leaf0-spine9")
