"""Metrics that read probes, on small tables made by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from leafspine.measures import after_warmup
from leafspine.reproduce import metrics, probe_metrics  # noqa: F401  (they register)

US = 1_000_000


def run(
    flows: list[dict[str, Any]],
    ports: list[dict[str, Any]] | None = None,
    warmup: int = 0,
    **probes: Any,
) -> Any:
    """A run that has these rows; its window is the first 100 us."""
    summary = {"window_start_ps": 0, "window_end_ps": 100 * US, "warmup_ps": warmup}
    table = pa.Table.from_pylist(flows)
    result = SimpleNamespace(
        flows=table,
        measured_flows=after_warmup(table, summary),
        ports=pa.Table.from_pylist(ports or []),
        probes={name: pa.Table.from_pylist(rows) for name, rows in probes.items()},
        summary=summary,
    )
    made: Any = metrics.Run
    return made(case=None, source=result, measured={})


def flow(number: int, size: int, fct: int | None = 50 * US, **more: int) -> dict[str, Any]:
    return {"flow": number, "bytes": size, "start_ps": 10 * US, "fct_ps": fct, **more}


def packet(port: str, flow: int, time: int, waited: int = 0, flags: int = 66) -> dict[str, Any]:
    return {
        "port": port,
        "flow": flow,
        "time_ps": time * US,
        "waited_ps": waited * US,
        "flags": flags,
        "size": 54,
    }


PORTS = [
    {
        "name": "switch0-host0",
        "queue_mean_packets": 1.0,
        "queue_mean_bytes": 1e3,
        "rate_bps": 1e9,
        "bytes": 10,
    },
    {
        "name": "switch0-host1",
        "queue_mean_packets": 4.0,
        "queue_mean_bytes": 5e3,
        "rate_bps": 1e9,
        "bytes": 6250,
    },
    {
        "name": "host0-switch0",
        "queue_mean_packets": 9.0,
        "queue_mean_bytes": 9e3,
        "rate_bps": 1e9,
        "bytes": 20,
    },
    {
        "name": "host1-switch0",
        "queue_mean_packets": 8.0,
        "queue_mean_bytes": 8e3,
        "rate_bps": 1e9,
        "bytes": 20,
    },
]


def test_the_bottleneck_is_the_longest_queue_of_a_switch() -> None:
    """Breaks if a host's own port counts, or the mean over ports is taken."""
    assert metrics.value(run([flow(0, 1000)], PORTS), "own.bottleneck_queue") == 4.0


def test_the_queue_is_sampled_until_the_last_completion() -> None:
    """Breaks if samples before the first start or after the last completion count."""
    samples = [(0, 50), (10, 4), (30, 8), (60, 0), (61, 70)]
    rows = [{"time_ps": time * US, "port": "p", "packets": size} for time, size in samples]
    made = run([flow(0, 1000), flow(1, 1000, None)], bottleneck=rows)
    assert metrics.value(made, "own.bottleneck_deviation") == pytest.approx(np.std([4, 8, 0]))
    assert metrics.value(made, "own.bottleneck_variation") == pytest.approx(np.std([4, 8, 0]) / 4)
    assert metrics.value(made, "own.bottleneck_busy_queue") == pytest.approx(6)


def test_held_acks_are_the_time_beyond_the_fastest() -> None:
    """Breaks if waiting in the output queue counts as held, data counts, or flows are mixed up."""
    rows = [
        packet("host1-switch0", 0, 10, flags=2),
        packet("host1-switch0", 0, 20, flags=18),
        packet("host1-switch0", 1, 11, flags=2),
        packet("host1-switch0", 1, 12, flags=66),
        packet("switch0-host0", 0, 18, 3, flags=2),  # 5 us: the fastest
        packet("switch0-host0", 0, 65, 0, flags=18),  # 45 us: 40 held
        packet("switch0-host0", 1, 26, 0, flags=18),  # 15 us: 10 held
        packet("switch0-host0", 1, 90, 0, flags=66),
    ]
    made = run([flow(0, 1000), flow(1, 1000)], PORTS, acks=rows)
    assert metrics.value(made, "own.held_acks") == pytest.approx(0.5)
    assert metrics.value(made, "own.queue_with_held") == pytest.approx(4.5)
    assert metrics.value(made, "own.held_share") == pytest.approx(12.5)
    assert metrics.value(made, "own.held_share_bytes") == pytest.approx(100 * 0.5 * 54 / 5e3)
    assert metrics.value(run([flow(0, 1000)], PORTS), "own.held_acks") is None


