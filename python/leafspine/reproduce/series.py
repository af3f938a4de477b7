"""Curves that a figure draws from one run: ``name`` or ``name:argument`` in the papers' files."""

from collections.abc import Callable

import numpy as np

from leafspine.engine import ALL_FLOWS
from leafspine.errors import refused
from leafspine.measures import PS_PER_US, in_class
from leafspine.nearest import nearest
from leafspine.reproduce.data import Values
from leafspine.reproduce.metrics import Run

POINTS = 300

Curve = tuple[Values, Values]

SERIES: dict[str, tuple[str, str, Callable[[Run, str], Curve]]] = {}
"""By name: labels of x and y, and how the curve is computed from a run and the argument."""


def curve(
    name: str, x_label: str, y_label: str
) -> Callable[[Callable[[Run, str], Curve]], Callable[[Run, str], Curve]]:
    """Register a function as a series."""

    def register(compute: Callable[[Run, str], Curve]) -> Callable[[Run, str], Curve]:
        SERIES[name] = (x_label, y_label, compute)
        return compute

    return register


def of(run: Run, name: str) -> Curve:
    """The series ``name`` or ``name:argument`` of a run, thinned to a few hundred points."""
    short, _, argument = name.partition(":")
    x, y = _entry(short)[2](run, argument)
    return thinned(np.asarray(x, dtype=float), np.asarray(y, dtype=float))


def labels(name: str) -> tuple[str, str]:
    """Labels of a series' axes."""
    x, y, _ = _entry(name.partition(":")[0])
    return x, y


def _entry(name: str) -> tuple[str, str, Callable[[Run, str], Curve]]:
    if name not in SERIES:
        allowed = ", ".join(SERIES)
        raise refused(repr(name), allowed, key="series", nearest=nearest(name, SERIES))
    return SERIES[name]


def thinned(x: Values, y: Values) -> Curve:
    """At most so many points, evenly picked; the last one stays."""
    if len(x) <= POINTS:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, POINTS).round().astype(int))
    return x[kept], y[kept]


@curve("fct", "FCT (us)", "share of flows")
def _fct(run: Run, argument: str) -> Curve:
    """Distribution of the completion times of a class of flows; unfinished flows are not in it."""
    named = {entry.name: entry for entry in (ALL_FLOWS, *run.case.classes)}
    if (argument or "all") not in named:
        raise refused(repr(argument), ", ".join(named), key="class of flows")
    flows = run.flows
    flows = flows.filter(flows["fct_ps"].is_valid())
    member = in_class(flows["bytes"].to_numpy(), named[argument or "all"])
    ordered = np.sort(flows["fct_ps"].to_numpy()[member]) / PS_PER_US
    return ordered, np.arange(1, len(ordered) + 1) / max(len(ordered), 1)


@curve("flow", "", "share of flows")
def _flow(run: Run, argument: str) -> Curve:
    """A column of the flows, sorted: the distribution of windows, reordered packets, ..."""
    values = np.sort(run.flows[argument].to_numpy().astype(float))
    return values, np.arange(1, len(values) + 1) / max(len(values), 1)


@curve("queue", "time (ms)", "queue (packets)")
def _queue(run: Run, argument: str) -> Curve:
    """A queue probe's packets against time: ``queue:<probe>``."""
    probe = run.result.probes[argument]
    return probe["time_ps"].to_numpy() / 1e9, probe["packets"].to_numpy()
