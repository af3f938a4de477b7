"""Figures on real hosts: claims judged with Linux kernels and with the model's hosts, at one size.

A figure's ``[[on_linux]]`` says of which runs, at what size, and of which claims. There are three
sides: the model's hosts with the paper's TCP, the model's hosts with the settings of Linux
(:mod:`leafspine.reproduce.like_kernels`), and kernels. What changes between the first two is due to
Linux's settings; what changes between the last two only real hosts show.

``validation/papers_on_linux.py`` makes the runs and keeps their numbers in the figure's folder
``linux``; everything else needs those alone, and no kernel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from leafspine.engine import Case
from leafspine.reproduce import data as numbers
from leafspine.reproduce import like_kernels, plan
from leafspine.reproduce.claims import Claim
from leafspine.reproduce.data import Data, Origin
from leafspine.reproduce.figures import Figure, OnLinux
from leafspine.reproduce.judging import judge
from leafspine.reproduce.plan import Wanted
from leafspine.reproduce.run_sets import Layer, RunSet
from leafspine.reproduce.verdicts import Judged, Verdict

FOLDER = "linux"
"""Of a figure's folder: where the numbers are kept."""

MODEL = "~the model's hosts"
PROFILE = "~the model's hosts, profile linux"
KERNELS = "~Linux kernels"
OF_MODEL = (MODEL, PROFILE)
SIDES = (*OF_MODEL, KERNELS)
"""What is added to the name of a set of runs."""


@dataclass(frozen=True)
class Beside:
    """A claim as each side judges it."""

    model: Judged
    profile: Judged
    kernels: Judged

    @property
    def all(self) -> tuple[Judged, ...]:
        """In the order of :data:`SIDES`."""
        return self.model, self.profile, self.kernels

    @property
    def changes(self) -> bool:
        """Whether the verdict is another when the hosts are real."""
        return self.model.verdict != self.kernels.verdict

    @property
    def by_settings(self) -> bool:
        """Whether it is the verdict of kernels as soon as the model has the settings of Linux."""
        return self.changes and self.profile.verdict == self.kernels.verdict

    @property
    def changes_in_model(self) -> bool:
        """Whether the settings of Linux give another verdict in the model."""
        return self.model.verdict != self.profile.verdict

    @property
    def is_known(self) -> bool:
        """Whether all sides have numbers for it."""
        return all(judged.verdict != Verdict.MISSING for judged in self.all)


@dataclass(frozen=True)
class Sides:
    """An ``[[on_linux]]`` of a figure with the verdicts of its claims."""

    asked: OnLinux
    claims: tuple[Beside, ...]
    seeds: int
    kernel: str
    """The kernels' version and hash; empty where there are no numbers."""
    switches: str
    """Versions of leafspine that ran the fabric between the kernels."""
    model: str
    """Versions of leafspine whose hosts the model's are."""

    @property
    def known(self) -> list[Beside]:
        """The claims for which all sides have numbers."""
        return [entry for entry in self.claims if entry.is_known]

    @property
    def summary(self) -> str:
        """How many verdicts change, which, and which of them in the model as well."""
        if not self.known:
            return "There are no numbers yet."
        changed = [entry for entry in self.known if entry.changes]
        if not changed:
            sentence = f"With kernels no verdict changes (of {len(self.known)})."
        else:
            alike = f"{sum(entry.by_settings for entry in changed)} of them alike"
            sentence = (
                f"With kernels {_changes(len(changed))} of {len(self.known)} "
                f"({alike} under the model's profile linux): {_in_words(changed)}."
            )
        if more := [entry for entry in self.known if entry.changes_in_model and not entry.changes]:
            sentence += f" Under the profile alone {_changes(len(more))}: {_in_words(more)}."
        return sentence

    @property
    def provenance(self) -> str:
        """Who made the numbers, in a sentence; nothing where there are none."""
        if not self.kernel:
            return ""
        return (
            f"Kernel {self.kernel}, between leafspine's switches of {self.switches}; the model's "
            f"hosts are those of {self.model}."
        )


def _changes(count: int) -> str:
    return "1 verdict changes" if count == 1 else f"{count} verdicts change"


def _in_words(entries: Sequence[Beside]) -> str:
    """Claims, each with its verdicts in the order of :data:`SIDES`."""
    found = []
    for entry in entries:
        model, profile, kernels = (judged.verdict.words for judged in entry.all)
        name = entry.model.claim.id
        found.append(f"{name} ({model}; profile linux: {profile}; kernels: {kernels})")
    return ", ".join(found)


def name_of(number: int, asked: OnLinux, who: str) -> str:
    """What a set of runs is called in the data: a figure may ask more than once for the same."""
    return f"{asked.runs}{suffix(number, who)}"


def suffix(number: int, who: str) -> str:
    """What is added to the name of the runs that a test is about."""
    return who if number == 0 else f"{who}, {number + 1}"


