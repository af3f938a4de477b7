"""What is read off one finished run: a number per metric, for each flow class and the network.

Every metric that appears in a table, a figure or a file is defined here, with its unit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from leafspine import fabric
from leafspine.engine import ALL_FLOWS, FlowClass
from leafspine.stats import nearest_rank

NETWORK = "network"
COLLECTIVES = "collectives"
RECOVERY = "recovery"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Metric:
    """A measured quantity: its name in files, its unit and what it means."""

    name: str
    unit: str
    label: str
    meaning: str
    importance: int = 0
    """Of its column in a single run's table: in a narrow terminal the least important go first."""


FLOW_METRICS: tuple[Metric, ...] = (
    Metric("flows", "", "flows", "flows of the class that started, after the warm-up if any", 7),
    Metric("unfinished", "", "unfinished", "of these, not ended when the run did", 9),
    Metric("fct_mean", "us", "mean FCT", "mean flow completion time of the finished flows", 10),
    Metric("fct_p50", "us", "median FCT", "50th percentile of the flow completion times", 5),
    Metric("fct_p95", "us", "p95 FCT", "95th percentile of the flow completion times", 3),
    Metric("fct_p99", "us", "p99 FCT", "99th percentile of the flow completion times", 8),
    Metric(
        "slowdown_mean",
        "",
        "mean slowdown",
        "mean of completion time over the ideal time of the same flow alone in the fabric",
        4,
    ),
    Metric("slowdown_p99", "", "p99 slowdown", "99th percentile of the slowdowns", 2),
    Metric(
        "goodput_mean", "Mb/s", "mean goodput", "mean over flows of size over completion time", 1
    ),
)

NETWORK_METRICS: tuple[Metric, ...] = (
    Metric(
        "offered",
        "Gb/s",
        "offered",
        "payload of the flows that start in the window over its length",
    ),
    Metric(
        "carried",
        "Gb/s",
        "carried",
        "payload that applications got in the window, each byte once, over its length",
    ),
    Metric(
        "reordered_share",
        "%",
        "reordered",
        "data packets that arrived after a later one of their flow",
    ),
    Metric(
        "drops",
        "",
        "drops",
        "packets dropped at ports: buffer full, queue manager, link down, no route",
    ),
    Metric("lost", "", "lost on links", "packets lost on a dead or a lossy link"),
    Metric("marked_share", "%", "marked", "packets marked CE per 100 data packets that arrived"),
    Metric("retransmits", "", "retransmits", "data packets sent again"),
    Metric("timeouts", "", "timeouts", "retransmission timeouts"),
    Metric("utilisation_min", "%", "uplink use, min", "use of the least used uplink"),
    Metric("utilisation_mean", "%", "uplink use, mean", "mean use of the uplinks"),
    Metric("utilisation_max", "%", "uplink use, max", "use of the most used uplink"),
    Metric(
        "queue_mean", "pkt", "queue, mean", "mean over the uplinks of their time-averaged queue"
    ),
    Metric(
        "queue_p99",
        "pkt",
        "queue, p99",
        "mean over the uplinks of their 99th percentile queue",
    ),
    Metric("queue_max", "pkt", "queue, max", "most packets that one found waiting at an uplink"),
)

PAUSE_METRICS: tuple[Metric, ...] = (
    Metric(
        "paused",
        "ms",
        "time paused",
        "for which flow control had ports paused, in the window: the sum over all ports",
    ),
    Metric(
        "paused_fabric",
        "%",
        "paused, fabric",
        "mean over the ports between switches of the share of the window",
    ),
    Metric(
        "paused_hosts",
        "%",
        "paused, hosts",
        "mean over the hosts' own ports of the share of the window",
    ),
    Metric("pauses", "", "pauses", "that began (XOFF) in the window, at all ports"),
    Metric(
        "lossless_drops",
        "",
        "lossless drops",
        "packets of lossless priorities dropped because the headroom was full",
    ),
    Metric(
        "pause_storms",
        "",
        "storms",
        "times that the watchdog found a queue paused for too long",
    ),
    Metric("storm_drops", "", "storm drops", "packets of lossless priorities that it then dropped"),
)
"""The network's too, where switches have flow control: after its others."""

