"""What no balancer can beat: the same flows over a fabric whose links hardly ever queue.

A figure's ``[ideal]`` makes, for the points it names, a run more of each variant that it names,
with links between switches :data:`FASTER` times as fast, all alike and all up. Flows then share
nothing but their hosts' links. A claim that needs a larger effect than this fabric has over the
other scheme is out of reach of any balancer, in these runs. A system that is more than a balancer
(its marks, its queues) is named itself, besides a plain one; the better of the two counts.

Where a system has more in its own fabric than the ideal one gives, that is no bound, and is said:
a class of flows can gain at the others' cost, and queues between switches spread what arrives at a
host's link.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafspine import scenario
from leafspine.engine import Case, Point
from leafspine.labels import point_label
from leafspine.reproduce.claims import Check, Claim
from leafspine.reproduce.data import Data
from leafspine.reproduce.tolerances import beyond
from leafspine.scenario import Source
from leafspine.stats import Estimate, estimate

NAME = "ideal fabric"

FASTER = 10
"""At a tenth of the load a link is idle nine tenths of the time: little is left of any queue."""

UNITS = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}


@dataclass(frozen=True)
class Bound:
    """How far the ideal fabric is ahead of another scheme: percent, and where."""

    against: str
    found: Estimate
    point: Point
    out_of_reach: bool
    ours: float | None = None
    """Percent that the claim's scheme has in the figure's own fabric, if that is more."""

    @property
    def words(self) -> str:
        """For a page."""
        where = f" at {point_label(self.point)}" if self.point else ""
        end = ": out of reach" if self.out_of_reach else ""
        if self.ours is not None:
            end = f": no bound, {self.ours:+.1f} % is found"
        return f"{self.found.mean:+.1f} % against {self.against}{where}{end}"


def runs_of(runs: str) -> str:
    """The name in the data of the ideal runs that belong to a set of runs."""
    return f"{runs}~{NAME}"


def case_of(case: Case) -> Case:
    """The ideal case beside a case: the same flows, at the same point."""
    table = tomllib.loads(case.toml)
    fabric = table["topology"]["fabric_link"]
    fabric["rate"] = _times(str(fabric["rate"]), FASTER)
    table["topology"].pop("change", None)
    for workload in table["workload"]:
        # As much traffic as before, not as much for each bit that a link carries.
        if "load" in workload and workload.get("load_basis") == "fabric":
            workload["load"] = workload["load"] / FASTER
    del table["version"]
    source = Source(scenario.to_toml(table), "the ideal fabric", case.base_dir)
    return replace(scenario.single(source), variant=case.variant, point=case.point)


def _times(rate: str, factor: int) -> str:
    """A rate such as ``"2.5Gbps"``, so many times."""
    number = rate.rstrip("KMGTbps")
    return f"{round(float(number) * UNITS[rate[len(number) :]] * factor)}bps"


def is_bounded(metric: str) -> bool:
    """Whether a metric is one that queues in the fabric bound: completion times, goodputs."""
    group, _, name = metric.partition(".")
    return group not in ("own", "network") and name.startswith(("fct", "goodput"))


def bounds(claim: Claim, data: Data) -> list[Bound]:
    """The bound of each comparison that a claim makes with another scheme."""
    return [bound for test in claim.tests for bound in _bounds(test, data)]


def in_words(claim: Claim, data: Data) -> str:
    """All of them, for a page; nothing where there are no ideal runs."""
    return "; ".join(dict.fromkeys(bound.words for bound in bounds(claim, data)))


def _bounds(test: Check, data: Data) -> Iterator[Bound]:
    if not is_bounded(test.metric) or test.runs_against:
        return
    for other in _others(test):
        found = [
            (effect, point)
            for point in data.points(test.runs, test.at)
            for variant in data.variants(runs_of(test.runs))
            if (effect := _effect(data, test, runs_of(test.runs), (variant, other), point))
            is not None
        ]
        if found:
            best = max if "goodput" in test.metric else min
            effect, point = best(found, key=lambda entry: entry[0].mean)
            ours = _effect(data, test, test.runs, (test.scheme, other), point)
            beaten = ours is not None and best(ours.mean, effect.mean) != effect.mean
            out_of_reach = not beaten and _out_of_reach(test, effect.mean)
            yield Bound(other, effect, point, out_of_reach, ours.mean if ours and beaten else None)


def _others(test: Check) -> Sequence[str]:
    """The schemes that a test has its own ahead of."""
    better = test.more_than if "goodput" in test.metric else test.less_than
    compared = (test.against,) if test.against and test.claimed is not None else ()
    return (*compared, *test.others, *better)


def _effect(
    data: Data, test: Check, runs: str, both: tuple[str, str], point: Point
) -> Estimate | None:
    """Of a variant in these runs against another one in those of the figure."""
    variant, other = both
    mine = data.samples((runs, variant, point), test.metric)
    theirs = data.samples((test.runs, other, point), test.metric)
    samples = [sample for sample in mine if theirs.get(sample)]
    return estimate([100.0 * (mine[s] - theirs[s]) / theirs[s] for s in samples])


def _out_of_reach(test: Check, most: float) -> bool:
    """Whether what is claimed is more than the ideal fabric's effect, its tolerance apart."""
    claimed: Any = test.claimed
    if isinstance(claimed, tuple):
        claimed = min(claimed, key=abs)
    if claimed is None:  # an order: at all
        return most <= 0 if "goodput" in test.metric else most >= 0
    if claimed * (1 if "goodput" in test.metric else -1) <= 0:  # no gain is claimed
        return False
    return (
        abs(most) < abs(claimed) or most * claimed < 0
        if test.or_more
        else (most * claimed <= 0 or beyond(most, float(claimed)) < -1)
    )
