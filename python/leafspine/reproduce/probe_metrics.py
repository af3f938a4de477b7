"""Numbers of the one congested port of an incast, of held ACKs, and of what the packets of short
and of long flows met. Those that read a probe are undefined in a run without it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from leafspine import fabric
from leafspine.measures import first_uplinks
from leafspine.reproduce.metrics import Run, metric
from leafspine.stats import nearest_rank

SHORT = 100_000
"""Bytes of the largest short flow."""

SYN, ACK, FIN, RST, DATA = 1, 2, 4, 8, 64

Numbers = npt.NDArray[Any]


def _bottleneck(run: Run) -> dict[str, Any]:
    """The row of the switch port whose queue is the longest, mean over the window."""
    ports = run.result.ports
    switch = ports.filter(pc.invert(pa.array(fabric.are_hosts(ports))))
    row = int(np.argmax(switch["queue_mean_packets"].to_numpy()))
    return dict(switch.slice(row, 1).to_pylist()[0])


def _done_ps(run: Run) -> Numbers:
    """When each finished flow was complete."""
    flows = run.flows
    done = flows.filter(flows["fct_ps"].is_valid())
    return np.asarray(done["start_ps"].to_numpy() + done["fct_ps"].to_numpy())


@metric("bottleneck_queue", "pkt", "output queue, mean")
def bottleneck_queue(run: Run) -> float | None:
    """Mean over the window of the longest queue of all switch ports."""
    return float(_bottleneck(run)["queue_mean_packets"])


def _samples(run: Run) -> Numbers | None:
    """Packets in the probe ``bottleneck`` from the first start to the last completion."""
    probe, done = run.result.probes.get("bottleneck"), _done_ps(run)
    if probe is None or len(done) == 0:
        return None
    times = probe["time_ps"].to_numpy()
    first = int(run.flows["start_ps"].to_numpy().min())
    return np.asarray(probe["packets"].to_numpy()[(times >= first) & (times <= done.max())])


@metric("bottleneck_deviation", "pkt", "output queue, standard deviation")
def bottleneck_deviation(run: Run) -> float | None:
    """Standard deviation over time of the probe ``bottleneck``, until the last flow is complete."""
    found = _samples(run)
    return float(found.std()) if found is not None and len(found) else None


@metric("bottleneck_variation", "", "output queue, deviation over mean")
def bottleneck_variation(run: Run) -> float | None:
    """The same in parts of the mean."""
    found = _samples(run)
    return float(found.std() / found.mean()) if found is not None and found.any() else None


@metric("bottleneck_busy_queue", "pkt", "output queue while not empty, mean")
def bottleneck_busy_queue(run: Run) -> float | None:
    """Mean of the samples of the probe ``bottleneck`` at which anything waited."""
    found = _samples(run)
    return float(found[found > 0].mean()) if found is not None and found.any() else None


@metric("bottleneck_event_queue", "pkt", "output queue, mean over events")
def bottleneck_event_queue(run: Run) -> float | None:
    """Mean of what waits at the congested port after each enqueue and each dequeue, from the probe
    ``acks``: what a simulator's queue trace gives, where busy times count more than idle ones.
    """
    probe = run.result.probes.get("acks")
    if probe is None:
        return None
    of_port = probe.filter(pc.equal(probe["port"], _bottleneck(run)["name"]))
    left = of_port["time_ps"].to_numpy().astype(np.int64)
    joined = left - of_port["waited_ps"].to_numpy()
    times = np.concatenate([joined, left])
    steps = np.repeat([1, -1], len(left))
    # At one instant packets join before others leave.
    order = np.lexsort((-steps, times))
    return float(np.cumsum(steps[order]).mean()) if len(left) else None


def _pure_acks(probe: pa.Table) -> pa.Table:
    """Packets that acknowledge and carry nothing else."""
    kinds = pc.bit_wise_and(probe["flags"], SYN | ACK | FIN | RST | DATA)
    return probe.filter(pc.equal(kinds, ACK))


def _held_ps(run: Run) -> float | None:
    """Time that the switch kept ACKs back, summed over them, from the probe ``acks``.

    An ACK's way from its host's line to the switch's next queue takes the same time for all of
    them, that of the fastest one; what it takes longer it was held. ACKs of a flow stay in order.
    """
    probe = run.result.probes.get("acks")
    if probe is None:
        return None
    acks, ports = _pure_acks(probe), run.result.ports
    own = ports["name"].filter(pa.array(fabric.are_hosts(ports)))
    at_host = pc.is_in(acks["port"], own)
    sent, left = acks.filter(at_host), acks.filter(pc.invert(at_host))
    joined = left["time_ps"].to_numpy().astype(np.int64) - left["waited_ps"].to_numpy()
    begun = sent["time_ps"].to_numpy().astype(np.int64)
    transits = []
    for flow in np.unique(sent["flow"].to_numpy()):
        out = begun[sent["flow"].to_numpy() == flow]
        back = np.sort(joined[left["flow"].to_numpy() == flow])
        if len(out) == len(back):  # else the run ended with ACKs under way
            transits.append(back - out)
    if not transits:
        return None
    whole = np.concatenate(transits)
    return float((whole - whole.min()).sum())


def _window_ps(run: Run) -> int:
    return int(run.result.summary["window_end_ps"]) - int(run.result.summary["window_start_ps"])


@metric("held_acks", "pkt", "held ACKs, mean")
def held_acks(run: Run) -> float | None:
    """ACKs kept back by the switch, mean over the window: the whole run."""
    held = _held_ps(run)
    return held / _window_ps(run) if held is not None and _window_ps(run) else None


@metric("queue_with_held", "pkt", "queue and held ACKs, mean")
def queue_with_held(run: Run) -> float | None:
    """Sum of the mean output queue and the mean number of held ACKs."""
    queue, held = bottleneck_queue(run), held_acks(run)
    return queue + held if queue is not None and held is not None else None


@metric("held_share", "%", "held ACKs over output queue")
def held_share(run: Run) -> float | None:
    """Held ACKs per 100 packets of the output queue, means over the window."""
    queue, held = bottleneck_queue(run), held_acks(run)
    return 100.0 * held / queue if queue and held is not None else None


@metric("held_share_bytes", "%", "held ACKs over output queue, in bytes")
def held_share_bytes(run: Run) -> float | None:
    """Bytes of held ACKs per 100 bytes of the output queue, means over the window."""
    queue, held = float(_bottleneck(run)["queue_mean_bytes"]), held_acks(run)
    if not queue or held is None:
        return None
    size = float(_pure_acks(run.result.probes["acks"])["size"].to_numpy().mean())
    return 100.0 * held * size / queue


def _fct_us(run: Run, percent: float) -> float | None:
    times = run.flows["fct_ps"].drop_null().to_numpy()
    return float(nearest_rank(np.sort(times), percent)) / 1e6 if len(times) else None


@metric("fct_p1", "us", "FCT, p1")
def fct_p1(run: Run) -> float | None:
    """First percentile of completion times, nearest rank."""
    return _fct_us(run, 1)


def _in_drains(run: Run, percent: float) -> float | None:
    """A percentile of completion times over what the congested link needs for all that it is given,
    with headers."""
    found, port = _fct_us(run, percent), _bottleneck(run)
    drain = 8e6 * port["bytes"] / port["rate_bps"]
    return found / drain if found is not None else None


@metric("fct_p1_drains", "", "FCT p1 over the drain time")
def fct_p1_drains(run: Run) -> float | None:
    """First percentile in units of the time that the link needs for everything."""
    return _in_drains(run, 1)


@metric("fct_p50_drains", "", "FCT p50 over the drain time")
def fct_p50_drains(run: Run) -> float | None:
    """Median in units of the time that the link needs for everything."""
    return _in_drains(run, 50)


def _data_of(run: Run, probe_name: str, long: bool) -> pa.Table | None:
    """The rows of a packets probe that are data of long or of short flows."""
    probe, flows = run.result.probes.get(probe_name), run.flows
    if probe is None:
        return None
    sought = np.zeros(int(run.result.flows["flow"].to_numpy().max()) + 1, dtype=bool)
    sought[flows["flow"].to_numpy()] = (flows["bytes"].to_numpy() > SHORT) == long
    data = probe.filter(pc.not_equal(pc.bit_wise_and(probe["flags"], DATA), 0))
    return data.filter(pa.array(sought[data["flow"].to_numpy()]))


PATHS = ("paths", "down", "last")
"""Packets probes over the ports that data passes one after the other."""


@metric("short_queueing", "us", "queueing delay")
def short_queueing(run: Run) -> float | None:
    """What a data packet of a short flow waits in switches' queues, mean over packets.

    The probes ``paths``, ``down`` and ``last`` are over the source leaves', the spines' and the
    destination leaves' ports. The mean waits of the hops are added:
    a dropped packet counts as far as it came.
    """
    total = 0.0
    for name in PATHS:
        data = _data_of(run, name, long=False)
        if data is None or data.num_rows == 0:
            return None
        total += float(data["waited_ps"].to_numpy().mean()) / 1e6
    return total


@metric("path_deviation", "pkt", "deviation over paths")
def path_deviation(run: Run) -> float | None:
    """Standard deviation over the first leaf's uplinks of the long flows' data packets on each."""
    data = _data_of(run, "paths", long=True)
    if data is None:
        return None
    counts = dict.fromkeys(first_uplinks(run.result.ports)["name"].to_pylist(), 0)
    for entry in data["port"].value_counts().to_pylist():
        if entry["values"] in counts:
            counts[entry["values"]] = entry["counts"]
    return float(np.std(list(counts.values()))) if counts else None


@metric("long_retransmits", "", "packets sent again")
def long_retransmits(run: Run) -> float | None:
    """Data segments sent again by flows of more than 100 KB, whatever the reason."""
    flows = run.flows
    again = flows["retransmits"].to_numpy()[flows["bytes"].to_numpy() > SHORT]
    return float(again.sum()) if len(again) else None


@metric("long_retransmit_share", "%", "packets sent again")
def long_retransmit_share(run: Run) -> float | None:
    """The same in percent of the data packets that reached these flows' receivers."""
    again, flows = long_retransmits(run), run.flows
    arrived = flows["packets"].to_numpy()[flows["bytes"].to_numpy() > SHORT].sum()
    return None if again is None or not arrived else 100.0 * again / float(arrived)
