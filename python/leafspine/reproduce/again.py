"""Kept runs made again: whether leafspine still does what claims are judged by."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from leafspine import places
from leafspine.places import How
from leafspine.reproduce import data as numbers
from leafspine.reproduce import plan, reproducing
from leafspine.reproduce.data import Data
from leafspine.reproduce.plan import Plan, Wanted
from leafspine.reproduce.reproducing import Chosen
from leafspine.tasks import Failure

OTHER_HASHES = frozenset(
    "0.1.0+" + made
    for made in (
        *("0ba39d3", "0ed3007", "164a0c8", "4e6a971", "52e73d6", "712ecb4", "9fb2f8e", "9ff57db"),
        *("a948f13", "b6a2c57", "bfa434d", "d881946", "f58ff53"),
        *("build.61d8f0a1122f87b3", "build.acaef014b9e3a212"),
    )
)
"""Versions of kept runs whose trace hash is one chain over all packet-hops, not yet one a link
(docs/reproducing.md): of these the numbers alone can be compared."""


@dataclass(frozen=True)
class Verified:
    """How many runs were made again, of how many the trace hash could be compared, a line for
    each number that is another one now, and the runs that failed."""

    runs: int
    hashes: int
    differences: tuple[str, ...]
    failures: tuple[Failure, ...]

    def in_words(self) -> str:
        """Some lines for the reader."""
        said = f"{self.runs} kept runs made again, the trace hash compared of {self.hashes}: "
        return "\n".join((*self.differences, said + f"{len(self.differences) or 'no'} differences"))


def verify(
    chosen: Sequence[Chosen], most: float, how: How = places.SIMPLY, *, progress_bar: bool = False
) -> Verified:
    """Make kept runs again and compare: of each figure, set of runs and scheme that of the fewest
    packet-hops, if it has at most so many.

    They are made in a folder of their own: one that is finished elsewhere may be of another build.
    """
    kept = reproducing.kept(chosen)
    plans = [
        _cheapest(plan_, kept[plan_.figure.path], most)
        for plan_ in reproducing.plans(chosen, "paper")
    ]
    differences: list[str] = []
    with tempfile.TemporaryDirectory(prefix="leafspine-") as folder:
        directory = Path(folder)
        reproducing.claim(directory)
        nothing = {plan_.figure.path: Data() for plan_ in plans}
        failures = reproducing.run(plans, nothing, directory, how, progress_bar)
        for plan_ in plans:
            # As rounded as what is kept.
            numbers.write(plan.reduce(plan_.wanted, directory / "runs"), directory / "found")
            found = numbers.read(directory / "found")
            for entry in plan_.wanted:
                if entry.kept_in(found):
                    where = f"{plan_.figure.path}, {entry.runs}, {entry.case.label()}"
                    lines = _differences(entry, found, kept[plan_.figure.path])
                    differences += [f"{where}: {line}" for line in lines]
    runs = {
        entry.case.key: kept[plan_.figure.path].origins[entry.place][entry.case.seed].version
        for plan_ in plans
        for entry in plan_.wanted
    }
    hashes = sum(version not in OTHER_HASHES for version in runs.values())
    return Verified(len(runs), hashes, tuple(differences), tuple(failures))


def _differences(entry: Wanted, found: Data, kept: Data) -> Iterator[str]:
    """What is another number than the one that is kept, each with both."""
    now, then = (_compared(entry, data) for data in (found, kept))
    version = kept.origins[entry.place][entry.case.seed].version
    if version in OTHER_HASHES:
        del now["trace hash"]
    for name, value in now.items():
        if value != then[name]:
            yield f"{name} {value}, kept {then[name]} by {version}"


def _compared(entry: Wanted, data: Data) -> dict[str, object]:
    """A run's numbers, by what they are."""
    values, seed = data.values.get(entry.place, {}), entry.case.seed
    origin = data.origins[entry.place][seed]
    whole = {"packet-hops": origin.packet_hops, "trace hash": origin.trace_hash}
    return whole | {name: values[name][seed] for name in entry.metrics}


def _cheapest(plan_: Plan, kept: Data, most: float) -> Plan:
    """With the runs that are made again alone."""
    found: dict[tuple[str, str], tuple[int, Wanted]] = {}
    for entry in plan_.wanted:
        if entry.kept_at(kept) == entry.place:
            hops = kept.origins[entry.place][entry.case.seed].packet_hops
            group = entry.place[:2]
            if hops <= most and (group not in found or hops < found[group][0]):
                found[group] = (hops, entry)
    return replace(plan_, wanted=tuple(entry for _, entry in found.values()))