def test_percentiles_in_units_of_the_drain_time() -> None:
    """Breaks if the wrong rank is taken, bytes and bits are confused, or headers are forgotten."""
    made = run([flow(n, 1250, (n + 1) * 10 * US) for n in range(4)], PORTS)
    assert metrics.value(made, "own.fct_p1") == 10
    # 5000 bytes and their headers, 6250, take 50 us at 1 Gb/s.
    assert metrics.value(made, "own.fct_p1_drains") == pytest.approx(0.2)
    assert metrics.value(made, "own.fct_p50_drains") == pytest.approx(0.4)


def test_short_flows_wait_at_each_hop() -> None:
    """Breaks if long flows or ACKs count, or a hop is left out."""
    flows = [flow(0, 100_000), flow(1, 100_001)]
    paths = [packet("leaf0-spine0", 0, 1, 4), packet("leaf0-spine1", 0, 1, 6)]
    paths += [packet("leaf0-spine0", 1, 1, 90), packet("leaf0-spine0", 0, 1, 90, flags=2)]
    down, last = [packet("spine0-leaf1", 0, 2, 1)], [packet("leaf1-host3", 0, 3, 2)]
    made = run(flows, paths=paths, down=down, last=last)
    assert metrics.value(made, "own.short_queueing") == pytest.approx(8)
    assert metrics.value(run(flows, paths=paths), "own.short_queueing") is None


def test_the_deviation_is_over_all_paths() -> None:
    """Breaks if a path that no long flow took is forgotten, or short flows count."""
    ports = [{"name": f"leaf0-spine{n}", "uplink": True} for n in range(4)]
    ports += [{"name": "leaf0-host0", "uplink": False}, {"name": "leaf1-spine0", "uplink": True}]
    paths = [packet("leaf0-spine0", 1, n) for n in range(8)] + [packet("leaf0-spine2", 0, 1)]
    paths += [packet("leaf1-spine0", 1, 1)]
    made = run([flow(0, 1000), flow(1, 200_000)], ports, paths=paths)
    assert metrics.value(made, "own.path_deviation") == pytest.approx(np.std([8, 0, 0, 0]))


def test_retransmissions_of_long_flows() -> None:
    """Breaks if those of short flows count, or a share is of all flows' packets."""
    short, long = flow(0, 100_000, retransmits=5), flow(1, 100_001, retransmits=2)
    made = run([{**short, "packets": 100}, {**long, "packets": 400}])
    assert metrics.value(made, "own.long_retransmits") == 2
    assert metrics.value(made, "own.long_retransmit_share") == pytest.approx(0.5)
    none = run([{**short, "packets": 100}])
    assert metrics.value(none, "own.long_retransmits") is None
    assert metrics.value(none, "own.long_retransmit_share") is None


def test_a_mean_over_events_is_that_of_a_queue_trace() -> None:
    """Breaks if idle times count, if a packet that waits for nothing is left out, or if at one
    instant packets leave before others join."""
    acks = [packet("switch0-host1", 0, time, wait) for time, wait in ((2, 0), (3, 1), (4, 2))]
    # Joins at 2, 2, 2, leaves at 2, 3, 4: 1, 2, 3, 2, 1, 0.
    made = run([flow(0, 1000)], PORTS, acks=acks)
    assert metrics.value(made, "own.bottleneck_event_queue") == pytest.approx(9 / 6)
    assert metrics.value(run([flow(0, 1000)], PORTS), "own.bottleneck_event_queue") is None
