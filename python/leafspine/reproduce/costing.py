"""What a reproduction would cost on so many cores, before any of it runs.

A run's cost is its packet-hops, which are kept with its numbers in ``papers/``. Those of a run that
is not kept, as most of the quick scale, are what its flows need without retransmissions, as
``leafspine check`` says them: where a time ends the run, those that hosts' links can have carried
by then. How many a core does in a
second is measured here, on the bench's small case, and stated with the answer: other cores, other
schemes and other fabrics differ. Runs are dealt to cores the longest first (Graham, 1969), which is
never worse than 4/3 of the best; no number of cores makes it shorter than the longest run.
"""

import heapq
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leafspine import engine
from leafspine.errors import InputError
from leafspine.reproduce.data import Data
from leafspine.reproduce.plan import Plan

TIMES = 9
"""The best of so many: what else the machine does makes it slower, nothing makes it faster."""


@dataclass(frozen=True)
class Cost:
    """``seconds``: what each run takes on a core, the longest first; ``drawn``: how many of them
    are not kept, and go by their flows; ``longest``: the first one's name; ``speed``: packet-hops
    a second; ``ended``: how many of those not kept a time ends."""

    seconds: tuple[float, ...]
    drawn: int
    longest: str
    speed: float
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
            f"{len(self.seconds)} runs, {whole / 3600:.3g} core-hours at {self.speed / 1e6:.1f} "
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


def cost(plans: Sequence[Plan], kept: Mapping[str, Data], speed: float | None = None) -> Cost:
    """The cost of all runs of some figures, each once."""
    known = {
        origin.key: origin.packet_hops
        for data in kept.values()
        for seeds in data.origins.values()
        for origin in seeds.values()
    }
    hops: dict[str, tuple[int, str]] = {}
    ended = 0
    for plan in plans:
        for entry in plan.wanted:
            key = entry.case.key
            if key not in hops:
                count = known[key] if key in known else engine.work(entry.case)["packet_hops"]
                ended += key not in known and entry.case.facts.until is not None
                hops[key] = (count, f"{plan.figure.path}, {entry.case.label()}")
    rate = speed or max(_measured() for _ in range(TIMES))
    ordered = sorted(hops.values(), key=lambda entry: -entry[0])
    seconds = tuple(count / rate for count, _ in ordered)
    drawn = sum(key not in known for key in hops)
    return Cost(seconds, drawn, ordered[0][1] if ordered else "", rate, ended)


def _measured() -> float:
    return float(json.loads(engine.bench(engine.SMOKE))["packet_hops_per_second"])


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
