"""Kept runs made again: whether leafspine still does what claims are judged by."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from leafspine import places
from leafspine.errors import Interrupted
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
    """What came of it: how many kinds of runs were made again, of how many the trace hash could be
    compared, how many were left out and why, a line for each number that is another one now or is
    no longer that of the scenario, and the runs that failed."""

    runs: int
    hashes: int
    dearer: int
    missing: int
    differences: tuple[str, ...]
    failures: tuple[Failure, ...]

    def in_words(self) -> str:
        """Some lines for the reader."""
        left = [
            f"{self.dearer} kinds of runs have more packet-hops" if self.dearer else "",
            f"of {self.missing} kinds no run is kept" if self.missing else "",
        ]
        said = f"{self.runs} kept runs made again, the trace hash compared of {self.hashes}: "
        said += f"{len(self.differences) or 'no'} differences"
        return "\n".join((*self.differences, "; ".join(filter(None, (said, *left)))))


def verify(
    chosen: Sequence[Chosen], most: float, how: How = places.SIMPLY, *, progress_bar: bool = False
) -> Verified:
    """Make kept runs again and compare: of each figure, set of runs and scheme that of the fewest
    packet-hops, if it has at most so many.

    They are made in a folder of their own: one that is finished elsewhere may be of another build.
    """
    kept = reproducing.kept(chosen)
    plans = reproducing.plans(chosen, "paper")
    found_kinds = [kinds(plan_, kept[plan_.figure.path]) for plan_ in plans]
    differences = [line for found in found_kinds for line in found.stale]
    plans = [
        replace(plan_, wanted=found.again(most))
        for plan_, found in zip(plans, found_kinds, strict=True)
    ]
    versions: list[str] = []
    with tempfile.TemporaryDirectory(prefix="leafspine-") as folder:
        directory = Path(folder)
        reproducing.claim(directory)
        nothing = {plan_.figure.path: Data() for plan_ in plans}
        try:
            failures = reproducing.run(plans, nothing, directory, how, progress_bar)
        except Interrupted as error:
            raise Interrupted("interrupted; of runs made again nothing is kept") from error
        for plan_ in plans:
            # As rounded as what is kept.
            numbers.write(plan.reduce(plan_.wanted, directory / "runs"), directory / "found")
            found = numbers.read(directory / "found")
            for entry in plan_.wanted:
                if entry.kept_in(found):
                    then = kept[plan_.figure.path]
                    versions.append(then.origins[entry.place][entry.case.seed].version)
                    lines = _differences(entry, found, then)
                    differences += [f"{_where(plan_, entry)}: {line}" for line in lines]
    return Verified(
        runs=len(versions),
        hashes=sum(version not in OTHER_HASHES for version in versions),
        dearer=sum(len(found.cheapest) for found in found_kinds)
        - sum(len(plan_.wanted) for plan_ in plans),
        missing=sum(found.missing for found in found_kinds),
        differences=tuple(differences),
        failures=tuple(failures),
    )


def _where(plan_: Plan, entry: Wanted) -> str:
    return f"{plan_.figure.path}, {entry.runs}, {entry.case.label()}"


def _differences(entry: Wanted, found: Data, kept: Data) -> Iterator[str]:
    """What is another number than the one that is kept, each with both."""
    now, then = (_compared(entry, data) for data in (found, kept))
    version = kept.origins[entry.place][entry.case.seed].version
    if version in OTHER_HASHES:
        del now["trace hash"]
    for name, value in now.items():
        if value != then[name]:
            yield f"{name} {_shown(value)}, kept {_shown(then[name])} by {version}"


def _shown(value: object) -> str:
    return "other values" if isinstance(value, tuple) else str(value)


def _compared(entry: Wanted, data: Data) -> dict[str, object]:
    """A run's numbers, by what they are: its metrics, those of its batches, its curves."""
    place, seed = entry.place, entry.case.seed
    values = data.values.get(place, {})
    origin = data.origins[place][seed]
    found: dict[str, object] = {
        "packet-hops": origin.packet_hops,
        "trace hash": origin.trace_hash,
    }
    found |= {name: values[name][seed] for name in entry.metrics}
    for name in entry.batched:
        found[f"{name} of batches"] = tuple(data.batches_of(place, name, seed))
    for name in entry.series:
        x, y = data.series[place][name][seed]
        found[f"series {name}"] = (tuple(x), tuple(y))
    return found


@dataclass(frozen=True)
class Kinds:
    """Of a figure's kinds of runs (a set of runs and a scheme): the cheapest kept run of each, what
    is kept of another scenario than the present one or lacks a number, and how many have none."""

    cheapest: tuple[tuple[int, Wanted], ...]
    stale: tuple[str, ...]
    missing: int

    def again(self, most: float) -> tuple[Wanted, ...]:
        """Those of at most so many packet-hops."""
        return tuple(entry for hops, entry in self.cheapest if hops <= most)


def kinds(plan_: Plan, kept: Data) -> Kinds:
    """The kinds of runs of a figure, by what is kept of them."""
    found: dict[tuple[str, str], tuple[int, Wanted]] = {}
    asked = {entry.place[:2] for entry in plan_.wanted}
    stale: list[str] = []
    for entry in plan_.wanted:
        origin = kept.origins.get(entry.place, {}).get(entry.case.seed)
        if origin is None:
            continue
        if not entry.kept_in(kept):
            why = "lacks a number" if origin.key == entry.case.key else "is of another scenario"
            stale.append(f"{_where(plan_, entry)}: what is kept {why}")
            continue
        if not entry.is_at(entry.place, kept):
            # Another set of runs of the figure keeps the same run.
            continue
        kind = entry.place[:2]
        if kind not in found or origin.packet_hops < found[kind][0]:
            found[kind] = (origin.packet_hops, entry)
    known = {entry.place[:2] for entry in plan_.wanted if entry.place in kept.origins}
    return Kinds(tuple(found.values()), tuple(stale), len(asked - known))
