"""``own`` metrics of parallel paths and of flow sizes, and the series of QDAPS's first figures."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from leafspine.errors import InputError
from leafspine.measures import first_uplinks
from leafspine.reproduce.metrics import Run, metric
from leafspine.reproduce.series import Curve, curve

Floats = npt.NDArray[np.float64]


@metric("flows_moved", "%", "flows that changed path")
def _flows_moved(run: Run) -> float | None:
    """Flows whose data left the source's switch by more than one uplink, per 100 flows."""
    changes = run.flows["path_changes"].to_numpy()
    return 100.0 * float((changes > 0).mean()) if len(changes) else None


@metric("balancer_state", "KB", "state of the balancer")
def _balancer_state(run: Run) -> float | None:
    """The most bytes that one switch's balancer kept, over the samples of the probe ``state``."""
    kept = run.result.probes["state"]["bytes"].to_numpy()
    return float(kept.max()) / 1e3 if len(kept) else None


def _paths(run: Run) -> Floats:
    """Utilisation in percent of the sending leaf's uplinks in the window, idlest first: all senders
    are under the first."""
    used = first_uplinks(run.result.ports)["utilisation"].to_numpy()
    return 100.0 * np.sort(used)


def _spread(used: Floats) -> float:
    """Busiest less idlest in percent of the mean; nothing is spread where nothing is sent."""
    return float(100.0 * (used[-1] - used[0]) / used.mean()) if used.any() else 0.0


def _of_paths(name: str, label: str, reduced: Callable[[Floats], float], least: int = 1) -> None:
    """Register a number of the paths' utilisations; undefined of fewer than ``least``."""

    @metric(name, "%", label)
    def compute(run: Run) -> float | None:
        used = _paths(run)
        return float(reduced(used)) if len(used) >= least else None


_of_paths("path_utilisation_min", "least used path", lambda used: used[0])
_of_paths("path_utilisation_mean", "mean use of the paths", lambda used: used.mean())
_of_paths("path_utilisation_max", "most used path", lambda used: used[-1])
_of_paths("path_utilisation_bottom2", "two least used paths", lambda used: used[:2].mean(), 2)
_of_paths("path_utilisation_top2", "two most used paths", lambda used: used[-2:].mean(), 2)
_of_paths("path_utilisation_spread", "spread of the paths' use", _spread)


def _share_of_sizes(name: str, label: str, above: float, to: float) -> None:
    """Register the share of flows of more than ``above`` and at most ``to`` bytes."""

    @metric(name, "%", label)
    def compute(run: Run) -> float | None:
        sizes = run.flows["bytes"].to_numpy()
        return 100.0 * float(((sizes > above) & (sizes <= to)).mean()) if len(sizes) else None


_share_of_sizes("size_to_10kb", "flows to 10 KB", 0, 1e4)
_share_of_sizes("size_to_100kb", "flows of 10 to 100 KB", 1e4, 1e5)
_share_of_sizes("size_to_1mb", "flows of 100 KB to 1 MB", 1e5, 1e6)
_share_of_sizes("size_above_1mb", "flows above 1 MB", 1e6, np.inf)


@metric("size_mean", "MB", "mean flow size")
def _size_mean(run: Run) -> float | None:
    """Mean payload of a flow."""
    sizes = run.flows["bytes"].to_numpy()
    return float(sizes.mean()) / 1e6 if len(sizes) else None


@curve("flow_share", "share of a flow's packets (%)", "share of flows")
def _flow_share(run: Run, argument: str) -> Curve:
    """A count in percent of each flow's data packets, sorted: ``flow_share:reordered``."""
    packets = run.flows["packets"].to_numpy()
    counted = run.flows[argument].to_numpy()[packets > 0]
    values = np.sort(100.0 * counted / packets[packets > 0])
    return values, np.arange(1, len(values) + 1) / max(len(values), 1)


@curve("port", "time (ms)", "utilisation (%)")
def _port(run: Run, argument: str) -> Curve:
    """One port of a utilisation probe against time: ``port:<probe>/<port>``."""
    name, _, port = argument.partition("/")
    probe = run.result.probes[name]
    rows = probe.filter(pc.equal(probe["port"], port))
    if rows.num_rows == 0:
        raise InputError(f"probe {name!r} has no port {port!r}")
    return rows["time_ps"].to_numpy() / 1e9, 100.0 * rows["utilisation"].to_numpy()
