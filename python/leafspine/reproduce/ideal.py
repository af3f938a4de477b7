"""What no balancer can beat: the same flows over a fabric whose links hardly ever queue.

A figure's ``[ideal]`` makes, for the points it names, a run more of each variant that it names,
with links between switches :data:`FASTER` times as fast, all alike and all up. Flows then share
nothing but their hosts' links. A claim that needs a larger effect than this fabric has over the
other scheme is out of reach of any balancer, in these runs. A system that is more than a balancer
(its marks, its queues) is named itself, besides a plain one; the better of the two counts.

Where a system has more in its own fabric than the ideal one gives, that is no bound, and is said:
a class of flows can gain at the others' cost, and queues between switches spread what arrives at a
host's link.

A claim on the largest effect over several points ("up to 40 % lower") is out of reach only if this
fabric was run at all of them. One on the largest effect over several schemes ("up to 40 % over the
others") is out of reach only if it is over every one of them; a range is where its smaller end is,
over each, or its larger end, over all. Whoever is said to be ahead has a bound, whether as the
system of a claim or as a place in an order.
"""

import itertools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from leafspine import scenario
from leafspine.engine import Case, Point
from leafspine.labels import point_label
from leafspine.quantities import number
from leafspine.reproduce.claims import Check, Claim
from leafspine.reproduce.data import Data
from leafspine.reproduce.tolerances import beyond
from leafspine.scenario import Source
from leafspine.stats import Estimate, estimate

NAME = "ideal fabric"

FASTER = 10
"""At a tenth of the load a link is idle nine tenths of the time: little is left of any queue."""


@dataclass(frozen=True)
class Bound:
    """How far the ideal fabric is ahead of another scheme: percent, and where."""

    against: str
    found: Estimate
    point: Point
    out_of_reach: bool
    ours: float | None = None
    """Percent that the scheme said to be ahead has in the figure's own fabric, if that is more."""
    ahead: str = ""
    """That scheme, where it is not the one that the whole test is about."""
    runs: str = ""
    """The set of runs, where the test is about more than one."""
    alone: bool = False
    """Whether the test looks for its effect at other points, too, where this fabric was not run."""

    @property
    def words(self) -> str:
        """For a page."""
        where = f" at {point_label(self.point)}" if self.point else ""
        where += " alone" if self.alone else ""
        where += f" ({self.runs})" if self.runs else ""
        end = ": out of reach" if self.out_of_reach else ""
        if self.ours is not None:
            whose = f" for {self.ahead}" if self.ahead else ""
            end = f": no bound, {self.ours:+.1f} % is found{whose}"
        return f"{self.found.mean:+.1f} % against {self.against}{where}{end}"


def runs_of(runs: str) -> str:
    """The name in the data of the ideal runs that belong to a set of runs."""
    return f"{runs}~{NAME}"


def case_of(case: Case) -> Case:
    """The ideal case beside a case: the same flows, at the same point."""
    table = tomllib.loads(case.toml)
    fabric = table["topology"]["fabric_link"]
    fabric["rate"] = f"{round(number(fabric['rate'])[0] * FASTER)}bps"
    table["topology"].pop("change", None)
    for workload in table["workload"]:
        # As much traffic as before, not as much for each bit that a link carries.
        if "load" in workload and workload.get("load_basis") == "fabric":
            workload["load"] = workload["load"] / FASTER
    # Its version stays: keys that a resolved scenario lacks mean what they did without them.
    source = Source(scenario.to_toml(table), "the ideal fabric", case.base_dir)
    return replace(scenario.single(source), variant=case.variant, point=case.point)


def is_bounded(metric: str) -> bool:
    """Whether a metric is one that queues in the fabric bound: completion times, goodputs."""
    return is_timed(metric) and not metric.startswith("own.")


def is_timed(metric: str) -> bool:
    """Whether a metric is a completion time or a goodput, one of a reproduction's own too."""
    group, _, name = metric.partition(".")
    return group != "network" and name.startswith(("fct", "goodput"))


def bounds(claim: Claim, data: Data) -> list[Bound]:
    """The bound of each comparison in which a claim has a scheme ahead of another one."""
    return [bound for test in claim.tests for bound in bounds_of(test, data)]


def in_words(claim: Claim, data: Data) -> str:
    """All of them, for a page; nothing where there are no ideal runs."""
    return "; ".join(dict.fromkeys(bound.words for bound in bounds(claim, data)))


