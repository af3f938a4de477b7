"""Numbers that only a reproduction needs, read off one run: ``own.<name>`` in the papers' files.

Each is one function of a run. A new one needs nothing but :func:`metric` above it.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from leafspine.engine import Case, FlowClass
from leafspine.errors import InputError, refused
from leafspine.measures import FLOW_MEANS, METRICS, NETWORK, Measured, measure_flows
from leafspine.nearest import nearest
from leafspine.results import Result


@dataclass(frozen=True)
class Run:
    """A finished run: its case, its result or where that lies, and the metrics of every run."""

    case: Case
    source: Result | Path
    measured: Measured

    @cached_property
    def result(self) -> Result:
        """All of its files; read when a metric first asks for them, since most do not."""
        return Result.load(self.source) if isinstance(self.source, Path) else self.source

    @cached_property
    def flows(self) -> pa.Table:
        """The flows that statistics are of."""
        return self.result.measured_flows


@dataclass(frozen=True)
class OwnMetric:
    """Unit, label for axes, and how it is computed; ``None`` where it is undefined."""

    unit: str
    label: str
    compute: Callable[[Run], float | None]


OWN: dict[str, OwnMetric] = {}


def metric(
    name: str, unit: str, label: str
) -> Callable[[Callable[[Run], float | None]], Callable[[Run], float | None]]:
    """Register a function as ``own.<name>``."""

    def register(compute: Callable[[Run], float | None]) -> Callable[[Run], float | None]:
        OWN[name] = OwnMetric(unit, label, compute)
        return compute

    return register


def value(run: Run, name: str) -> float | None:
    """A metric of a run: ``all.fct_mean``, ``network.drops``, ``own.<name>``."""
    group, _, short = name.partition(".")
    if group == "own":
        return _own(short).compute(run)
    found = run.measured.get((group, short), False)
    if found is False:
        known = [f"{group}.{metric}" for group, metric in run.measured]
        raise _unknown(name, known)
    return found


def is_batched(name: str) -> bool:
    """Whether a metric is a mean over flows, so that a batch of them has it too."""
    group, _, short = name.partition(".")
    return group not in ("own", NETWORK) and short in FLOW_MEANS


def of_batches(
    flows: pa.Table, classes: Sequence[FlowClass], names: Sequence[str], count: int
) -> dict[str, list[float | None]]:
    """Metrics of ``count`` batches of a run's flows, in each those that started one after another
    (Law and Kelton, Simulation Modeling and Analysis, the method of batch means)."""
    flows = flows.sort_by("flow")
    edges = [flows.num_rows * part // count for part in range(count + 1)]
    parts = [
        measure_flows(flows.slice(low, high - low), classes)
        for low, high in itertools.pairwise(edges)
    ]
    keys = {name: tuple(name.split(".", 1)) for name in names}
    return {name: [part[group, short] for part in parts] for name, (group, short) in keys.items()}


def unit_and_label(name: str) -> tuple[str, str]:
    """A metric's unit, and its label for axes."""
    group, _, short = name.partition(".")
    if group == "own":
        return _own(short).unit, _own(short).label
    known = METRICS.get(short)
    return (known.unit, known.label) if known else ("", short)


def _own(name: str) -> OwnMetric:
    if name not in OWN:
        raise _unknown(f"own.{name}", [f"own.{known}" for known in OWN])
    return OWN[name]


def _unknown(name: str, known: Sequence[str]) -> InputError:
    allowed = "all.fct_mean, network.drops, own.goodput and others (docs/reproducing.md)"
    return refused(repr(name), allowed, key="metric", nearest=nearest(name, known))


@metric("reordered_per_flow", "%", "reordered packets per flow")
def _reordered_per_flow(run: Run) -> float | None:
    """Mean over flows of the share of a flow's data packets that were reordered."""
    packets = run.flows["packets"].to_numpy()
    reordered = run.flows["reordered"].to_numpy()[packets > 0]
    packets = packets[packets > 0]
    return float(100.0 * (reordered / packets).mean()) if len(packets) else None


@metric("window_mean", "KB", "mean window")
def _window_mean(run: Run) -> float | None:
    """Mean over flows of a flow's mean congestion window."""
    windows = run.flows["mean_window"].to_numpy().astype(float)
    return float(np.nanmean(windows)) / 1e3 if len(windows) else None


@metric("drop_share", "%", "dropped packets")
def _drop_share(run: Run) -> float | None:
    """Dropped packets in percent of those that transports gave to the network, of the whole run:
    how many were given to it in a warm-up is not counted."""
    sent = run.result.summary["packets_sent"]
    return 100.0 * float(run.result.summary["dropped"]) / sent if sent else None


@metric("goodput", "Mb/s", "goodput")
def _goodput(run: Run) -> float | None:
    """All flows' bytes over the time from the first start to the last completion."""
    flows = run.flows
    done = flows.filter(flows["fct_ps"].is_valid())
    if done.num_rows == 0:
        return None
    start = int(flows["start_ps"].to_numpy().min())
    end = int((done["start_ps"].to_numpy() + done["fct_ps"].to_numpy()).max())
    return float(done["bytes"].to_numpy().sum()) * 8e6 / (end - start)
