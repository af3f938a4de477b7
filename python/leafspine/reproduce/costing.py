"""What a reproduction would cost on so many cores, before any of it runs.

A run's cost is its packet-hops, which are kept with its numbers in ``papers/``. Those of a run that
is not kept, as most of the quick scale, are what its flows need without retransmissions, as
``leafspine check`` says them: where a time ends the run, those that hosts' links can have carried
by then. How many a core does in a second depends on the fabric and the scheme, by a factor of
three: it is measured here, on the first part of one run of each paper's schemes, one core at work,
and stated with the answer. Runs are dealt to cores the longest first (Graham, 1969), which is
never worse than 4/3 of the best; no number of cores makes it shorter than the longest run.
"""

import heapq
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from leafspine import engine
from leafspine.engine import Case
from leafspine.errors import InputError
from leafspine.reproduce.data import Data
from leafspine.reproduce.plan import Plan

SAMPLE = 1.0
"""Seconds of a run in which its speed is measured, from its first packets on."""


@dataclass(frozen=True)
class Cost:
    """``seconds``: what each run takes on a core, the longest first; ``drawn``: how many of them
    are not kept, and go by their flows; ``longest``: the first one's name; ``speeds``: packet-hops
    a second of each scheme, the slowest first; ``ended``: how many of those not kept a time
    ends."""

    seconds: tuple[float, ...]
    drawn: int
    longest: str
    speeds: tuple[float, ...]
    ended: int = 0

    def on(self, cores: int) -> float:
        """Seconds until the last run has ended on so many cores."""
        if cores < 1:
            raise InputError(f"--cost {cores}: at least 1 core is needed")
        ends = [0.0] * min(cores, max(len(self.seconds), 1))
        for seconds in self.seconds:
            heapq.heapreplace(ends, ends[0] + seconds)
        return max(ends)

    def in_words(self, cores: int) -> str:
        """Some lines for the reader."""
        if not self.seconds:
            raise InputError("--cost: there are no runs")
        whole, wall = sum(self.seconds), self.on(cores)
        busy = 100 * whole / (cores * wall) if wall else 0.0
        lines = [
            f"{len(self.seconds)} runs, {whole / 3600:.3g} core-hours at {self._speed()} "
            "million packet-hops a second",
            f"longest run: {_time(self.seconds[0])}, {self.longest}",
            f"on {cores} cores: {_time(wall)}, of which they work {busy:.0f} %",
        ]
        if self.drawn:
            lines.append(
                f"{self.drawn} of the runs are not kept: they go by their flows, without "
                "retransmissions"
            )
        if self.ended:
            lines.append(
                f"run.until ends {self.ended} of these: what hosts' links cannot carry by then "
                "is left out"
            )
        return "\n".join(lines)

    def _speed(self) -> str:
        """In millions."""
        ends = dict.fromkeys(f"{speed / 1e6:.1f}" for speed in (self.speeds[0], self.speeds[-1]))
        return " to ".join(ends)


def cost(
    plans: Sequence[Plan],
    kept: Mapping[str, Data],
    measure: Callable[[Case], float] | None = None,
) -> Cost:
    """The cost of all runs of some figures, each once.

    ``measure`` gives the packet-hops a second of a case: of each scheme of a paper the one with the
    most packet-hops.
    """
    known = {
        origin.key: origin.packet_hops
        for data in kept.values()
        for seeds in data.origins.values()
        for origin in seeds.values()
    }
    hops: dict[str, int] = {}
    named: dict[str, tuple[Scheme, str]] = {}
    largest: dict[Scheme, tuple[int, Case]] = {}
    ended = 0
    for plan in plans:
        for entry in plan.wanted:
            case, key = entry.case, entry.case.key
            if key in hops:
                continue
            hops[key] = known[key] if key in known else engine.work(case)["packet_hops"]
            ended += key not in known and case.facts.until is not None
            scheme = plan.figure.path.partition("/")[0], case.variant
            named[key] = scheme, f"{plan.figure.path}, {case.label()}"
            if scheme not in largest or largest[scheme][0] < hops[key]:
                largest[scheme] = hops[key], case
    speeds = {scheme: (measure or _speed)(case) for scheme, (_, case) in largest.items()}
    seconds = {key: count / speeds[named[key][0]] for key, count in hops.items()}
    ordered = sorted(seconds, key=lambda key: -seconds[key])
    return Cost(
        seconds=tuple(seconds[key] for key in ordered),
        drawn=sum(key not in known for key in hops),
        longest=named[ordered[0]][1] if ordered else "",
        speeds=tuple(sorted(speeds.values())),
        ended=ended,
    )


Scheme = tuple[str, str]
"""A paper, and the name of a variant in it."""


class _Enough(Exception):
    """So much of a run is a sample of it."""


def _speed(case: Case) -> float:
    """Packet-hops a second of a case's first part, or of all of it."""
    looks: list[tuple[float, int]] = []

    def look(_finished: int, _flows: int | None, _now: int, packet_hops: int, _built: str) -> None:
        if packet_hops:
            looks.append((time.monotonic(), packet_hops))
        if looks and looks[-1][0] - looks[0][0] >= SAMPLE:
            raise _Enough

    begun = time.monotonic()
    try:
        output = engine.simulate(case.toml, case.base_dir, look)
    except _Enough:
        (begun, first), (end, last) = looks[0], looks[-1]
        return (last - first) / (end - begun)
    return float(json.loads(output.summary())["packet_hops"]) / (time.monotonic() - begun)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
