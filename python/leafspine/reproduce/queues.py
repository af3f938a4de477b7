"""``own`` metrics of queues, of how load is shared, and of what a switch's control loop costs.

They read probes: ``queue*`` (queue), ``share`` (utilisation) and ``loop`` (packets).
"""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from leafspine.errors import InputError
from leafspine.qall.samples import returns
from leafspine.reproduce.metrics import Run, metric
from leafspine.reproduce.series import Curve, curve

STATE_BYTES = 10
"""What QALL returns of a port (Liu et al., IEEE TNSM 2024, Fig. 6)."""

Floats = npt.NDArray[np.float64]


@metric("queue_variance", "", "variance of queue occupancy")
def _queue_variance(run: Run) -> float | None:
    """Variance of what waits as a share of the buffer, over all ports and samples of the probes
    whose names begin with ``queue``, within the window in which ports are measured."""
    buffer = run.case.facts.buffer
    if buffer is None:
        return None
    column = "bytes" if buffer.in_bytes else "packets"
    parts = [
        _inside(run, probe)[column].to_numpy() / buffer.count
        for name, probe in run.result.probes.items()
        if name.startswith("queue")
    ]
    values = np.concatenate(parts) if parts else np.zeros(0)
    return float(values.var()) if len(values) else None


def _inside(run: Run, probe: Any) -> Any:
    """A probe's samples within the window."""
    times = probe["time_ps"].to_numpy()
    summary = run.result.summary
    return probe.filter((times >= summary["window_start_ps"]) & (times <= summary["window_end_ps"]))


def sharing(run: Run) -> tuple[Floats, Floats]:
    """Load-sharing accuracy: ends of slots in seconds, and for each slot and switch by how many
    percent the busiest of its ports in the probe ``share`` is above the idlest.

    The probe's samples are the slots; the first, at 0, is none, and one that the last flow's start
    cuts short or the warm-up has a part of is left out. A slot in which a port is idle is infinite;
    one in which all are has no accuracy (NaN).
    """
    probe = run.result.probes["share"]
    times = probe["time_ps"].to_numpy()
    ports = probe["port"].to_pylist()
    used = probe["utilisation"].to_numpy()
    switches = sorted({port.partition("-")[0] for port in ports})
    owner = np.array([switches.index(port.partition("-")[0]) for port in ports])
    edges = np.unique(times)
    since, until = run.result.summary.get("warmup_ps", 0), run.result.summary["window_end_ps"]
    slots = itertools.pairwise(edges)
    ends = [end for start, end in slots if start >= since and end <= until]
    table = np.full((len(ends), len(switches)), np.nan)
    for row, end in enumerate(ends):
        for switch in range(len(switches)):
            slot = used[(times == end) & (owner == switch)]
            if slot.max() > 0:
                idle = slot.min() == 0
                table[row, switch] = np.inf if idle else 100.0 * (slot.max() / slot.min() - 1.0)
    return np.array(ends, dtype=float) / 1e12, table


@metric("information_age", "ms", "age of information")
def _information_age(run: Run) -> float | None:
    """Mean age of what balancers choose by, over the switches of the probe ``state`` and its
    samples within the window; undefined where they go by nothing that comes late."""
    ages = _inside(run, run.result.probes["state"])["information_age_ps"].to_numpy()
    return float(np.nanmean(ages)) / 1e9 if np.isfinite(ages).any() else None


@metric("decision_delay", "ms", "decision delay")
def _decision_delay(run: Run) -> float | None:
    """As the age of information, with the time that HULA's probes were on their way."""
    delays = _inside(run, run.result.probes["state"])["decision_delay_ps"].to_numpy()
    return float(np.nanmean(delays)) / 1e9 if np.isfinite(delays).any() else None


@metric("sharing_mean", "%", "load-sharing accuracy, mean")
def _sharing_mean(run: Run) -> float | None:
    """Mean over slots and switches of :func:`sharing`, without those in which a port is idle: one
    of them would make it infinite."""
    values = sharing(run)[1]
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


@metric("sharing_max", "%", "load-sharing accuracy, largest")
def _sharing_max(run: Run) -> float | None:
    """The worst slot of the worst switch: infinite if a port is idle in one."""
    values = sharing(run)[1]
    return float(np.nanmax(values)) if not np.isnan(values).all() else None


@metric("sharing_min", "%", "load-sharing accuracy, smallest")
def _sharing_min(run: Run) -> float | None:
    """The best slot of the best switch, of those in which no port is idle."""
    values = sharing(run)[1]
    return float(np.nanmin(values)) if np.isfinite(values).any() else None


@curve("sharing", "time (s)", "load-sharing accuracy (%)")
def _sharing(run: Run, argument: str) -> Curve:
    """:func:`sharing` against time, mean over switches."""
    ends, values = sharing(run)
    return ends, values.mean(axis=1)


@metric("loop_overhead", "MB/s", "control loop of a port")
def _loop_overhead(run: Run) -> float | None:
    """Bytes per second that QALL's state returns take at the busiest port of the probe ``loop``.

    A return is 10 bytes for the first packet sent more than ``load_balancer.update_period`` after
    the last one (Algorithm 3), within the window.
    """
    balancer = run.case.facts.load_balancer
    if balancer is None or "update_period" not in balancer.params:
        raise InputError(f"{run.case.label()}: own.loop_overhead is defined for qall only")
    period = balancer.params["update_period"]
    summary = run.result.summary
    window = summary["window_end_ps"] - summary["window_start_ps"]
    probe = _inside(run, run.result.probes["loop"])
    times, ports = probe["time_ps"].to_numpy(), np.array(probe["port"].to_pylist())
    counts = [len(returns(times[ports == port], period)) for port in np.unique(ports)]
    # Bytes in picoseconds, as MB/s.
    return STATE_BYTES * max(counts) / window * 1e6 if counts and window > 0 else None


@metric("dup_acks_1", "%", "flows with a duplicate ACK")
def _dup_acks_1(run: Run) -> float | None:
    """Flows whose sender saw a duplicate ACK."""
    return _above(run, 0)


@metric("dup_acks_4", "%", "flows with > 3 duplicate ACKs")
def _dup_acks_4(run: Run) -> float | None:
    """Flows whose sender saw more duplicate ACKs than TCP's threshold of 3."""
    return _above(run, 3)


def _above(run: Run, bound: int) -> float | None:
    seen = run.flows["dup_acks"].to_numpy()
    return float(100.0 * np.mean(seen > bound)) if len(seen) else None


@curve("dup_acks", "duplicate ACKs", "flows with more (%)")
def _dup_acks(run: Run, argument: str) -> Curve:
    """Share of flows with more than so many duplicate ACKs, from 0 to 30."""
    seen = run.flows["dup_acks"].to_numpy()
    counts = np.arange(31)
    return counts.astype(float), np.array([100.0 * np.mean(seen > count) for count in counts])


@metric("mice_share", "%", "flows of at most 100 KB")
def _mice_share(run: Run) -> float | None:
    """Flows of at most 100 KB."""
    sizes = run.flows["bytes"].to_numpy()
    return float(100.0 * np.mean(sizes <= 100_000)) if len(sizes) else None


@metric("elephants_share", "%", "flows of more than 10 MB")
def _elephants_share(run: Run) -> float | None:
    """Flows of more than 10 MB."""
    sizes = run.flows["bytes"].to_numpy()
    return float(100.0 * np.mean(sizes > 10_000_000)) if len(sizes) else None
