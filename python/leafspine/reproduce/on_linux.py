"""Figures on real hosts: claims judged with Linux kernels and with the model's hosts, at one size.

A figure's ``[[on_linux]]`` says of which runs, at what size, and of which claims. Runs with kernels
are made by ``validation/papers_on_linux.py``, which keeps their numbers in the figure's folder
``linux``; everything else needs those alone, and no kernel.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leafspine.reproduce import data as numbers
from leafspine.reproduce import plan
from leafspine.reproduce.claims import Claim
from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import Figure, OnLinux
from leafspine.reproduce.judging import judge
from leafspine.reproduce.plan import Wanted
from leafspine.reproduce.run_sets import Layer
from leafspine.reproduce.verdicts import Judged, Verdict

FOLDER = "linux"
"""Of a figure's folder: where the numbers are kept."""

MODEL = "~the model's hosts"
KERNELS = "~Linux kernels"
WHO: Mapping[str, Mapping[str, object]] = {
    MODEL: {"hosts.kind": "model"},
    KERNELS: {"hosts.kind": "linux"},
}
"""What is added to the name of a set of runs, and what is set in it besides the size."""


@dataclass(frozen=True)
class Beside:
    """A claim as it is judged with the model's hosts and with kernels."""

    model: Judged
    kernels: Judged

    @property
    def changes(self) -> bool:
        """Whether the verdict is another when the hosts are real."""
        return self.model.verdict != self.kernels.verdict

    @property
    def is_known(self) -> bool:
        """Whether both have numbers for it."""
        return Verdict.MISSING not in (self.model.verdict, self.kernels.verdict)


@dataclass(frozen=True)
class Sides:
    """An ``[[on_linux]]`` of a figure with the verdicts of its claims."""

    asked: OnLinux
    claims: tuple[Beside, ...]
    seeds: int
    kernel: str
    """Whose runs they are, as far as the numbers say."""

    @property
    def summary(self) -> str:
        """How many verdicts change, and which, in a sentence."""
        known = [entry for entry in self.claims if entry.is_known]
        changed = [entry for entry in known if entry.changes]
        if not known:
            return "There are no numbers yet."
        count = f"{len(known)} claim{'s' if len(known) != 1 else ''}"
        if not changed:
            return f"No verdict changes ({count})."
        words = ", ".join(
            f"{entry.model.claim.id} ({entry.model.verdict.words}: with kernels "
            f"{entry.kernels.verdict.words})"
            for entry in changed
        )
        verb = "verdict changes" if len(changed) == 1 else "verdicts change"
        return f"{len(changed)} {verb} of {count}: {words}."


def name_of(number: int, asked: OnLinux, who: str) -> str:
    """What a set of runs is called in the data: a figure may ask more than once for the same."""
    return f"{asked.runs}{suffix(number, who)}"


def suffix(number: int, who: str) -> str:
    """What is added to the name of the runs that a test is about."""
    return who if number == 0 else f"{who}, {number + 1}"


def wanted(figure: Figure, claims: Sequence[Claim], who: str) -> Iterator[Wanted]:
    """The runs that a figure asks for, with the metrics that its claims need. Raises
    :class:`InputError`, also where there is no kernel for those that need one."""
    by_id = {claim.id: claim for claim in claims}
    named = {entry.name: entry for entry in figure.runs}
    for number, asked in enumerate(figure.on_linux):
        tests = [test for name in asked.claims for test in by_id[name].about(asked.runs).tests]
        metrics = tuple(dict.fromkeys(test.metric for test in tests))
        more = Layer(settings=dict(WHO[who]))
        runs = named[asked.runs].on_top(name_of(number, asked, who), (asked.layer, more))
        for case in plan.cases(runs, "paper"):
            yield Wanted(runs.name, case, metrics, ())


def kept(figure: Figure) -> Data:
    """The numbers that are kept of a figure; none if there are none."""
    folder = figure.folder / FOLDER
    return numbers.read(folder) if (folder / numbers.FILE).is_file() else Data()


def sides(figure: Figure, claims: Sequence[Claim], found: Data) -> tuple[Sides, ...]:
    """The verdicts of all that a figure asks for."""
    by_id = {claim.id: claim for claim in claims}

    def judged(number: int, asked: OnLinux, name: str, who: str) -> Judged:
        return judge(by_id[name].about(asked.runs), found, suffix(number, who))

    return tuple(
        Sides(
            asked,
            tuple(
                Beside(judged(number, asked, name, MODEL), judged(number, asked, name, KERNELS))
                for name in asked.claims
            ),
            seeds=_seeds(found, name_of(number, asked, KERNELS)),
            kernel=_versions(found, name_of(number, asked, KERNELS)),
        )
        for number, asked in enumerate(figure.on_linux)
    )


def _seeds(found: Data, runs: str) -> int:
    return max(
        (len(seeds) for place, seeds in found.origins.items() if place[0] == runs), default=0
    )


def _versions(found: Data, runs: str) -> str:
    origins = (seeds for place, seeds in found.origins.items() if place[0] == runs)
    versions = dict.fromkeys(origin.version for seeds in origins for origin in seeds.values())
    return ", ".join(versions)


def keep(figure: Figure, found: Data, needed: Sequence[Wanted]) -> list[str]:
    """Keep a figure's numbers if it has them all; those that were kept stay otherwise. Gives the
    runs that have none."""
    missing = [
        f"{entry.runs}, {entry.case.label()}" for entry in needed if not entry.kept_in(found)
    ]
    if not missing:
        numbers.write(found, figure.folder / FOLDER)
    return missing