def wanted(figure: Figure, claims: Sequence[Claim], who: str, kernel: str = "") -> Iterator[Wanted]:
    """The runs that a figure asks for of a side, with the metrics that its claims need.

    ``kernel``: which one that of kernels is of, by version and hash; else the one that is there.
    Raises :class:`InputError`, also where there is none for the runs that need it.
    """
    by_id = {claim.id: claim for claim in claims}
    named = {entry.name: entry for entry in figure.runs}
    for number, asked in enumerate(figure.on_linux):
        tests = [test for name in asked.claims for test in by_id[name].about(asked.runs).tests]
        metrics = tuple(dict.fromkeys(test.metric for test in tests))
        runs = named[asked.runs].on_top(name_of(number, asked, who), (asked.layer,))
        for case in _cases(runs, who, kernel, figure.file):
            yield Wanted(runs.name, case, metrics, ())


def _cases(runs: RunSet, who: str, kernel: str, file: Path) -> list[Case]:
    """The cases of a side, which a figure's file asks for."""
    if who == PROFILE:
        # The kernels' settings are asked for, and no kernel is run.
        beside = _cases(runs, KERNELS, like_kernels.UNNAMED, file)
        return [like_kernels.case_of(case, file) for case in beside]
    hosts = {"hosts.kind": "linux" if who == KERNELS else "model"}
    if kernel and who == KERNELS:
        hosts["hosts.kernel"] = kernel
    return plan.cases(runs.on_top(runs.name, (Layer(settings=hosts),)), "paper")


def all_wanted(figure: Figure, claims: Sequence[Claim], kernel: str = "") -> list[Wanted]:
    """The runs of all sides, those with the model's hosts first: they say sooner what is wrong."""
    return [entry for who in SIDES for entry in wanted(figure, claims, who, kernel)]


def kept(figure: Figure) -> Data:
    """The numbers that are kept of a figure; none if there are none."""
    folder = figure.folder / FOLDER
    return numbers.read(folder) if (folder / numbers.FILE).is_file() else Data()


def is_of_kernels(runs: str) -> bool:
    """Whether a set of runs, by its name in the data, is the kernels' side."""
    _, mark, who = runs.rpartition(KERNELS[0])
    return f"{mark}{who}".partition(",")[0] == KERNELS


def of_kernels(found: Data) -> Data:
    """The kernels' side alone."""
    values = {place: each for place, each in found.values.items() if is_of_kernels(place[0])}
    origins = {place: each for place, each in found.origins.items() if is_of_kernels(place[0])}
    return Data(values, origins=origins)


def kernel_of(found: Data) -> str:
    """The kernel that numbers are of, by version and hash: all of a figure are of one."""
    return _joined(origin.kernel for seeds in found.origins.values() for origin in seeds.values())


def stale(figure: Figure, claims: Sequence[Claim]) -> list[str]:
    """What is missing of the kept numbers, or of another scenario than the one that there is, and
    what nothing asks for any more. Needs no kernel; runs nothing: a run's key has its scenario."""
    found = kept(figure)
    needed = all_wanted(figure, claims, kernel_of(found) or like_kernels.UNNAMED)
    missing = [_label(entry) for entry in needed if not entry.kept_in(found)]
    asked = {(entry.place, entry.case.seed) for entry in needed}
    extra = [
        f"{place[0]}, {place[1]} {dict(place[2])} seed={seed}: nothing asks for it"
        for place, seeds in found.origins.items()
        for seed in seeds
        if (place, seed) not in asked
    ]
    return missing + extra


def _label(entry: Wanted) -> str:
    return f"{entry.runs}, {entry.case.label()}"


def sides(figure: Figure, claims: Sequence[Claim], found: Data) -> tuple[Sides, ...]:
    """The verdicts of all that a figure asks for."""
    by_id = {claim.id: claim for claim in claims}

    def judged(number: int, asked: OnLinux, name: str, who: str) -> Judged:
        return judge(by_id[name].about(asked.runs), found, suffix(number, who))

    def sides_of(number: int, asked: OnLinux) -> Sides:
        kernels = _origins(found, name_of(number, asked, KERNELS))
        model = [
            origin for who in OF_MODEL for origin in _origins(found, name_of(number, asked, who))
        ]
        return Sides(
            asked,
            tuple(
                Beside(*(judged(number, asked, name, who) for who in SIDES))
                for name in asked.claims
            ),
            seeds=_seeds(found, name_of(number, asked, KERNELS)),
            kernel=_joined(origin.kernel for origin in kernels),
            switches=_joined(origin.version for origin in kernels),
            model=_joined(origin.version for origin in model),
        )

    return tuple(sides_of(number, asked) for number, asked in enumerate(figure.on_linux))


def _seeds(found: Data, runs: str) -> int:
    return max(
        (len(seeds) for place, seeds in found.origins.items() if place[0] == runs), default=0
    )


def _origins(found: Data, runs: str) -> list[Origin]:
    return [
        origin
        for place, seeds in found.origins.items()
        if place[0] == runs
        for origin in seeds.values()
    ]


def _joined(names: Iterator[str]) -> str:
    return ", ".join(name for name in dict.fromkeys(names) if name)


def keep(figure: Figure, found: Data, needed: Sequence[Wanted]) -> list[str]:
    """Keep a figure's numbers if it has them all; those that were kept stay otherwise. Gives the
    runs that have none."""
    missing = [_label(entry) for entry in needed if not entry.kept_in(found)]
    if not missing:
        numbers.write(found, figure.folder / FOLDER)
    return missing