COLLECTIVE_METRICS: tuple[Metric, ...] = (
    Metric("collectives", "", "collectives", "that began, after the warm-up if any", 5),
    Metric("cut_off", "", "cut off", "of these, not complete at the run's end", 6),
    Metric(
        "completion_mean",
        "us",
        "mean completion",
        "mean time from start to last rank's end",
        9,
    ),
    Metric("completion_p99", "us", "p99 completion", "99th percentile of the completion times", 8),
    Metric(
        "algorithm_bandwidth",
        "Gb/s",
        "algorithm bandwidth",
        "mean of buffer size / completion time",
        4,
    ),
    Metric(
        "bus_bandwidth",
        "Gb/s",
        "bus bandwidth",
        "bytes over a rank's link per time",
        7,
    ),
    Metric(
        "spread",
        "us",
        "stragglers",
        "mean time from first to last rank's end",
        3,
    ),
    Metric(
        "idle_share",
        "%",
        "idle",
        "share of time that ranks do not compute",
        2,
    ),
)

RECOVERY_METRICS: tuple[Metric, ...] = (
    Metric("faults", "", "faults", "changes of links for the worse, within the window", 4),
    Metric("not_back", "", "not back", "of these, after which goodput was not back", 5),
    Metric(
        "recovery_mean",
        "us",
        "mean time to recover",
        "mean time from a fault until goodput was back at the share of before that is asked for; "
        "none if after one it was not",
        7,
    ),
    Metric("recovery_max", "us", "longest", "the longest of these times", 6),
    Metric("lowest", "%", "lowest", "lowest share of goodput before that a window had", 3),
    Metric("missing", "MB", "missing", "bytes that faults kept from applications until then", 2),
)

RECOVERY_TIMES = ("recovery_mean", "recovery_max")
"""Those that are not known where goodput was not back."""


def counts_of(group: str) -> tuple[str, str, str]:
    """Group and names of the two counts that say what a group's metrics are means over: of how
    many, and how many of these are in no mean since the run ended before them."""
    if group == COLLECTIVES:
        return group, "collectives", "cut_off"
    if group == RECOVERY:
        return group, "faults", "not_back"
    return ALL_FLOWS.name if group == NETWORK else group, "flows", "unfinished"


FLOW_MEANS = ("fct_mean", "slowdown_mean", "goodput_mean")
"""Those that are means over flows: of a part of the flows they are the same quantity."""

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for group in (
        FLOW_METRICS,
        NETWORK_METRICS,
        PAUSE_METRICS,
        COLLECTIVE_METRICS,
        RECOVERY_METRICS,
    )
    for metric in group
}


def only_jobs(summary: Mapping[str, Any]) -> bool:
    """Whether all flows of a run are messages of jobs, of which collectives tell more than flows.

    Summaries of before there was the count do not say.
    """
    return bool(0 < summary.get("messages", 0) == summary["flows"])


def has_flow_control(summary: Mapping[str, Any]) -> bool:
    """Whether switches of a run ask for pauses.

    Summaries of before they said so tell it only if one has.
    """
    return bool(summary.get("flow_control") or summary.get("pause_frames"))


def messages_among_flows(summaries: Sequence[Mapping[str, Any]]) -> str:
    """``of the flows 90 are messages of jobs``, over some runs; empty if none are, or all."""
    flows, messages = (sum(each.get(key, 0) for each in summaries) for key in ("flows", "messages"))
    if not 0 < messages < flows:
        return ""
    which = "the flows" if len(summaries) == 1 else f"the {flows:,} flows of all runs"
    return f"of {which} {messages:,} are messages of jobs"


PS_PER_US = 1_000_000
PS_PER_MS = 1_000_000_000
GBPS = 8_000.0
"""Bytes a picosecond in Gb/s."""

Measured = dict[tuple[str, str], float | None]
NO_JOBS: Mapping[str, pa.Table] = {}


def measure(
    flows: pa.Table,
    ports: pa.Table,
    summary: Mapping[str, Any],
    classes: Sequence[FlowClass],
    jobs: Mapping[str, pa.Table] = NO_JOBS,
) -> Measured:
    """All metrics of one run by ``(class, "network", "collectives" or "recovery", metric)``;
    ``None`` where undefined. Those of collectives are there in runs with jobs, those of recovery in
    runs that measure it.

    What starts in the warm-up is in none of them.
    """
    counted = after_warmup(flows, summary)
    found = measure_flows(counted, classes)
    for name, value in _of_network(flows, counted, ports, summary).items():
        found[NETWORK, name] = value
    if has_flow_control(summary):
        for name, value in _of_pauses(ports, summary).items():
            found[NETWORK, name] = value
    if jobs:
        collectives = after_warmup(jobs["collectives"], summary)
        for name, value in _of_collectives(collectives, jobs["ranks"]).items():
            found[COLLECTIVES, name] = value
    if "faults" in summary:
        for name, value in _of_faults(summary["faults"]).items():
            found[RECOVERY, name] = value
    return found


