"""The search: rounds of runs, after each of which the worse half of the settings is left."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leafspine import engine, files, folder, places, progress, remarks, results, scenario
from leafspine.engine import Case
from leafspine.errors import InputError, RunError, ScenarioError, refused
from leafspine.measures import (
    COLLECTIVE_METRICS,
    COLLECTIVES,
    METRICS,
    NETWORK,
    NETWORK_METRICS,
    PAUSE_METRICS,
    RECOVERY,
    RECOVERY_METRICS,
    Measured,
    counts_of,
)
from leafspine.nearest import nearest
from leafspine.places import How
from leafspine.scenario import Source
from leafspine.stats import Estimate, estimate, paired_difference, paired_percent
from leafspine.tuning.parameters import Parameter, Setting

DEFAULT = "default"
HIGHER_IS_BETTER = (
    "goodput_mean",
    "carried",
    "utilisation_min",
    "utilisation_mean",
    "algorithm_bandwidth",
    "bus_bandwidth",
    "lowest",
)
WHOLE = {
    NETWORK: NETWORK_METRICS + PAUSE_METRICS,
    COLLECTIVES: COLLECTIVE_METRICS,
    RECOVERY: RECOVERY_METRICS,
}
"""Metrics of no class of flows, by their group."""
FEWEST_SEEDS = 2


@dataclass(frozen=True)
class Goal:
    """The metric of a class of flows, or of the network."""

    group: str
    metric: str

    @property
    def sign(self) -> int:
        """What a difference is multiplied with so that less is better."""
        return -1 if self.metric in HIGHER_IS_BETTER else 1

    @property
    def is_of_pauses(self) -> bool:
        """Whether only scenarios with flow control have it."""
        return self.group == NETWORK and self.metric in {entry.name for entry in PAUSE_METRICS}

    @property
    def counts(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Of how many flows (collectives, faults) the metric should be, and how many of them it is
        not of, since the run ended before them: two metrics with their groups."""
        group, of, left = counts_of(self.group)
        return (group, of), (group, left)

    def __str__(self) -> str:
        label = METRICS[self.metric].label
        return label if self.group in WHOLE else f"{label} of {self.group} flows"


def goal(text: str) -> Goal:
    """``fct_p99``, ``short.fct_p99`` or ``drops``. Raises :class:`InputError`."""
    group, _, metric = text.rpartition(".")
    if metric not in METRICS:
        turned = [name for name in METRICS if sorted(name.split("_")) == sorted(metric.split("_"))]
        meant = turned[0] if turned else nearest(metric, METRICS)
        raise refused(repr(metric), ", ".join(METRICS), file="--metric", nearest=meant)
    for whole, metrics in WHOLE.items():
        if metric in {entry.name for entry in metrics}:
            if group:
                raise refused(repr(text), f"{metric}, which is the {whole}'s", file="--metric")
            return Goal(whole, metric)
    return Goal(group or "all", metric)


def _no_group(group: str, allowed: Sequence[str]) -> InputError:
    """Nothing of this name is measured."""
    near = nearest(group, allowed)
    return refused(repr(group), ", ".join(allowed), file="--metric", nearest=near)


def _refuse_unmeasured(goal: Goal, has: bool, where: str = "") -> None:
    """Refuse a metric that only some scenarios have: ``has`` says whether this one does, ``where``
    of which of its runs that is said. Raises :class:`InputError`."""
    if has:
        return
    if goal.is_of_pauses:
        lacking = "no switch has flow control (switch.pfc)"
    elif goal.group == COLLECTIVES:
        lacking = "there are no collectives"
    elif goal.group == RECOVERY:
        lacking = "recovery from faults is not measured (measure.recovery)"
    else:
        lacking = f"{goal.metric} is not measured"
    raise refused(repr(goal.metric), f"other metrics, since {lacking}{where}", file="--metric")


