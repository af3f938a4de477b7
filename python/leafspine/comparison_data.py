"""What a comparison has found: its runs, every metric as rows, and what a reader has to know.

Tables, figures and the report are made of this; :mod:`leafspine.comparison` has them written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from leafspine import engine, frames, measures, remarks, results
from leafspine.engine import Case, FlowClass, Point
from leafspine.measures import (
    COLLECTIVE_METRICS,
    COLLECTIVES,
    FLOW_METRICS,
    METRICS,
    NETWORK,
    NETWORK_METRICS,
    PAUSE_METRICS,
    RECOVERY,
    RECOVERY_METRICS,
    RECOVERY_TIMES,
    Measured,
    counts_of,
    measure,
)
from leafspine.results import Result
from leafspine.scenario import Source
from leafspine.stats import Estimate, Percent, estimate, paired_difference, paired_percent
from leafspine.tasks import Failure

if TYPE_CHECKING:
    import pandas
    import polars


@dataclass(frozen=True)
class Row:
    """One metric of one group (a flow class or the network) for a variant at a point.

    ``values`` has a value per seed, ``None`` where undefined; ``estimate`` their mean with its
    95 % interval; ``difference`` the paired difference to the first variant in percent, ``None``
    where a value is zero; ``change`` the same in the metric's unit. Where it ``repeats``, the seed
    changes nothing: all seeds are one run, so that it counts once and there is no interval.
    """

    variant: str
    point: Point
    group: str
    metric: str
    seeds: tuple[int, ...]
    values: tuple[float | None, ...]
    estimate: Estimate | None
    difference: Percent | None
    change: Estimate | None = None
    repeats: bool = False


@dataclass(frozen=True)
class ComparisonData:
    """Finished runs of one scenario, side by side: their numbers, and what to know about them.

    Every case has its result in ``directory/runs/<key>``; ``failures`` are the cases that have
    none.
    """

    source: Source
    cases: tuple[Case, ...]
    directory: Path
    failures: tuple[Failure, ...] = ()
    command: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    keep: Any = field(default=None, repr=False, compare=False)

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants; the first is what the others are compared with."""
        return tuple(dict.fromkeys(case.variant for case in self.cases))

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Points of the sweep (the seed is none), in the scenario's order."""
        return tuple(dict.fromkeys(case.point for case in self.cases))

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Seeds, each once."""
        return tuple(dict.fromkeys(case.seed for case in self.cases))

    @cached_property
    def classes(self) -> tuple[FlowClass, ...]:
        """``all`` and the scenario's flow classes."""
        named = dict.fromkeys(flow_class for case in self.cases for flow_class in case.classes)
        return (engine.ALL_FLOWS, *(entry for entry in named if entry.name != "all"))

    @cached_property
    def populated(self) -> tuple[FlowClass, ...]:
        """The classes that any flow of any run belongs to; the others have nothing to show."""
        return tuple(
            entry
            for entry in self.classes
            if entry.name == "all"
            or any(found.get((entry.name, "flows")) for found in self.measured.values())
        )

    @cached_property
    def finished(self) -> tuple[Case, ...]:
        """The cases that have a result."""
        failed = {failure.case.key for failure in self.failures}
        return tuple(case for case in self.cases if case.key not in failed)

    def result(self, case: Case) -> Result:
        """A case's result, read from its files."""
        return Result.load(self.directory / "runs" / case.key)

    def summary(self, case: Case) -> dict[str, Any]:
        """A case's summary alone, without reading its tables."""
        return results.summary(self.directory / "runs" / case.key)

    @cached_property
    def summaries(self) -> tuple[dict[str, Any], ...]:
        """The summaries of the finished cases."""
        return tuple(self.summary(case) for case in self.finished)

    @cached_property
    def measured(self) -> dict[tuple[str, Point, int], Measured]:
        """Every metric of every finished case, by variant, point and seed."""
        found = {}
        for case in self.finished:
            result = self.result(case)
            numbers = measure(result.flows, result.ports, result.summary, case.classes, result.jobs)
            found[case.variant, case.point, case.seed] = numbers
        return found

    @property
    def flows(self) -> pa.Table:
        """The flows of all finished runs as one table: those of a run, one run after the other.

        Before their own columns (``bytes``, ``fct_ps``, ...; ``docs/measurements.md``) come
        ``variant``, one column a swept key, and ``seed``. Each access reads the runs' files.
        """
        return self._stacked("flows")

    @property
    def measured_flows(self) -> pa.Table:
        """The same without those that started during a warm-up: what statistics are of."""
        return self._stacked("measured_flows")

    @property
    def ports(self) -> pa.Table:
        """The ports of all finished runs as one table, with the same columns before their own."""
        return self._stacked("ports")

    def _stacked(self, name: str) -> pa.Table:
        return frames.stacked(
            (
                {"variant": case.variant, **dict(case.point), "seed": case.seed},
                getattr(self.result(case), name),
            )
            for case in self.finished
        )

    def _frame(self, name: str) -> pa.Table:
        makes = {
            "flows": lambda: self.flows,
            "measured_flows": lambda: self.measured_flows,
            "ports": lambda: self.ports,
            "metrics": self.table,
        }
        return frames.chosen(makes, name)()

    def to_polars(self, table: str = "flows") -> "polars.DataFrame":
        """A table as a Polars frame: ``flows``, ``measured_flows``, ``ports``, or ``metrics``.

        That is :meth:`table`. Raises :class:`InputError` without Polars, or for another name.
        """
        return frames.to_polars(self._frame(table))

    def to_pandas(self, table: str = "flows") -> "pandas.DataFrame":
        """The same as a pandas frame."""
        return frames.to_pandas(self._frame(table))

    @cached_property
    def has_jobs(self) -> bool:
        """Whether some run has jobs, and so metrics of collectives."""
        return any((COLLECTIVES, "collectives") in found for found in self.measured.values())

    @cached_property
    def only_jobs(self) -> bool:
        """Whether all traffic is jobs': then collectives come first, and their messages after."""
        return bool(self.summaries) and all(map(measures.only_jobs, self.summaries))

    @cached_property
    def has_flow_control(self) -> bool:
        """Whether switches of some run ask for pauses, so that the network has metrics of them."""
        return any(map(measures.has_flow_control, self.summaries))

    @cached_property
    def has_pauses(self) -> bool:
        """Whether flow control has paused a port in some run."""
        return any(summary.get("pause_frames") for summary in self.summaries)

    @cached_property
    def has_faults(self) -> bool:
        """Whether some run measures how soon goodput is back after a fault."""
        return any((RECOVERY, "faults") in found for found in self.measured.values())

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All metrics: by point, then group, then metric, then variant."""
        groups = [(entry.name, FLOW_METRICS) for entry in self.classes]
        if self.has_jobs:
            groups.append((COLLECTIVES, COLLECTIVE_METRICS))
        if self.has_faults:
            groups.append((RECOVERY, RECOVERY_METRICS))
        groups.append((NETWORK, NETWORK_METRICS + PAUSE_METRICS * self.has_flow_control))
        return tuple(
            self._row(variant, point, group, metric.name)
            for point in self.points
            for group, metrics in groups
            for metric in metrics
            for variant in self.variants
        )

    def _values(
        self, variant: str, point: Point, group: str, metric: str
    ) -> tuple[float | None, ...]:
        none: Measured = {}
        found = [self.measured.get((variant, point, seed), none) for seed in self.seeds]
        if metric in RECOVERY_TIMES and any(run.get((RECOVERY, "not_back")) for run in found):
            # Over the seeds in which goodput was back the mean would be of the easy ones.
            return (None,) * len(found)
        return tuple(run.get((group, metric)) for run in found)

    def _row(self, variant: str, point: Point, group: str, metric: str) -> Row:
        values = self._values(variant, point, group, metric)
        repeats = (variant, point) in self.repeated
        known = [value for value in values if value is not None]
        difference = change = None
        if variant != self.variants[0]:
            base = self._values(self.variants[0], point, group, metric)
            pairs = [pair for pair in zip(values, base, strict=True) if None not in pair]
            if repeats and (self.variants[0], point) in self.repeated:
                pairs = pairs[:1]
            mine, its = [one for one, _ in pairs], [other for _, other in pairs]
            difference, change = paired_percent(mine, its), paired_difference(mine, its)
        return Row(
            variant=variant,
            point=point,
            group=group,
            metric=metric,
            seeds=self.seeds,
            values=values,
            estimate=estimate(known[:1] if repeats else known),
            difference=difference,
            change=change,
            repeats=repeats,
        )

    @cached_property
    def repeated(self) -> frozenset[tuple[str, Point]]:
        """Variants and points at which the seed changes nothing: every packet of all runs is the
        same."""
        hashes: dict[tuple[str, Point], list[str]] = {}
        for case, summary in zip(self.finished, self.summaries, strict=True):
            hashes.setdefault((case.variant, case.point), []).append(summary["trace_hash"])
        return frozenset(
            where for where, found in hashes.items() if len(found) > 1 and len(set(found)) == 1
        )

    @cached_property
    def by_name(self) -> dict[tuple[str, Point, str, str], Row]:
        """The rows by variant, point, group and metric."""
        return {(row.variant, row.point, row.group, row.metric): row for row in self.rows}

    def table(self) -> pa.Table:
        """All rows as an Arrow table, one row a (point, group, metric, variant).

        Columns: ``variant``, one a swept key, ``group``, ``metric``, ``unit``, ``seeds`` (with a
        value), ``mean``, ``ci_low``, ``ci_high`` (in ``unit``), ``difference_percent``,
        ``difference_low``, ``difference_high`` (to the first variant, paired by seed), ``change``,
        ``change_low``, ``change_high`` (the same in ``unit``), ``pairs`` (seeds in which both have
        a value).
        """
        columns: dict[str, list[Any]] = {}
        for row in self.rows:
            for name, value in _columns(row).items():
                columns.setdefault(name, []).append(value)
        return pa.table(columns)

    def warnings(self) -> list[str]:
        """What limits the numbers: failures, unfinished flows, few seeds, short windows."""
        return [
            *self._skipped(),
            *self._failed(),
            *self._unfinished(),
            *self._other_builds(),
            *self._few_seeds(),
            *self._repeated(),
            *self._identical(),
            *self._from_engine(),
        ]

    def _skipped(self) -> list[str]:
        """Settings that only some variants have a use for: the others were left as they are."""
        schemes: dict[str, list[str]] = {}
        for key, scheme in dict.fromkeys(pair for case in self.cases for pair in case.skipped):
            schemes.setdefault(key, []).append(scheme)
        return [
            f"{key}: {', '.join(names)} {'has' if len(names) == 1 else 'have'} none, and "
            f"{'was' if len(names) == 1 else 'were'} left unchanged"
            for key, names in schemes.items()
        ]

    def _failed(self) -> list[str]:
        return [
            f"no result for {failure.case.label()}: {failure.message}" for failure in self.failures
        ]

    def _unfinished(self) -> list[str]:
        said = {"unfinished": remarks.unfinished, "cut_off": remarks.cut_off}
        return [
            f"{_label(variant, point)}: {text}"
            for group in (engine.ALL_FLOWS.name, *([COLLECTIVES] if self.has_jobs else []))
            for point in self.points
            for variant in self.variants
            for text in said[counts_of(group)[2]](*self.counted(variant, point, group))
        ]

    def counted(self, variant: str, point: Point, group: str) -> tuple[int, int]:
        """Over all seeds: how many flows of a class (collectives, faults) there were, and how many
        of them are in no mean since the run ended before them."""
        group, *names = counts_of(group)
        of, left = (self._values(variant, point, group, name) for name in names)
        return sum(int(value or 0) for value in of), sum(int(value or 0) for value in left)

    def _other_builds(self) -> list[str]:
        """A scheme that was changed and rebuilt has the same version, but other results."""
        count = 0
        for case in self.finished:
            timing = results.timing(self.directory / "runs" / case.key)
            count += timing.get("build") != engine.build()
        if not count:
            return []
        return [
            f"{count} of {len(self.finished)} runs were made by another build of leafspine "
            f"{engine.version()}; to run them again, remove {self.directory / 'runs'}"
        ]

    def _few_seeds(self) -> list[str]:
        count = len(self.seeds)
        if count == 1:
            return ["one seed: no confidence intervals; use --seeds 5 or more"]
        if count < 5:
            return [f"{count} seeds: the intervals are wide; 5 or more are better"]
        return []

    def _repeated(self) -> list[str]:
        if not self.repeated:
            return []
        where = [_label(*one) for one in dict.fromkeys((c.variant, c.point) for c in self.cases)
                 if one in self.repeated]  # fmt: skip
        names = ", ".join(name for name in where if name)
        return [
            f"the seed changes nothing here{f' ({names})' if names else ''}: every packet is the "
            "same with every seed, so all are one run (n = 1), without intervals"
        ]

    def _identical(self) -> list[str]:
        """Variants between which there is nothing to compare: a setting made one scenario of them,
        or a scheme never had a choice (a switch with one way on, a class without flows)."""
        keys: dict[str, set[Any]] = {}
        packets: dict[str, set[Any]] = {}
        for case, summary in zip(self.finished, self.summaries, strict=True):
            where = (case.point, case.seed)
            keys.setdefault(case.variant, set()).add((where, case.key))
            packets.setdefault(case.variant, set()).add((where, summary["trace_hash"]))
        same_scenario = _alike(keys)
        said = [
            f"{' and '.join(names)} are one and the same scenario: what sets them apart has been "
            "set alike for all"
            for names in same_scenario
        ]
        return said + [
            f"{' and '.join(names)} send the very same packets: what sets them apart never acted"
            for names in _alike(packets)
            if names not in same_scenario
        ]

    def _from_engine(self) -> list[str]:
        runs = zip(self.finished, self.summaries, strict=True)
        return remarks.grouped(
            (case.label(), [*remarks.nothing(summary["packet_hops"]), *summary.get("warnings", [])])
            for case, summary in runs
        )


def _alike(found: Mapping[str, set[Any]]) -> list[list[str]]:
    """The names of those that have the same, where there are several."""
    groups: dict[frozenset[Any], list[str]] = {}
    for name, what in found.items():
        groups.setdefault(frozenset(what), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _label(variant: str, point: Point) -> str:
    return " ".join([variant, *(f"{name}={value}" for name, value in point)]).strip()


def _columns(row: Row) -> dict[str, Any]:
    mean, difference, change = row.estimate, row.difference, row.change
    return {
        "variant": row.variant,
        **dict(row.point),
        "group": row.group,
        "metric": row.metric,
        "unit": METRICS[row.metric].unit,
        "seeds": mean.n if mean else 0,
        "mean": mean.mean if mean else None,
        "ci_low": mean.low if mean else None,
        "ci_high": mean.high if mean else None,
        "difference_percent": difference.mean if difference else None,
        "difference_low": difference.low if difference else None,
        "difference_high": difference.high if difference else None,
        "change": change.mean if change else None,
        "change_low": change.low if change else None,
        "change_high": change.high if change else None,
        "pairs": change.n if change else None,
    }
