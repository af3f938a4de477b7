"""What is read off a run."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from leafspine import fabric, remarks
from leafspine.comparison_data import ComparisonData
from leafspine.engine import Case, FlowClass
from leafspine.measures import (
    COLLECTIVES,
    NETWORK,
    PAUSE_METRICS,
    RECOVERY,
    in_class,
    measure,
)
from leafspine.results import UNFINISHED, flow_table, measured
from leafspine.scenario import Source

SUMMARY = {
    "dropped": 3,
    "lost": 1,
    "data_packets": 200,
    "reordered_packets": 5,
    "marks": 10,
    "window_start_ps": 0,
    "window_end_ps": 10**9,
}


def flows(
    sizes: list[int], fct: list[int], ideal: int = 10**9, starts: list[int] | None = None
) -> pa.Table:
    many = len(sizes)
    return flow_table(
        {
            "bytes": np.array(sizes, dtype=np.uint64),
            "start_ps": np.array(starts or [0] * many, dtype=np.uint64),
            "fct_ps": np.array(fct, dtype=np.uint64),
            "ideal_fct_ps": np.full(many, ideal, dtype=np.uint64),
            "retransmits": np.arange(many, dtype=np.uint32),
            "timeouts": np.ones(many, dtype=np.uint32),
            "reordered": np.full(many, 3, dtype=np.uint32),
            "packets": np.full(many, 12, dtype=np.uint32),
        }
    )


def ports(names: list[str], use: list[float]) -> pa.Table:
    columns = {"name": names, "utilisation": np.array(use)}
    for column in ("queue_mean_packets", "queue_p99_packets", "queue_max_packets"):
        columns[column] = 10 * np.array(use)
    return pa.table(columns)


UPLINKS = ports(["leaf0-spine0", "leaf0-spine1#1", "leaf0-host0"], [0.2, 0.6, 1.0]).append_column(
    "uplink", pa.array([True, True, False])
)


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
    """Breaks if uplinks that were not measured are reported as idle."""
    empty = {**SUMMARY, "window_start_ps": 10**9, "window_end_ps": 10**9}
    found = measure(flows([10], [10**6]), UPLINKS, empty, ())
    for name in ("utilisation_min", "utilisation_max", "queue_mean", "queue_p99", "queue_max"):
        assert found[NETWORK, name] is None
    assert found[NETWORK, "drops"] == 3


WARM = {
    **SUMMARY,
    "warmup_ps": 500,
    "window_start_ps": 500,
    "window_end_ps": 1500,
    "bytes_delivered_in_window": 250,
    "dropped_in_warmup": 2,
    "lost_in_warmup": 1,
    "marks_in_warmup": 4,
    "data_packets_in_warmup": 80,
}


def test_what_starts_in_the_warmup_is_in_no_statistic() -> None:
    """Breaks if a flow of the warm-up is in any mean, count or share, or the one that starts as it
    ends is in none; or if drops and marks of the warm-up count."""
    table = flows([10, 10, 10], [9 * 10**6, 10**6, 3 * 10**6], starts=[499, 500, 1400])
    found = measure(table, UPLINKS, WARM, (FlowClass("x", high=100),))
    for group in ("all", "x"):
        assert found[group, "flows"] == 2
        assert found[group, "fct_mean"] == 2.0
        assert found[group, "fct_p99"] == 3.0
    assert (found[NETWORK, "retransmits"], found[NETWORK, "timeouts"]) == (1 + 2, 2)
    assert found[NETWORK, "reordered_share"] == 25.0
    assert (found[NETWORK, "drops"], found[NETWORK, "lost"]) == (1, 0)
    assert found[NETWORK, "marked_share"] == 100 * 6 / 120


def test_offered_and_carried_by_hand() -> None:
    """Breaks if a flow that starts outside the window is offered to it, or a unit is off: 1 byte a
    picosecond are 8,000 Gb/s."""
    starts = [499, 500, 1499, 1500]
    table = flows([1, 20, 300, 4000], [10**6] * 4, starts=starts)
    found = measure(table, UPLINKS, WARM, ())
    assert found[NETWORK, "offered"] == pytest.approx(8000 * 320 / 1000)
    assert found[NETWORK, "carried"] == pytest.approx(8000 * 250 / 1000)
    empty = {**WARM, "window_end_ps": 500}
    found = measure(table, UPLINKS, empty, ())
    assert (found[NETWORK, "offered"], found[NETWORK, "carried"]) == (None, None)


def test_results_of_before_have_no_carried_traffic() -> None:
    """Breaks if a result whose summary lacks the new counts cannot be read, or gets zeros."""
    found = measure(flows([1000], [10**6]), UPLINKS, SUMMARY, ())
    assert found[NETWORK, "offered"] == pytest.approx(0.008)
    assert found[NETWORK, "carried"] is None
    old = {name: value for (group, name), value in found.items() if group == NETWORK}
    del old["carried"], old["offered"]
    read = measured({"classes": {"all": {"flows": 1}}, "network": old})
    assert read[NETWORK, "carried"] is None and read[NETWORK, "drops"] == 3


def test_uplinks_are_what_the_engine_says() -> None:
    """Breaks if names decide which ports are uplinks where the engine has said it, or if an old
    result, which does not say it, has others than its ports to a higher tier."""
    names = ["rack-a-top", "rack-a-web", "top-rack-a", "web-rack-a"]
    own = ports(names, [0.2, 0.9, 0.4, 0.9])
    own = own.append_column("uplink", pa.array([False, False, True, False]))
    found = measure(flows([10], [10**6]), own, SUMMARY, ())
    assert found[NETWORK, "utilisation_mean"] == pytest.approx(40)
    pods = ["tor0-agg0", "tor0-host0", "agg0-tor0", "agg0-core0", "core0-agg0", "host0-tor0"]
    old = ports(pods, [0.2, 0.9, 0.9, 0.4, 0.9, 0.9])
    found = measure(flows([10], [10**6]), old, SUMMARY, ())
    assert found[NETWORK, "utilisation_mean"] == pytest.approx(30)


def test_a_star_has_its_switchs_ports() -> None:
    """Breaks if hosts' own ports count as a star's, whatever its hosts are called."""
    for hosts in (["host0", "host1"], ["web-1", "db"]):
        names = [f"s-{host}" for host in hosts] + [f"{host}-s" for host in hosts]
        star = ports(names, [0.2, 0.4, 1.0, 1.0])
        star = star.append_column("uplink", pa.array([False] * 4))
        found = measure(flows([10], [10**6]), star, SUMMARY, ())
        assert found[NETWORK, "utilisation_mean"] == pytest.approx(30)


def test_hosts_are_what_the_engine_says() -> None:
    """Breaks if a switch with one link passes for a host, or a host called otherwise for none."""
    names = ["rack-web", "rack-host1", "rack-stub", "stub-rack", "web-rack", "host1-rack"]
    told = pa.table({"name": names, "tier": [1, 1, 1, 3, 0, 0]})
    assert fabric.hosts_of(told) == ["web", "host1"]
    tiers = {node.name: node.tier for node in fabric.of_ports(told).nodes}
    assert tiers == {"rack": 1, "stub": 2, "web": 0, "host1": 0}
    old = pa.table({"name": ["s-host10", "s-host2", "host10-s", "host2-s"]})
    assert fabric.hosts_of(old) == ["host2", "host10"]


PAUSED = {
    **SUMMARY,
    "flow_control": True,
    "lossless_drops": 7,
    "pause_storms": 2,
    "storm_drops": 40,
}


def test_pauses_by_hand() -> None:
    """Breaks if a unit of what flow control did is off, if a port that faces a host counts as one
    between switches, or if a run without flow control has any of it."""
    names = ["leaf0-spine0", "leaf0-host0", "spine0-leaf0", "host0-leaf0"]
    table = ports(names, [0.0] * 4)
    table = table.append_column("tier", pa.array([1, 1, 2, 0]))
    table = table.append_column("pause_ps", pa.array([10**8, 0, 3 * 10**8, 6 * 10**8]))
    table = table.append_column("pauses", pa.array([1, 0, 2, 4]))
    found = measure(flows([10], [10**6]), table, PAUSED, ())
    values = [found[NETWORK, metric.name] for metric in PAUSE_METRICS]
    assert values == pytest.approx([1.0, 20.0, 60.0, 7, 7, 2, 40])
    assert (NETWORK, "paused") not in measure(flows([10], [10**6]), table, SUMMARY, ())
    # Of before summaries said whether there is flow control, or what watchdogs drop.
    old = {**SUMMARY, "pause_frames": 3, "lossless_drops": 0, "pause_storms": 0}
    found = measure(flows([10], [10**6]), table, old, ())
    assert (found[NETWORK, "paused"], found[NETWORK, "storm_drops"]) == (1.0, None)
    never = {**PAUSED, "window_start_ps": 10**9}
    found = measure(flows([10], [10**6]), table, never, ())
    assert [found[NETWORK, name] for name in ("paused", "paused_hosts", "pauses")] == [None] * 3


def a_fault(recovered: int | None) -> dict[str, float | None]:
    known = {"before_bps": 1e9, "lowest_share": 0.5, "missing_bytes": 10}
    return {**known, "recovered_ps": recovered}


def test_what_is_never_back_has_no_mean_time_to_recover() -> None:
    """Breaks if a scheme that is back after few faults has a shorter mean than one that is back
    after all."""
    table = flows([10], [10**6])

    def times(*recovered: int | None) -> list[float | None]:
        faults = [a_fault(one) for one in recovered]
        found = measure(table, UPLINKS, {**SUMMARY, "faults": faults}, ())
        return [found[RECOVERY, name] for name in ("not_back", "recovery_mean", "recovery_max")]

    assert times(10**6, 3 * 10**6) == [0, 2.0, 3.0]
    assert times(10**6, None) == [1, None, None]
    assert times(None) == [1, None, None]
    assert times() == [0, None, None]


def test_a_seed_that_is_not_back_takes_the_mean_of_the_others_too() -> None:
    """Breaks if a comparison's mean time to recover is over the seeds that were back alone."""
    back = {(RECOVERY, "not_back"): 0.0, (RECOVERY, "recovery_mean"): 5.0}
    never = {(RECOVERY, "not_back"): 1.0, (RECOVERY, "recovery_mean"): None}
    cases = tuple(Case("a", (), seed, "", (), "") for seed in (1, 2))
    found = ComparisonData(Source("", "", ""), cases, Path())
    found.__dict__["measured"] = {("a", (), 1): back, ("a", (), 2): never}
    assert found._values("a", (), RECOVERY, "recovery_mean") == (None, None)
    assert found._values("a", (), RECOVERY, "not_back") == (0.0, 1.0)


def test_collectives_that_were_cut_off_are_told() -> None:
    """Breaks if a mean over the complete collectives looks like one over all, of a run or of a
    comparison's variant."""
    counts = {"flows": 9, "unfinished": 0}
    job = {"collectives": 6, "cut_off": 3}
    text = "3 of 6 collectives cut off; means are of the complete ones"
    summary = {"classes": {"all": counts}, "collectives": job, "packet_hops": 1}
    assert remarks.of_summary(summary) == [text]
    assert remarks.of_summary({**summary, "packet_hops": 0})[1:] == [text]
    cases = tuple(Case("a", (), seed, "", (), "") for seed in (1, 2))
    found = ComparisonData(Source("", "", ""), cases, Path())
    one = {(COLLECTIVES, name): float(count) for name, count in job.items()}
    found.__dict__["measured"] = {("a", (), 1): one, ("a", (), 2): one}
    assert found._unfinished() == ["a: 6 of 12 collectives cut off; means are of the complete ones"]