def bounds_of(test: Check, data: Data) -> list[Bound]:
    """Those of one of its tests."""
    if not is_bounded(test.metric) or test.runs_against:
        return []
    found = [
        bound
        for runs in (test.runs, *test.more_runs)
        for pair in pairs(test)
        if (bound := _bound(replace(test, runs=runs), data, pair)) is not None
    ]
    if test.type == "upto":
        return _over_all(found, [bound.out_of_reach for bound in found])
    if isinstance(test.claimed, tuple):
        far = max(test.claimed, key=abs)
        short = [
            b.ours is None and not b.alone and _falls_short(test, b.found.mean, far) for b in found
        ]
        return found if not all(short) else [replace(b, out_of_reach=True) for b in found]
    return _one_each(test, found)


def _one_each(test: Check, found: list[Bound]) -> list[Bound]:
    """One over each scheme, though several be ahead of it: the one who has most decides."""
    best: dict[tuple[str, str], Bound] = {}
    for bound in found:
        key = (bound.against, bound.runs)
        one = best.setdefault(key, bound)
        if bound.ours is not None and (
            one.ours is None or _sign(test) * (bound.ours - one.ours) > 0
        ):
            best[key] = bound
    return list(best.values())


def _over_all(found: list[Bound], short: Sequence[bool]) -> list[Bound]:
    """Out of reach over every one of the other schemes, or over none of them."""
    return [replace(bound, out_of_reach=all(short)) for bound in found]


def _bound(test: Check, data: Data, pair: tuple[str, str]) -> Bound | None:
    """Over the second of a pair, at the point where it is most; None where there are no runs."""
    ahead, other = pair
    points = data.points(test.runs, test.at)
    found = [
        (effect, point)
        for point in points
        for variant in data.variants(runs_of(test.runs))
        if (effect := _effect(data, test, runs_of(test.runs), (variant, other), point)) is not None
    ]
    if not found:
        return None
    sign = _sign(test)
    effect, point = max(found, key=lambda entry: sign * entry[0].mean)
    ours = _effect(data, test, test.runs, pair, point)
    beaten = ours is not None and sign * ours.mean > sign * effect.mean
    near = min(test.claimed, key=abs) if isinstance(test.claimed, tuple) else test.claimed
    # The largest of several may be at another point.
    alone = test.type in ("upto", "range") and len({at for _, at in found}) < len(points)
    return Bound(
        other,
        effect,
        point,
        not beaten and not alone and _falls_short(test, effect.mean, near),
        ours.mean if ours and beaten else None,
        "" if ahead == test.scheme else ahead,
        test.called(test.runs) if test.more_runs else "",
        alone,
    )


def pairs(test: Check) -> list[tuple[str, str]]:
    """Each scheme that a test has ahead of another one, with that one."""
    if test.advantage:
        return []
    high = "goodput" in test.metric
    order = test.less[::-1] if high else test.less
    worse, better = test.less_than, test.more_than
    if not high:
        worse, better = better, worse
    compared = (test.against,) if test.against and test.claimed is not None else ()
    return [
        *itertools.pairwise(order),
        *((test.scheme, other) for other in (*compared, *test.others, *better)),
        *((other, test.scheme) for other in worse),
    ]


def _sign(test: Check) -> float:
    """Of what is good: more goodput, less time."""
    return 1.0 if "goodput" in test.metric else -1.0


def _effect(
    data: Data, test: Check, runs: str, both: tuple[str, str], point: Point
) -> Estimate | None:
    """Of a variant in these runs against another one in those of the figure."""
    variant, other = both
    mine = data.samples((runs, variant, point), test.metric)
    theirs = data.samples((test.runs, other, point), test.metric)
    samples = [sample for sample in mine if theirs.get(sample)]
    return estimate([100.0 * (mine[s] - theirs[s]) / theirs[s] for s in samples])


def _falls_short(test: Check, most: float, claimed: float | None) -> bool:
    """Whether what is claimed is more than the ideal fabric's effect, its tolerance apart."""
    sign = _sign(test)
    if claimed is None:  # an order: at all, or by a word's bound, which is of the mean of both
        by = sign * test.by / 200
        return sign * (most - 100.0 * ((1 + by) / (1 - by) - 1)) <= 0
    if test.type == "ratio":
        claimed = 100.0 * (claimed - 1)
    if sign * claimed <= 0:  # no gain is claimed
        return False
    if sign * most <= 0:
        return True
    return abs(most) < abs(claimed) if test.or_more else beyond(most, claimed) < -1
