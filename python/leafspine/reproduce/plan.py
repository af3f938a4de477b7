"""Which runs a figure needs at a scale, and what is read off them."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from leafspine import engine, results, scenario
from leafspine.engine import Case
from leafspine.errors import InputError, ScenarioError
from leafspine.nearest import nearest
from leafspine.reproduce import (  # noqa: F401  (they register their metrics)
    fits,
    ideal,
    layers,
    metrics,
    paths,
    probe_metrics,
    queues,
    rates,
    series,
)
from leafspine.reproduce.claims import Check, Claim
from leafspine.reproduce.data import Data, Origin, Place, matches, same
from leafspine.reproduce.figures import Figure
from leafspine.reproduce.reading import Keys
from leafspine.reproduce.run_sets import RunSet, Settings


@dataclass(frozen=True)
class Wanted:
    """A case of a set of runs, with the metrics and series that are read off it."""

    runs: str
    case: Case
    metrics: tuple[str, ...]
    series: tuple[str, ...]
    batches: int = 1

    def kept_in(self, data: Data) -> bool:
        """Whether data has all of its numbers, from this very run."""
        return self.kept_at(data) is not None

    def kept_at(self, data: Data) -> Place | None:
        """Where data has all of its numbers, from this very run: at its own place, or where
        another set of the figure's runs has the same one."""
        if self.is_at(self.place, data):
            return self.place
        others = data.places_of(self.case.key)
        return next((place for place in others if self.is_at(place, data)), None)

    def is_at(self, place: Place, data: Data) -> bool:
        """Whether a row of data has all of its numbers, from this very run."""
        case = self.case
        return data.has(place, case.seed, case.key, self.metrics, self.series) and all(
            len(data.batches_of(place, name, case.seed)) == self.batches for name in self.batched
        )

    def one_by_one(self) -> tuple["Wanted", ...]:
        """The same case for each of its metrics and series alone."""
        return (
            *(replace(self, metrics=(name,), series=()) for name in self.metrics),
            *(replace(self, metrics=(), series=(name,)) for name in self.series),
        )

    @property
    def batched(self) -> tuple[str, ...]:
        """Those of its metrics that are read off each batch of its flows as well."""
        if self.batches == 1:
            return ()
        return tuple(name for name in self.metrics if metrics.is_batched(name))

    @property
    def place(self) -> Place:
        """Where its numbers stand in the data."""
        return self.runs, self.case.variant, self.case.point


@dataclass(frozen=True)
class Plan:
    """Everything that a figure needs."""

    figure: Figure
    claims: tuple[Claim, ...]
    wanted: tuple[Wanted, ...]
    schemes: dict[str, Case] = field(default_factory=dict)
    """A case of each variant: figures take its style from it."""


def plan(figure: Figure, claims: Sequence[Claim], scale: str) -> Plan:
    """The runs of a figure at a scale. Raises :class:`InputError` for what cannot be run.

    Sensitivities are of the paper's size: with a few flows and seeds they would say little, and
    they are most of the runs."""
    wanted: list[Wanted] = []
    # The quick scale has seeds, and too few flows for batches that know nothing of each other.
    batches = figure.batches if scale == "paper" else 1
    moved = _moved(figure)
    variants: dict[str, list[str]] = {}
    for run_set in figure.all_runs() if scale == "paper" else figure.runs:
        names = _metrics(figure, claims, run_set.name)
        found = cases(run_set, scale)
        variants[run_set.name] = list(dict.fromkeys(case.variant for case in found))
        if run_set.name in moved:
            _is_swept(*moved[run_set.name], found)
        for case in found:
            curves = _series(figure, run_set.name, case, found)
            if names or curves:
                wanted.append(Wanted(run_set.name, case, names, curves, batches))
        if run_set.name in figure.ideal.runs:
            grid = cases(replace(run_set, also=()), scale)
            wanted += _ideal(figure, run_set.name, grid, names, batches)
    for number, parts in enumerate(figure.by_name()):
        known = list(dict.fromkeys(name for part in parts for name in variants[part.runs]))
        _are_known(parts[0].variants, known, Keys({}, figure.file, ("panel", str(number))))
    schemes: dict[str, Case] = {}
    for entry in wanted:
        schemes.setdefault(entry.case.variant, entry.case)
    return Plan(figure, tuple(claims), tuple(wanted), schemes)


def _moved(figure: Figure) -> dict[str, tuple[Settings, Keys]]:
    """By set of runs: the point that a sensitivity has its claims judged at, and where it says."""
    return {
        other.run_set(runs): (other.at, Keys({}, figure.file, ("sensitivity", str(number))))
        for number, other in enumerate(figure.sensitivities)
        if other.at
        for runs in other.runs
    }


def _is_swept(at: Settings, keys: Keys, found: Sequence[Case]) -> None:
    """Refuse a point that none of the cases is at."""
    if any(matches(case.point, at) for case in found):
        return
    for key, value in at.items():
        swept = dict.fromkeys(str(dict(case.point).get(key, "not swept")) for case in found)
        if str(value) not in swept:
            raise keys.refuse("at", f"{key} = {value!r}", ", ".join(swept))
    raise keys.wrong("no run is at this point")