@dataclass(frozen=True)
class Request:
    """What is searched: everything that decides which setting is found."""

    source: Source
    settings: tuple[tuple[str, str], ...]
    scheme: tuple[tuple[str, str], ...]
    """The load balancer that --lb names, for all settings alike."""
    parameters: tuple[Parameter, ...]
    tried: tuple[Setting, ...]
    goal: Goal
    seeds: int
    held_out: int

    @property
    def rounds(self) -> list[tuple[int, int]]:
        """Of each round how many settings and seeds."""
        count, seeds = len(self.tried), min(self.seeds, max(FEWEST_SEEDS, self.seeds // 4))
        found = []
        while True:
            found.append((count, seeds))
            if seeds >= self.seeds or count == 1:
                return found
            count, seeds = math.ceil(count / 2), min(2 * seeds, self.seeds)


@dataclass(frozen=True)
class Tried:
    """A setting, with how many seeds it was run, the metric, and its difference to the default,
    paired by seed: in percent (``None`` where a value is zero), and in the metric's unit."""

    setting: Setting
    seeds: int
    value: Estimate | None
    difference: Estimate | None
    change: Estimate | None = None
    flows: int = 0
    """Over its seeds and the points of the sweep; or collectives, or faults."""
    unfinished: int = 0
    repeats: bool = False
    """The seed changes nothing: all of them are one run."""

    def has_fewer(self, other: "Tried") -> bool:
        """Whether it has finished fewer flows than another with as many seeds."""
        return self.flows - self.unfinished < other.flows - other.unfinished

    @property
    def gain(self) -> Estimate | None:
        """What tells whether it is better: the difference in percent, or where there is none, in
        the metric's unit."""
        return self.difference or self.change


@dataclass
class Search:
    """A search in a directory; runs that are there are not made again."""

    request: Request
    directory: Path
    how: How
    show: bool = False
    failed: list[str] = field(default_factory=list)
    cases: dict[tuple[str, int], list[Case]] = field(default_factory=dict)
    """By setting and seed those of all points of the sweep."""
    read: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Summaries of runs, by key."""

    def expand(self, most: int | None) -> None:
        """All runs that may be made. Raises :class:`ScenarioError`."""
        request = self.request
        first = engine.first_seed(request.source.text, request.source.name, request.settings)
        tuned = {parameter.key for parameter in request.parameters}
        # A setting beats what a variant has: that of a tuned key is the default's alone.
        own = tuple((str(key), value) for key, value in request.settings if key in tuned)
        named = [(DEFAULT, own), *((name(setting), setting) for setting in request.tried)]
        variants = [
            {"name": label, "set": {**dict(request.scheme), **{k: _typed(v) for k, v in setting}}}
            for label, setting in named
        ]
        pairs = [pair for pair in request.settings if pair[0] not in tuned]
        pairs.append((scenario.Key("variant", "--param"), scenario.to_value(variants)))
        pairs = scenario.comparing(request.source, pairs, seeds=request.seeds + request.held_out)
        with progress.of_checks(show=self.show) as watch:
            try:
                found = scenario.expand(request.source, pairs, most, watch)
            except ScenarioError as error:
                if error.key not in dict(request.scheme):
                    raise
                # What --lb names is in the variants that the parameters make.
                allowed, near = error.allowed or "", error.nearest
                raise refused(error.found or "", allowed, file="--lb", nearest=near) from None
        for case in found:
            self.cases.setdefault((case.variant, case.seed - first), []).append(case)
        group = request.goal.group
        names = ["all", *(entry.name for entry in found[0].classes)]
        if group not in WHOLE and group not in names:
            raise _no_group(group, names)
        without = [case for case in found if not _may_have(case, request.goal)]
        some = 0 < len(without) < len(found)
        where = f" in some runs, such as {without[0].label()}" if some else ""
        _refuse_unmeasured(request.goal, not without, where)

    def run(self, labels: Sequence[str], seeds: range) -> None:
        """Make the runs of these settings and seeds that are not there yet."""
        chosen = {
            case.key: case for seed in seeds for label in labels for case in self.cases[label, seed]
        }
        tasks = folder.missing(self.directory, chosen, check=self.how.check)
        progress.say(places.remark(self.how, tasks), show=self.show)
        try:
            with (
                folder.keeping(self.directory, chosen),
                progress.of_comparison(
                    len(chosen), len(chosen) - len(tasks), show=self.show
                ) as watcher,
            ):
                failures = places.choose(self.how, self.directory, tasks, watcher).run(tasks)
        except ScenarioError as error:
            raise error.within(self.request.source.name) from None
        self.failed += [f"{found.case.label()}: {found.message}" for found in failures]

    def tried(self, setting: Setting | None, seeds: range) -> Tried:
        """What a setting, or the default, gave with these seeds."""
        label = name(setting or ())
        of, left = (
            round(sum(sum(found) for found in self._found(label, seeds, count)))
            for count in self.request.goal.counts
        )
        values, base = self._values(label, seeds), self._values(DEFAULT, seeds)
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return Tried(setting or (), len(seeds), None, None, None, of, left)
        repeats = self._repeats(label, seeds)
        if repeats and self._repeats(DEFAULT, seeds):
            values, base, known = values[:1], base[:1], known[:1]
        return Tried(
            setting or (),
            len(seeds),
            estimate(known[:1] if repeats else known),
            paired_percent(values, base),
            paired_difference(values, base),
            of,
            left,
            repeats,
        )

    def _values(self, label: str, seeds: range) -> list[float | None]:
        """By seed: over several points of a sweep the mean, if all runs have one."""
        wanted = (self.request.goal.group, self.request.goal.metric)
        return [
            math.fsum(found) / len(found) if len(found) == len(self.cases[label, seed]) else None
            for seed, found in zip(seeds, self._found(label, seeds, wanted), strict=True)
        ]

    def _found(self, label: str, seeds: range, wanted: tuple[str, str]) -> list[list[float]]:
        """By seed what each run has of a metric, if it is there and has any."""
        found = []
        for seed in seeds:
            runs = [measured[wanted] for measured in self._measured(label, seed, wanted)]
            found.append([value for value in runs if value is not None])
        return found

    def _measured(self, label: str, seed: int, wanted: tuple[str, str]) -> Iterator[Measured]:
        group = wanted[0]
        for summary in self._summaries(label, seed):
            measured = results.measured(summary)
            groups = dict.fromkeys(name for name, _ in measured)
            if group in WHOLE:
                _refuse_unmeasured(self.request.goal, wanted in measured)
            elif group not in groups:
                raise _no_group(group, [name for name in groups if name not in WHOLE])
            yield measured

    def _summaries(self, label: str, seed: int) -> Iterator[dict[str, Any]]:
        """Of the runs that are there."""
        for case in self.cases[label, seed]:
            run = self.directory / "runs" / case.key
            if case.key not in self.read and (run / files.SUMS).is_file():
                self.read[case.key] = results.summary(run)
            if case.key in self.read:
                yield self.read[case.key]

    def _repeats(self, label: str, seeds: range) -> bool:
        hashes = [tuple(s["trace_hash"] for s in self._summaries(label, seed)) for seed in seeds]
        return len(hashes) > 1 and len(set(hashes)) == 1

    def warnings(self) -> list[str]:
        """What a reader of the numbers has to know of all runs that are there."""
        known = {case.key: case for cases in self.cases.values() for case in cases}
        return remarks.grouped(
            (case.label(), remarks.of_summary(self.read[key]))
            for key, case in known.items()
            if key in self.read
        )


@dataclass(frozen=True)
class Found:
    """What a search has found: all settings as they were last seen in it, those of the first round
    with equally many seeds beside the default (``base``), and the best beside the default with the
    seeds that were kept back."""

    request: Request
    base: Tried
    first: tuple[Tried, ...]
    tried: tuple[Tried, ...]
    default: Tried
    best: Tried
    failed: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def is_better(self) -> bool | None:
        """Whether the best is better than the default; ``None``: the gain is not significant, or
        cannot be told since it has finished fewer flows."""
        found = self.best.gain
        if found is None or found.low is None or found.high is None:
            return None
        low, high = sorted(
            (self.request.goal.sign * found.low, self.request.goal.sign * found.high)
        )
        if high < 0:
            return None if self.best.has_fewer(self.default) else True
        return False if low > 0 else None


def name(setting: Setting) -> str:
    """A setting's name among the variants."""
    return " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in setting) or DEFAULT


def _may_have(case: Case, goal: Goal) -> bool:
    """Whether a run has a metric, as far as its scenario tells."""
    if goal.is_of_pauses:
        return case.facts.pauses
    return goal.group != RECOVERY or case.facts.recovery


def _typed(text: str) -> object:
    """A value as TOML has it: numbers and flags have no quotes."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def search(made: Search, say: Callable[[str], None]) -> Found:
    """Run all rounds and the last comparison. Raises as a comparison does."""
    request = made.request
    alive = list(request.tried)
    first: list[Tried] = []
    last: dict[Setting, Tried] = {}
    rounds = request.rounds
    for number, (count, seeds) in enumerate(rounds, 1):
        alive = alive[:count]
        say(f"round {number} of {len(rounds)}: {count} settings and the default, {seeds} seeds")
        made.run([DEFAULT, *map(name, alive)], range(seeds))
        default = made.tried(None, range(seeds))
        if default.value is None:
            why = made.failed[0] if made.failed else f"{request.goal} is not defined there"
            raise RunError(f"the default cannot be compared with: {why}")
        found = [made.tried(setting, range(seeds)) for setting in alive]
        first = first or found
        last.update({entry.setting: entry for entry in found})
        alive = [entry.setting for entry in _ranked(found, default, request.goal)]
    if last[alive[0]].value is None:
        raise RunError(f"no setting gave a result: {made.failed[0] if made.failed else ''}")
    kept_back = range(request.seeds, request.seeds + request.held_out)
    say(f"{name(alive[0])} and the default, {request.held_out} seeds that were kept back")
    made.run([DEFAULT, name(alive[0])], kept_back)
    return Found(
        request,
        made.tried(None, range(rounds[0][1])),
        tuple(first),
        tuple(last[setting] for setting in request.tried),
        made.tried(None, kept_back),
        made.tried(alive[0], kept_back),
        tuple(made.failed),
        tuple(made.warnings()),
    )


def _ranked(found: Sequence[Tried], default: Tried, goal: Goal) -> list[Tried]:
    """The best first; of equals the one that was given first: a search without an effect chooses
    nothing. By the differences in percent, or where one of them has none, all by their values; but
    those that have finished fewer flows than the default after all others, since what they left
    unfinished is in no mean."""
    in_percent = all(entry.difference for entry in found if entry.value)

    def rank(entry: Tried) -> tuple[bool, bool, float]:
        known = entry.difference if in_percent else entry.value
        mean = 0.0 if known is None else goal.sign * known.mean
        return known is None, entry.has_fewer(default), mean

    return sorted(found, key=rank)


def check(seeds: int, held_out: int, trials: int) -> None:
    """Refuse counts with which nothing can be said. Raises :class:`InputError`."""
    for option, found, least in (
        ("--seeds", seeds, FEWEST_SEEDS), ("--held-out", held_out, 3), ("--trials", trials, 2)
    ):  # fmt: skip
        if found < least:
            raise InputError(f"{option} {found}: at least {least} are needed")
