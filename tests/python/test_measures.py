"""What is read off a run."""

import numpy as np
import pyarrow as pa
import pytest

from leafspine.engine import FlowClass
from leafspine.measures import NETWORK, in_class, measure
from leafspine.results import UNFINISHED, flow_table

SUMMARY = {
    "dropped": 3,
    "lost": 1,
    "data_packets": 200,
    "reordered_packets": 5,
    "marks": 10,
    "window_start_ps": 0,
    "window_end_ps": 10**9,
}


def flows(sizes: list[int], fct: list[int], ideal: int = 10**9) -> pa.Table:
    many = len(sizes)
    return flow_table(
        {
            "bytes": np.array(sizes, dtype=np.uint64),
            "fct_ps": np.array(fct, dtype=np.uint64),
            "ideal_fct_ps": np.full(many, ideal, dtype=np.uint64),
            "retransmits": np.arange(many, dtype=np.uint32),
            "timeouts": np.ones(many, dtype=np.uint32),
        }
    )


def ports(names: list[str], use: list[float]) -> pa.Table:
    columns = {"name": names, "utilisation": np.array(use)}
    for column in ("queue_mean_packets", "queue_p99_packets", "queue_max_packets"):
        columns[column] = 10 * np.array(use)
    return pa.table(columns)


UPLINKS = ports(["leaf0-spine0", "leaf0-spine1#1", "leaf0-host0"], [0.2, 0.6, 1.0])


def test_flow_metrics_by_hand() -> None:
    """Breaks if a unit is off: 1000 B in 1 us are 8 Gb/s and, at an ideal 0.5 us, twice as slow."""
    table = flows([1000, 1000], [1_000_000, 3_000_000], ideal=500_000)
    found = measure(table, UPLINKS, SUMMARY, ())
    assert found["all", "flows"] == 2
    assert found["all", "fct_mean"] == 2.0
    assert found["all", "fct_p50"] == 1.0
    assert found["all", "fct_p99"] == 3.0
    assert found["all", "slowdown_mean"] == 4.0
    assert found["all", "goodput_mean"] == pytest.approx((8000 + 8000 / 3) / 2)


def test_unfinished_flows_are_counted_and_in_no_mean() -> None:
    """Breaks if the marker of an unfinished flow is taken for a time, or the flow is forgotten."""
    table = flows([10, 10, 10], [2_000_000, int(UNFINISHED), 4_000_000])
    assert table["fct_ps"].null_count == 1
    found = measure(table, UPLINKS, SUMMARY, ())
    assert (found["all", "flows"], found["all", "unfinished"]) == (3, 1)
    assert found["all", "fct_mean"] == 3.0


def test_a_class_without_finished_flows_has_no_numbers() -> None:
    """Breaks if an empty class becomes zero, or a warning of NumPy."""
    table = flows([10], [int(UNFINISHED)])
    found = measure(table, UPLINKS, SUMMARY, (FlowClass("long", low=100),))
    assert (found["long", "flows"], found["long", "fct_mean"]) == (0, None)
    assert (found["all", "unfinished"], found["all", "fct_p99"]) == (1, None)


def test_class_bounds() -> None:
    """Breaks if an exclusive bound includes its value or the other way round."""
    sizes = np.array([99, 100, 101])
    assert in_class(sizes, FlowClass("x", high=100)).tolist() == [True, True, False]
    low = FlowClass("x", low=100, low_inclusive=False)
    assert in_class(sizes, low).tolist() == [False, False, True]
    both = FlowClass("x", 99, 101, low_inclusive=True, high_inclusive=False)
    assert in_class(sizes, both).tolist() == [True, True, False]


def test_network_metrics_are_of_the_uplinks() -> None:
    """Breaks if host ports count as uplinks, or parallel links do not."""
    found = measure(flows([10, 10], [10**6, 10**6]), UPLINKS, SUMMARY, ())
    assert found[NETWORK, "utilisation_min"] == pytest.approx(20)
    assert found[NETWORK, "utilisation_mean"] == pytest.approx(40)
    assert found[NETWORK, "utilisation_max"] == pytest.approx(60)
    assert found[NETWORK, "queue_mean"] == pytest.approx(4)
    assert found[NETWORK, "queue_max"] == pytest.approx(6)
    assert found[NETWORK, "reordered_share"] == 2.5
    assert found[NETWORK, "marked_share"] == 5.0
    assert (found[NETWORK, "retransmits"], found[NETWORK, "timeouts"]) == (1, 2)


def test_a_star_has_its_switch_ports_instead() -> None:
    """Breaks if a fabric without uplinks has no queues."""
    star = ports(["switch0-host0", "host0-switch0"], [0.5, 0.9])
    found = measure(flows([10], [10**6]), star, SUMMARY, ())
    assert found[NETWORK, "utilisation_max"] == pytest.approx(50)


def test_a_window_never_reached_measured_nothing() -> None:
    """Breaks if uplinks that nobody measured are reported as idle."""
    empty = {**SUMMARY, "window_start_ps": 10**9, "window_end_ps": 10**9}
    found = measure(flows([10], [10**6]), UPLINKS, empty, ())
    for name in ("utilisation_min", "utilisation_max", "queue_mean", "queue_p99", "queue_max"):
        assert found[NETWORK, name] is None
    assert found[NETWORK, "drops"] == 3