def _ideal(
    figure: Figure, runs: str, found: Sequence[Case], names: Sequence[str], batches: int
) -> Iterator[Wanted]:
    """The ideal runs beside the cases of a set of runs."""
    bounded = tuple(name for name in names if ideal.is_bounded(name))
    known = list(dict.fromkeys(case.variant for case in found))
    _are_known(figure.ideal.variants, known, Keys({}, figure.file, ("ideal",)))
    for case in found:
        there = any(matches(case.point, at) for at in figure.ideal.at)
        if bounded and there and case.variant in figure.ideal.variants:
            yield Wanted(ideal.runs_of(runs), ideal.case_of(case), bounded, (), batches)


def _are_known(names: Sequence[str], known: Sequence[str], keys: Keys) -> None:
    """Refuse a variant of a table that no run has: it would be left out of a picture or a bound."""
    for name in names:
        if name not in known:
            raise keys.refuse("variants", repr(name), ", ".join(known), nearest(name, known))


def cases(run_set: RunSet, scale: str) -> list[Case]:
    """All cases of a set of runs."""
    found = {
        (case.variant, case.point, case.seed): case
        for part in run_set.parts(scale)
        for case in _swept(part, scale)
    }
    return list(found.values())


def _swept(run_set: RunSet, scale: str) -> list[Case]:
    settings, sweep = run_set.at(scale)
    layered = layers.read(*run_set.files)
    variants = run_set.variants(settings.get("variant", layered.variants))
    if variants is not None:
        settings = {**settings, "variant": variants}
    pairs = scenario.to_settings(
        {key: value for key, value in settings.items() if key not in sweep}
    )
    source = layered.source
    try:
        found = scenario.expand(source, scenario.comparing(source, pairs, over=sweep))
    except ScenarioError as error:
        raise layered.explain(error, f"runs.{run_set.name}") from None
    _sweeps_work(run_set.name, settings, found)
    return found


def _sweeps_work(runs: str, settings: Settings, found: Sequence[Case]) -> None:
    """A table that is set whole would hide the sweep of a key in it: all its points were one."""
    swept: dict[str, set[str]] = {}
    for case in found:
        for key, value in case.point:
            swept.setdefault(key, set()).add(str(value))
    for key, values in swept.items():
        for name in settings:
            if key.startswith(f"{name}.") and len(values) > 1:
                raise InputError(
                    f"runs.{runs}: {name} is set whole, so that the sweep of {key} changes "
                    "nothing: set its keys one by one, or sweep one value"
                )


def _metrics(figure: Figure, claims: Sequence[Claim], runs: str) -> tuple[str, ...]:
    """The metrics that panels and tests want of a set of runs."""
    base = runs.partition("~")[0]
    panels = [panel.metric for panel in figure.panels if panel.runs == runs and panel.metric]
    tests = [test.metric for claim in claims for test in claim.tests if base in test.all_runs()]
    return tuple(dict.fromkeys(panels + tests))


def _series(figure: Figure, runs: str, case: Case, found: Sequence[Case]) -> tuple[str, ...]:
    """The series that panels draw of a case: of their variants, at their first point."""
    wanted = []
    for panel in figure.panels:
        if (
            panel.runs == runs
            and panel.series
            and case.variant in (panel.variants or [case.variant])
        ):
            points = (other.point for other in found if matches(other.point, panel.at))
            if case.point == next(points, None):
                wanted.append(panel.series)
    return tuple(dict.fromkeys(wanted))


def reduce(wanted: Sequence[Wanted], runs_folder: Path, kept: Data | None = None) -> Data:
    """The numbers of the kept runs, and read off the finished ones; others are missing."""
    data = Data()
    for entry in wanted:
        folder = runs_folder / entry.case.key
        if kept is not None and (at := entry.kept_at(kept)) is not None:
            data.take(kept, at, entry.place, entry.case.seed, entry.metrics, entry.series)
        elif (folder / results.SUMMARY).is_file():
            _read(data, entry, folder)
    return data


def lend(wanted: Sequence[Wanted], kept: Data, others: Sequence[Data]) -> None:
    """Add to what is kept the numbers that others have of the runs that it lacks."""
    for entry in wanted:
        if entry.kept_in(kept):
            continue
        for other in others:
            if (at := entry.kept_at(other)) is not None:
                kept.take(other, at, entry.place, entry.case.seed, entry.metrics, entry.series)
                break
        else:
            _complete(entry, kept, others)


