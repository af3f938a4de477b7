"""The figures of a comparison, one method each: ``comparison.plot.fct("short")``.

They are those that ``comparison.write()`` puts into ``plots/`` and the report.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from leafspine import plots
from leafspine.comparison_data import ComparisonData
from leafspine.engine import FlowClass, Point
from leafspine.errors import InputError, refused
from leafspine.labels import key_label
from leafspine.nearest import nearest
from leafspine.plots import Axis


@dataclass(frozen=True)
class ComparisonFigures:
    """Figures of a comparison. Each method returns a Matplotlib figure, which notebooks show.

    ``flow_class``: a class of the scenario's ``[classes]``, or ``"all"``; by default the first that
    the scenario names. ``at``: where several keys are swept, or for a figure of one point, the
    values of keys, ``{"workload.0.load": 0.8}``; by default the last point, which is that of the
    highest load. Lines are means over seeds, bands their 95 % intervals. Each method raises
    :class:`leafspine.InputError` for a class or a point that the comparison does not have.
    """

    comparison: ComparisonData

    def fct(self, flow_class: str | None = None, at: Mapping[str, Any] | None = None) -> Figure:
        """Mean and 99th percentile completion time over the swept key."""
        return self._over("fct", at, self._class(flow_class))

    def relative(
        self, flow_class: str | None = None, at: Mapping[str, Any] | None = None
    ) -> Figure:
        """The same in percent of the first variant's, paired by seed; below zero is faster."""
        if len(self.comparison.variants) < 2:
            raise InputError("there is one variant: it is compared with nothing")
        return self._over("relative", at, self._class(flow_class))

    def goodput(self, at: Mapping[str, Any] | None = None) -> Figure:
        """Mean goodput of the flows of each class over the swept key."""
        return self._over("goodput", at)

    def collectives(self, at: Mapping[str, Any] | None = None) -> Figure:
        """Completion time, bus bandwidth and idle share of jobs over the swept key."""
        if not self.comparison.has_jobs:
            raise InputError("no run of this comparison has a job")
        return self._over("collectives", at)

    def queue(self, at: Mapping[str, Any] | None = None) -> Figure:
        """Mean, 99th percentile and maximum queue of the uplinks over the swept key."""
        return self._over("queue", at)

    def reordering(self, at: Mapping[str, Any] | None = None) -> Figure:
        """Reordered packets and retransmissions over the swept key."""
        return self._over("reordering", at)

    def utilisation(self, at: Mapping[str, Any] | None = None) -> Figure:
        """Use of the least, the mean and the most used uplink over the swept key."""
        return self._over("utilisation", at)

    def slowdown(self, at: Mapping[str, Any] | None = None) -> Figure:
        """Slowdown (completion time over the ideal one) against flow size: p50, p95, p99."""
        return self._at("slowdown", at)

    def cdf(self, at: Mapping[str, Any] | None = None) -> Figure:
        """The distribution of completion times, a panel a class, of all seeds' flows pooled."""
        return self._at("cdf", at)

    def ccdf(self, at: Mapping[str, Any] | None = None) -> Figure:
        """The tail of that: the share of flows that took longer, both axes logarithmic."""
        return self._at("ccdf", at)

    def paused(self, at: Mapping[str, Any] | None = None) -> Figure:
        """The fabric for each variant, its links coloured by how long they were paused."""
        if not self.comparison.has_pauses:
            raise InputError("no run of this comparison has paused a port")
        return self._at("paused", at)

    def _over(
        self, name: str, at: Mapping[str, Any] | None, flow_class: FlowClass | None = None
    ) -> Figure:
        axes = [axis for axis in plots.axes_of(self.comparison) if _has(axis, at)]
        if not axes:
            raise self._no_point(at)
        with plots.settings():
            return plots.over(self.comparison, name, axes[-1], flow_class).figure

    def _at(self, name: str, at: Mapping[str, Any] | None) -> Figure:
        points = [point for point in self.comparison.points if _matches(point, at)]
        if not points:
            raise self._no_point(at)
        with plots.settings():
            return plots.at_point(self.comparison, name, points[-1]).figure

    def _class(self, name: str | None) -> FlowClass:
        classes = {entry.name: entry for entry in self.comparison.populated}
        if name is None:
            return list(classes.values())[min(1, len(classes) - 1)]
        if name not in classes:
            allowed = ", ".join(f'"{known}"' for known in classes)
            near = nearest(str(name), classes)
            raise refused(repr(name), allowed, key="flow_class", nearest=near)
        return classes[name]

    def _no_point(self, at: Mapping[str, Any] | None) -> InputError:
        allowed = "; ".join(str(dict(point)) for point in self.comparison.points)
        return refused(str(dict(at or {})), f"a part of one of: {allowed}", key="at")


def _matches(point: Point, at: Mapping[str, Any] | None) -> bool:
    """Whether a point has these values; a key may be what figures call it (``load``), if no other
    key is called the same."""
    labels = [key_label(key) for key, _ in point]
    known = {name: value for name, (_, value) in zip(labels, point, strict=True)
             if labels.count(name) == 1}  # fmt: skip
    known.update(point)
    return all(key in known and known[key] == value for key, value in (at or {}).items())


def _has(axis: Axis, at: Mapping[str, Any] | None) -> bool:
    """Whether the figures over an axis have the point: its value on the axis itself is any."""
    return any(_matches(point, at) for point in axis.points)