def _of_pauses(ports: pa.Table, summary: Mapping[str, Any]) -> dict[str, float | None]:
    window = summary["window_end_ps"] - summary["window_start_ps"]
    paused = ports["pause_ps"].to_numpy().astype(float)

    def share(listed: Sequence[bool]) -> float | None:
        chosen = np.array(listed, dtype=bool)
        return 100.0 * float(paused[chosen].mean()) / window if window and chosen.any() else None

    values: tuple[float | None, ...] = (
        float(paused.sum()) / PS_PER_MS if window else None,
        share(fabric.between_switches(ports)),
        share(fabric.are_hosts(ports)),
        int(ports["pauses"].to_numpy().sum()) if window else None,
        *(summary.get(name) for name in ("lossless_drops", "pause_storms", "storm_drops")),
    )
    return dict(zip([metric.name for metric in PAUSE_METRICS], values, strict=True))


def _of_faults(faults: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    known = [fault for fault in faults if fault["before_bps"] is not None]
    took = [fault["recovered_ps"] for fault in known if fault["recovered_ps"] is not None]
    # A time that is longer than the run is in no mean: the rest alone would be too short.
    all_back = took and len(took) == len(known)
    lowest = [fault["lowest_share"] for fault in known if fault["lowest_share"] is not None]
    values: tuple[float | None, ...] = (
        len(known),
        len(known) - len(took),
        sum(took) / len(took) / PS_PER_US if all_back else None,
        max(took) / PS_PER_US if all_back else None,
        min(lowest) * 100.0 if lowest else None,
        sum(fault["missing_bytes"] or 0 for fault in known) / 1e6 if known else None,
    )
    return dict(zip([metric.name for metric in RECOVERY_METRICS], values, strict=True))


def _of_collectives(rows: pa.Table, ranks: pa.Table) -> dict[str, float | None]:
    done = rows.filter(pc.is_valid(rows["completion_ps"]))
    took = np.sort(done["completion_ps"].to_numpy())
    values: tuple[float | None, ...] = (
        rows.num_rows,
        rows.num_rows - done.num_rows,
        float(took.mean()) / PS_PER_US if len(took) else None,
        float(nearest_rank(took, 99)) / PS_PER_US if len(took) else None,
        _mean(done["algorithm_bandwidth_bps"], 1e-9),
        _mean(done["bus_bandwidth_bps"], 1e-9),
        _mean(done["spread_ps"], 1 / PS_PER_US),
        _mean(ranks["idle_share"], 100.0),
    )
    return dict(zip([metric.name for metric in COLLECTIVE_METRICS], values, strict=True))


def _mean(column: pa.ChunkedArray, scale: float) -> float | None:
    """The mean of what is known, times ``scale``."""
    known = column.drop_null().to_numpy()
    return float(known.astype(float).mean()) * scale if len(known) else None


def after_warmup(flows: pa.Table, summary: Mapping[str, Any]) -> pa.Table:
    """The flows that statistics are of: all but those that started before the warm-up's end."""
    warmup = summary.get("warmup_ps", 0)
    return flows.filter(flows["start_ps"].to_numpy() >= warmup) if warmup else flows


def measure_flows(flows: pa.Table, classes: Sequence[FlowClass]) -> Measured:
    """The metrics of flow classes, of all flows of a run or of some."""
    found: Measured = {}
    sizes = flows["bytes"].to_numpy()
    finished = ~flows["fct_ps"].is_null().to_numpy()
    fct = flows["fct_ps"].fill_null(0).to_numpy()
    ideal = flows["ideal_fct_ps"].to_numpy()
    for flow_class in (ALL_FLOWS, *classes):
        member = in_class(sizes, flow_class)
        done = member & finished
        found[flow_class.name, "flows"] = int(member.sum())
        found[flow_class.name, "unfinished"] = int(member.sum() - done.sum())
        for name, value in _of_flows(sizes[done], fct[done], ideal[done]).items():
            found[flow_class.name, name] = value
    return found


def in_class(sizes: Array, flow_class: FlowClass) -> Array:
    """Which flows, by size in bytes, belong to a class."""
    member = np.ones(len(sizes), dtype=bool)
    if flow_class.low is not None:
        low = sizes >= flow_class.low if flow_class.low_inclusive else sizes > flow_class.low
        member &= low
    if flow_class.high is not None:
        high = sizes <= flow_class.high if flow_class.high_inclusive else sizes < flow_class.high
        member &= high
    return member


def _of_flows(sizes: Array, fct: Array, ideal: Array) -> dict[str, float | None]:
    """Of finished flows: bytes, completion times and ideal completion times in ps."""
    names = [metric.name for metric in FLOW_METRICS[2:]]
    if len(sizes) == 0:
        return dict.fromkeys(names)
    ordered = np.sort(fct)
    slowdown = fct / ideal
    goodput = sizes * 8 / fct * 1e6  # bits per ps are 1e6 Mb/s
    values = (
        float(ordered.mean()) / PS_PER_US,
        float(nearest_rank(ordered, 50)) / PS_PER_US,
        float(nearest_rank(ordered, 95)) / PS_PER_US,
        float(nearest_rank(ordered, 99)) / PS_PER_US,
        float(slowdown.mean()),
        float(nearest_rank(np.sort(slowdown), 99)),
        float(goodput.mean()),
    )
    return dict(zip(names, values, strict=True))


def _of_network(
    flows: pa.Table, counted: pa.Table, ports: pa.Table, summary: Mapping[str, Any]
) -> dict[str, float | None]:
    uplinks = _uplinks(ports)
    if summary["window_end_ps"] <= summary["window_start_ps"]:
        uplinks = uplinks.slice(0, 0)  # nothing was measured: that is no use of 0 %
    since = _since_warmup(summary)
    offered, carried = traffic(flows, summary)
    return {
        "offered": offered,
        "carried": carried,
        "reordered_share": _reordered(counted, summary),
        "drops": since["dropped"],
        "lost": since["lost"],
        "marked_share": _share(since["marks"], since["data_packets"]),
        "retransmits": int(counted["retransmits"].to_numpy().sum()),
        "timeouts": int(counted["timeouts"].to_numpy().sum()),
        "utilisation_min": _percent(uplinks, np.min),
        "utilisation_mean": _percent(uplinks, np.mean),
        "utilisation_max": _percent(uplinks, np.max),
        "queue_mean": _over(uplinks, "queue_mean_packets", np.mean),
        "queue_p99": _over(uplinks, "queue_p99_packets", np.mean),
        "queue_max": _over(uplinks, "queue_max_packets", np.max),
    }


def traffic(flows: pa.Table, summary: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Payload offered and carried in the window in Gb/s; ``None`` without a window, or of a result
    that is older than the count."""
    start, end = summary["window_start_ps"], summary["window_end_ps"]
    if end <= start:
        return None, None
    starts = flows["start_ps"].to_numpy()
    # A flow that starts as the window closes is offered to the time after it.
    inside = (starts >= start) & (starts < end)
    offered = float(flows["bytes"].to_numpy()[inside].astype(float).sum())
    carried = summary.get("bytes_delivered_in_window")
    scale = GBPS / (end - start)
    return offered * scale, None if carried is None else carried * scale


def _since_warmup(summary: Mapping[str, Any]) -> dict[str, int]:
    """Counts of the network from the warm-up's end on; without one, of the whole run."""
    names = ("dropped", "lost", "marks", "data_packets")
    return {name: summary[name] - summary.get(f"{name}_in_warmup", 0) for name in names}


def _reordered(counted: pa.Table, summary: Mapping[str, Any]) -> float | None:
    """Reordered packets of the flows that count."""
    if not summary.get("warmup_ps", 0):
        return _share(summary["reordered_packets"], summary["data_packets"])
    reordered, packets = (int(counted[name].to_numpy().sum()) for name in ("reordered", "packets"))
    return _share(reordered, packets)


def _uplinks(ports: pa.Table) -> pa.Table:
    """The ports towards a higher tier; where there is none (a star), the switches' ports."""
    found = _lead_up(ports)
    if not any(found):
        found = [not is_host for is_host in fabric.are_hosts(ports)]
    return ports.filter(pa.array(found, pa.bool_()))


def _lead_up(ports: pa.Table) -> list[bool]:
    """Which ports are a switch's towards a higher tier."""
    if "uplink" in ports.column_names:
        return list(ports["uplink"].to_pylist())
    # A result that is older than the column.
    graph = fabric.of_ports(ports)
    up = {link.up for link in graph.links if graph.nodes[link.lower].tier > 0}
    return [at in up for at in range(ports.num_rows)]


def first_uplinks(ports: pa.Table) -> pa.Table:
    """The uplinks of the first switch that has any."""
    ends, up = fabric.ends_of(ports["name"].to_pylist()), _lead_up(ports)
    first = next((own for (own, _, _), is_up in zip(ends, up, strict=True) if is_up), None)
    chosen = [is_up and own == first for (own, _, _), is_up in zip(ends, up, strict=True)]
    return ports.filter(pa.array(chosen, pa.bool_()))


def _share(part: float, whole: float) -> float | None:
    return 100.0 * part / whole if whole else None


def _over(table: pa.Table, column: str, function: Any) -> float | None:
    values = table[column].to_numpy()
    return float(function(values)) if len(values) else None


def _percent(table: pa.Table, function: Any) -> float | None:
    value = _over(table, "utilisation", function)
    return None if value is None else 100.0 * value