def _complete(entry: Wanted, kept: Data, others: Sequence[Data]) -> None:
    """Put a run's numbers together from several rows, if all of them are there: figures that show
    different metrics of the same run keep a row of it each."""
    parts = entry.one_by_one()
    for rows in _same_packets(entry.case, (kept, *others)):
        found = [
            next(((data, at) for data, at in rows if part.is_at(at, data)), None) for part in parts
        ]
        sources = [row for row in found if row is not None]
        if len(sources) < len(parts):
            continue
        seed = entry.case.seed
        origins = [data.origins[at][seed] for data, at in sources]
        for part, (data, at) in zip(parts, sources, strict=True):
            kept.take(data, at, entry.place, seed, part.metrics, part.series)
        # A row names one version: that which the first of its numbers is from.
        kept.put_origin(entry.place, seed, origins[0])
        return


def _same_packets(case: Case, tables: Sequence[Data]) -> list[list[tuple[Data, Place]]]:
    """Where a case's numbers are, apart by what its packets did: the key is the scenario's alone,
    and another build may have handled them otherwise."""
    found: dict[Origin, list[tuple[Data, Place]]] = {}
    for data in tables:
        for place in data.places_of(case.key):
            origin = data.origins[place].get(case.seed)
            if origin is not None and origin.key == case.key:
                found.setdefault(replace(origin, version=""), []).append((data, place))
    return list(found.values())


def _read(data: Data, entry: Wanted, folder: Path) -> None:
    summary = results.summary(folder)
    run = metrics.Run(entry.case, folder, results.measured(summary))
    seed = entry.case.seed
    for name in entry.metrics:
        data.put(entry.place, name, seed, metrics.value(run, name))
    if entry.batched:
        found = metrics.of_batches(run.flows, entry.case.classes, entry.batched, entry.batches)
        for name, values in found.items():
            data.put_batches(entry.place, name, seed, values)
    for name in entry.series:
        data.put_series(entry.place, name, seed, *series.of(run, name))
    data.put_origin(entry.place, seed, _origin(entry.case, summary, results.timing(folder)))


def _origin(case: Case, summary: Mapping[str, Any], timing: Mapping[str, Any]) -> Origin:
    version = made_by(summary, timing)
    kernel = case.facts.kernel or ""
    return Origin(case.key, version, summary["packet_hops"], summary["trace_hash"], kernel)


def made_by(summary: Mapping[str, Any], timing: Mapping[str, Any]) -> str:
    """Version and commit of the leafspine that made a run, given its ``summary.json`` and
    ``timing.json``."""
    # The present commit does not identify a run of another build.
    build = timing.get("build")
    name = commit() if build == engine.build() else f"build.{build}"
    return "+".join(part for part in (summary["leafspine"], name) if part)


SOURCES = ("crates", "python", "Cargo.toml", "Cargo.lock")
"""What numbers depend on besides their scenario, which their key is of."""


@cache
def commit() -> str:
    """The commit of the sources that leafspine is used from, ``-dirty`` where these were changed
    since; empty where it is installed."""
    return commit_of(Path(__file__).parents[3])


def commit_of(root: Path) -> str:
    """The commit of a folder of sources, as :func:`commit` says it."""
    if not (root / "crates").is_dir():
        return ""
    try:
        name = _git(root, "describe", "--always", "--match=")
        # Kept numbers and pages are in the repository, too, and change while runs are made.
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", *SOURCES)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{name}-dirty" if changed else name


def _git(root: Path, *words: str) -> str:
    command = ("git", "-C", str(root), *words)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def unmet(claims: Sequence[Claim], plan_: Plan) -> list[str]:
    """Tests that name a variant or a point that the plan lacks: they could never be judged."""
    found = []
    for claim in claims:
        for test in claim.tests:
            found += [f"{claim.id}: {problem}" for problem in _problems(test, plan_)]
    return found


def _problems(test: Check, plan_: Plan) -> list[str]:
    found = []
    for runs in dict.fromkeys(test.all_runs()):
        entries = [entry for entry in plan_.wanted if entry.runs == runs]
        variants = {entry.case.variant for entry in entries}
        for at in (test.at, test.start, test.end):
            for key, value in (at or {}).items():
                swept = {dict(entry.case.point).get(key) for entry in entries}
                if not any(same(value, entry) for entry in swept if entry is not None):
                    found.append(f"{runs}: no point with {key} = {value!r}")
        if test.along and not any(test.along in dict(entry.case.point) for entry in entries):
            found.append(f"{runs}: {test.along} is not swept")
        for name in _named(test):
            if name and name not in variants and runs != test.runs_against:
                found.append(
                    f"{runs}: no variant {name!r}; there are {', '.join(sorted(variants))}"
                )
    return found


def _named(test: Check) -> list[str]:
    return [
        *(test.scheme, test.against, *test.others, *test.schemes),
        *(*test.less, *test.less_than, *test.more_than),
    ]


def unknown(entry: Wanted) -> list[str]:
    """Metrics and series of a set of runs that are not defined."""
    found = []
    for name, check in (
        *((name, metrics.unit_and_label) for name in entry.metrics),
        *((name, series.labels) for name in entry.series),
    ):
        try:
            check(name)
        except InputError as error:
            found.append(f"{entry.runs}: {error}")
    return found
