"""The search: rounds of runs, after each of which the worse half of the settings is left."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from leafspine import engine, files, folder, places, progress, results, scenario
from leafspine.engine import Case, Point
from leafspine.errors import InputError, RunError, ScenarioError, refused
from leafspine.measures import (
    COLLECTIVE_METRICS,
    COLLECTIVES,
    METRICS,
    NETWORK,
    NETWORK_METRICS,
    RECOVERY,
    RECOVERY_METRICS,
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
    NETWORK: NETWORK_METRICS,
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
            found = scenario.expand(request.source, pairs, most, watch)
        for case in found:
            self.cases.setdefault((case.variant, case.seed - first), []).append(case)

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
            name = self.request.source.name
            raise ScenarioError(f"{name}: {error}", **error.parts()) from None
        self.failed += [f"{found.case.label()}: {found.message}" for found in failures]

    def tried(self, setting: Setting | None, seeds: range) -> Tried:
        """What a setting, or the default, gave with these seeds."""
        values = self._values(name(setting or ()), seeds)
        base = self._values(DEFAULT, seeds)
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return Tried(setting or (), len(seeds), None, None)
        return Tried(
            setting or (),
            len(seeds),
            estimate(known),
            paired_percent(values, base),
            paired_difference(values, base),
        )

    def _values(self, label: str, seeds: range) -> list[float | None]:
        """By seed: over several points of a sweep the mean."""
        return [self._value(self.cases[label, seed]) for seed in seeds]

    def _value(self, cases: Sequence[Case]) -> float | None:
        found: dict[Point, float | None] = {}
        for case in cases:
            run = self.directory / "runs" / case.key
            if not (run / files.SUMS).is_file():
                return None
            measured = results.measured(results.summary(run))
            wanted = (self.request.goal.group, self.request.goal.metric)
            if wanted not in measured:
                groups = dict.fromkeys(group for group, _ in measured if group not in WHOLE)
                raise refused(
                    repr(wanted[0]), ", ".join(groups), file="--metric",
                    nearest=nearest(wanted[0], groups),
                )  # fmt: skip
            found[case.point] = measured[wanted]
        values = [value for value in found.values() if value is not None]
        return math.fsum(values) / len(values) if len(values) == len(found) else None


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

    @property
    def is_better(self) -> bool | None:
        """Whether the best is better than the default; ``None``: it cannot be told from chance."""
        found = self.best.gain
        if found is None or found.low is None or found.high is None:
            return None
        low, high = sorted(
            (self.request.goal.sign * found.low, self.request.goal.sign * found.high)
        )
        return True if high < 0 else False if low > 0 else None


def name(setting: Setting) -> str:
    """A setting's name among the variants."""
    return " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in setting) or DEFAULT


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
        if made.tried(None, range(seeds)).value is None:
            why = made.failed[0] if made.failed else f"{request.goal} is not defined there"
            raise RunError(f"the default cannot be compared with: {why}")
        found = [made.tried(setting, range(seeds)) for setting in alive]
        first = first or found
        last.update({entry.setting: entry for entry in found})
        alive = [entry.setting for entry in _ranked(found, request.goal)]
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
    )


def _ranked(found: Sequence[Tried], goal: Goal) -> list[Tried]:
    """The best first; of equals the one that was given first: a search without an effect chooses
    nothing. By the differences in percent, or where one of them has none, all by their values."""
    in_percent = all(entry.difference for entry in found if entry.value)

    def rank(entry: Tried) -> float:
        known = entry.difference if in_percent else entry.value
        return math.inf if known is None else goal.sign * known.mean

    return sorted(found, key=rank)


def check(seeds: int, held_out: int, trials: int) -> None:
    """Refuse counts with which nothing can be said. Raises :class:`InputError`."""
    for option, found, least in (
        ("--seeds", seeds, FEWEST_SEEDS), ("--held-out", held_out, 3), ("--trials", trials, 2)
    ):  # fmt: skip
        if found < least:
            raise InputError(f"{option} {found}: at least {least} are needed")
