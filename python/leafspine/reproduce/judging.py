"""Claims judged: computed from a figure's numbers by the type of each test, never typed in.

All differences are paired: the same seed gives the same flows to every variant. Intervals are 95 %
(Student's t over seeds; over batches where a paper's runs are cut into such). The rules are those
of ``docs/reproducing.md``.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leafspine.engine import Point
from leafspine.labels import point_label
from leafspine.quantities import number
from leafspine.reproduce import ideal, strips
from leafspine.reproduce.claims import Check, Claim
from leafspine.reproduce.data import Data, Sample, matches
from leafspine.reproduce.figures import Sensitivity
from leafspine.reproduce.metrics import unit_and_label
from leafspine.reproduce.strips import Strip
from leafspine.reproduce.tolerances import of_ratio
from leafspine.reproduce.verdicts import Finding, Judged, Part, Verdict, effect, sure
from leafspine.stats import CONFIDENCE, Estimate, estimate, t_quantile

Values = dict[Sample, float]
"""Of one metric, by what intervals are over: seeds, or batches of the flows of each seed."""


def judge(claim: Claim, data: Data, suffix: str = "") -> Judged:
    """A claim's verdict. ``suffix`` is added to the names of the sets of runs (a sensitivity)."""
    findings = tuple(_of(test, claim, _found(_Numbers(data, test, suffix))) for test in claim.tests)
    return Judged(claim, findings, "" if suffix else ideal.in_words(claim, data))


def _of(test: Check, claim: Claim, finding: Finding) -> Finding:
    """What was found, with the set of runs and the metric that it is of, where the claim has tests
    of several."""
    heads = []
    if len({other.runs for other in claim.tests}) > 1 and test.called(test.runs) != "main":
        heads.append(test.called(test.runs))
    if len({other.metric for other in claim.tests}) > 1:
        group, _, _ = test.metric.partition(".")
        label = unit_and_label(test.metric)[1]
        heads.append(label if group in ("all", "network", "own") else f"{label} of {group} flows")
    return replace(finding, head=f"{', '.join(heads)}: ") if heads else finding


def as_read(claim: Claim, other: Sensitivity, data: Data) -> Judged:
    """What a sensitivity is judged of, as the paper is read: at the same points, with the same
    seeds. One that has a point of its own is beside the claim's."""
    for runs in () if other.at else other.runs:
        data = data.alike(runs, other.run_set(runs))
    return judge(claim.about(*other.runs), data)


@dataclass(frozen=True)
class _Numbers:
    """A test beside the numbers that it is about."""

    data: Data
    test: Check
    suffix: str

    def points(self) -> tuple[Point, ...]:
        return self.data.points(self.test.runs + self.suffix, self.test.at)

    def runs(self, other: bool = False) -> str:
        """The set of runs that is looked at; the one that it is compared with, if ``other``."""
        name = (self.test.runs_against or self.test.runs) if other else self.test.runs
        # A sensitivity may change one set of two; those that have no such runs are as they were. A
        # run that failed is a hole, not the number of the default.
        changed = name + self.suffix
        return name if name != self.test.runs and not self.data.points(changed) else changed

    def samples(self, variant: str, point: Point, other: bool = False) -> Values:
        """Values by seed or batch; of the runs that are compared against, if ``other``."""
        return self.data.samples((self.runs(other), variant, point), self.test.metric)

    def percent(self, scheme: str, against: str, point: Point) -> Estimate | None:
        """The paired difference in percent at a point."""
        mine, theirs = self.samples(scheme, point), self.samples(against, point, other=True)
        return _percents(mine, theirs)

    def averaged(self, variant: str, other: bool = False) -> Values:
        """The same, each the mean over all points; of those that have a value everywhere."""
        columns = [self.samples(variant, point, other) for point in self.points()]
        common = set(columns[0]).intersection(*columns[1:]) if columns else set()
        return {
            sample: math.fsum(c[sample] for c in columns) / len(columns)
            for sample in sorted(common)
        }

    def last(self) -> list[Point]:
        """The points in rising order along the swept key (the test's, or the only number swept)."""
        points = list(self.points())
        key = self.test.along or _swept(points)
        return sorted(points, key=lambda point: number(dict(point).get(key))[0]) if key else points


def _found(numbers: _Numbers) -> Finding:
    """By the rule of the test's type; with ``every`` at each point by itself."""
    rule = _RULES[numbers.test.type]
    points = numbers.last() if numbers.test.every else []
    if not points:
        return rule(numbers)
    parts: list[Part] = []
    for point in points:
        here = replace(numbers, test=replace(numbers.test, at=dict(point)))
        where = _where(point)
        parts += (
            part if where in part.found else replace(part, found=part.found + where)
            for part in rule(here).parts
        )
    return Finding(tuple(parts))


def _percents(mine: Values, theirs: Values) -> Estimate | None:
    both = [sample for sample in mine if theirs.get(sample)]
    return estimate([100.0 * (mine[sample] - theirs[sample]) / theirs[sample] for sample in both])


def _swept(points: Sequence[Point]) -> str:
    """The first key whose value changes."""
    for key in dict(points[0]) if points else ():
        if len({str(dict(point).get(key)) for point in points}) > 1:
            return key
    return ""


def _percent(found: Estimate) -> str:
    band = f" [{found.low:+.1f}, {found.high:+.1f}]" if found.half is not None else " (one seed)"
    return f"{found.mean:+.1f} %{band}"


def _where(point: Point) -> str:
    return f" at {point_label(point)}" if point else ""


def _one(verdict: Verdict, found: str, *shown: Strip) -> Finding:
    return Finding((Part(verdict, found, shown),))


def _ends(test: Check) -> tuple[float, float]:
    """The test's bounds; infinite where there is none."""
    return (
        -math.inf if test.above is None else test.above,
        math.inf if test.below is None else test.below,
    )


def _on_scale(test: Check, found: Estimate, claimed: float | None = None) -> Strip:
    """An effect in percent on the scale of what was claimed, or of the test's bounds."""
    if claimed is None:
        return strips.of_bound("%", found, _ends(test))
    return strips.of_percent(found, claimed, test.or_more, _ends(test))


def _nothing(numbers: _Numbers) -> Finding:
    return _one(Verdict.MISSING, f"no data for {numbers.test.metric}")


def _at(numbers: _Numbers) -> Finding:
    """The named point; without one the last of the sweep, with its neighbour shown."""
    test, points = numbers.test, numbers.last()
    if test.average:
        found = _percents(numbers.averaged(test.scheme), numbers.averaged(test.against, other=True))
        if found is None:
            return _nothing(numbers)
        text = f"{_percent(found)} against {test.against}, of the averages over the sweep"
        claimed = _claimed(test)
        return _one(_effect(test, found, claimed), text, _on_scale(test, found, claimed))
    if not points:
        return _nothing(numbers)
    found = numbers.percent(test.scheme, test.against, points[-1])
    if found is None:
        return _nothing(numbers)
    text = f"{_percent(found)} against {test.against}{_where(points[-1])}"
    if len(points) > 1:
        beside = numbers.percent(test.scheme, test.against, points[-2])
        text += f" ({_percent(beside)}{_where(points[-2])})" if beside else ""
    if test.claimed is None:
        verdicts, bounds = _bounds(test, found)
        return _one(min(verdicts), text + bounds, _on_scale(test, found))
    claimed = _claimed(test)
    return _one(_effect(test, found, claimed), text, _on_scale(test, found, claimed))


def _effect(test: Check, found: Estimate, claimed: float) -> Verdict:
    return effect(found, claimed, test.or_more, test.praises)


def _claimed(test: Check) -> float:
    assert isinstance(test.claimed, int | float)
    return float(test.claimed)


def _effects(numbers: _Numbers) -> list[tuple[str, Estimate]]:
    """The effect against each of the others at each point, with where that is."""
    test = numbers.test
    found = []
    for runs in (test.runs, *test.more_runs):
        here = replace(numbers, test=replace(test, runs=runs))
        for point in here.last():
            for other in test.others or (test.against,):
                one = here.percent(test.scheme, other, point)
                where = (f" against {other}" if test.others else "") + _where(point)
                where += f" ({test.called(runs)})" if test.more_runs else ""
                found += [(where, one)] if one is not None else []
    return found


def _at_once(found: Estimate, count: int) -> Estimate:
    """With an interval so wide that those of so many comparisons hold at once (Bonferroni)."""
    if found.half is None:
        return found
    one, all_of = (1 - (1 - CONFIDENCE) / 2 / among for among in (1, count))
    wider = t_quantile(all_of, found.n - 1) / t_quantile(one, found.n - 1)
    return replace(found, half=found.half * wider)


def _if_at_once(verdict: Verdict, other: Verdict, count: int) -> str:
    """The largest of many may be so by chance: what it would be with all their intervals."""
    return f"; with intervals for all {count} at once {other.words}" if other != verdict else ""


def _upto(numbers: _Numbers) -> Finding:
    """The largest effect of the claim's sign over the sweep."""
    found = _effects(numbers)
    if not found:
        return _nothing(numbers)
    claimed = _claimed(numbers.test)
    where, largest = max(found, key=lambda entry: math.copysign(1.0, claimed) * entry[1].mean)
    count = len(found)
    verdict = _effect(numbers.test, largest, claimed)
    other = _effect(numbers.test, _at_once(largest, count), claimed)
    shown = _on_scale(numbers.test, largest, claimed)
    text = f"largest{f' of {count}' if count > 1 else ''}: {_percent(largest)}{where}"
    return _one(verdict, text + _if_at_once(verdict, other, count), shown)


def _range(numbers: _Numbers) -> Finding:
    """The smallest and the largest effect over the sweep, each against its end."""
    test, found = numbers.test, _effects(numbers)
    if not found:
        return _nothing(numbers)
    assert isinstance(test.claimed, tuple)
    ends = sorted(test.claimed, key=abs)
    sign = math.copysign(1.0, ends[-1])
    ordered = sorted(found, key=lambda entry: sign * entry[1].mean)
    (_, least), (_, most) = ordered[0], ordered[-1]
    count = len(found)
    text = f"{_percent(least)}{ordered[0][0]} to {_percent(most)}{ordered[-1][0]}, of {count}"
    shown = (_on_scale(test, least, ends[0]), _on_scale(test, most, ends[-1]))
    signs = all(sign * entry.mean > 0 for _, entry in found)

    def judged(least: Estimate, most: Estimate) -> Verdict:
        worst = min(_effect(test, least, ends[0]), _effect(test, most, ends[-1]))
        if worst >= Verdict.EXCEEDS:
            return worst
        known = most.half is None or sure(most, sign)
        return Verdict.DIRECTION if signs and known else Verdict.NOT

    verdict = judged(least, most)
    other = judged(_at_once(least, count), _at_once(most, count))
    return _one(verdict, text + _if_at_once(verdict, other, count), *shown)


def _ratio(numbers: _Numbers) -> Finding:
    """The mean of the logarithms of the ratio, against that of the claim."""
    test = numbers.test
    if test.average:
        above = numbers.averaged(test.scheme)
        below = numbers.averaged(test.against, other=True)
    elif test.start is not None and test.end is not None:
        above = _only(numbers, test.scheme, test.end)
        below = _only(numbers, test.scheme, test.start)
    else:
        points = numbers.last()
        above = numbers.samples(test.scheme, points[-1]) if points else {}
        below = numbers.samples(test.against, points[-1], other=True) if points else {}
    pairs = [(above[sample], below[sample]) for sample in above if sample in below]
    found = estimate([math.log(one / other) for one, other in pairs if one > 0 and other > 0])
    if found is None:
        return _nothing(numbers)
    wanted = math.log(_claimed(test))
    text = f"{math.exp(found.mean):.3g} times"
    if found.half is not None:
        text += f" [{_times(found.mean - found.half)}, {_times(found.mean + found.half)}]"
    shown = strips.of_ratio(found, _claimed(test))
    return _one(_verdict_of_ratio(test, found, wanted), text, shown)


def _verdict_of_ratio(test: Check, found: Estimate, wanted: float) -> Verdict:
    """Of the logarithm of a ratio, against the claimed one's."""
    sign = math.copysign(1.0, wanted)
    off = sign * (found.mean - wanted) / of_ratio(wanted)
    if sign * found.mean <= 0 or (found.half is not None and not sure(found, sign)):
        return Verdict.NOT
    if found.half is not None and abs(off) <= 1:
        return Verdict.REPRODUCED
    larger = off > 1 and sure(replace(found, mean=found.mean - wanted), sign)
    return Verdict.EXCEEDS if test.praises and larger else Verdict.DIRECTION


def _times(logarithm: float) -> str:
    return f"{math.exp(min(logarithm, 700.0)):.3g}"


def _only(numbers: _Numbers, scheme: str, at: object) -> Values:
    fixed = {**(numbers.test.at or {}), **dict(at)}  # type: ignore[call-overload]
    for point in numbers.data.points(numbers.test.runs + numbers.suffix, fixed):
        return numbers.samples(scheme, point)
    return {}


def _abs(numbers: _Numbers) -> Finding:
    """A value: relative error, or a bound that was stated beforehand."""
    test, points = numbers.test, numbers.last()
    found = _over_points(numbers, points, lambda point: numbers.samples(test.scheme, point))
    if found is None:
        return _nothing(numbers)
    band = f" [{found.low:.4g}, {found.high:.4g}]" if found.half is not None else " (one seed)"
    where = _where(points[0]) if len(points) == 1 else ""
    text = f"{test.scheme} {found.mean:.4g}{band}{where}"
    verdicts, bounds = _bounds(test, found)
    if test.claimed is None:
        return _one(min(verdicts), text + bounds, strips.of_bound("", found, _ends(test)))
    claimed = _claimed(test)
    verdicts.append(_near(test, found, claimed))
    return _one(min(verdicts), text + bounds, strips.of_value(found, claimed, _ends(test)))


def _better(test: Check, difference: Estimate) -> bool:
    """Whether a difference, with its whole interval, is to the better side of the test."""
    signs = {"less": -1.0, "more": 1.0}
    return test.better in signs and sure(difference, signs[test.better])


def _bounds(test: Check, found: Estimate) -> tuple[list[Verdict], str]:
    """Whether an estimate keeps the test's bounds, and how they read."""
    verdicts, text = [], ""
    half = found.half if found.half is not None else 0.0
    for bound, sign in ((test.below, 1.0), (test.above, -1.0)):
        if bound is not None:
            word = "below" if sign > 0 else "above"
            text += f", bound: {word} {bound:g}"
            whole = sign * (found.mean + sign * half - bound) < 0 and found.half is not None
            mean = sign * (found.mean - bound) < 0
            verdicts.append(
                Verdict.REPRODUCED if whole else Verdict.DIRECTION if mean else Verdict.NOT
            )
    return verdicts, text


def _near(test: Check, found: Estimate, claimed: float) -> Verdict:
    """A value against the claimed one."""
    if claimed == 0:
        return Verdict.REPRODUCED  # its bound decides
    if abs(found.mean - claimed) <= abs(claimed) / 3:
        return Verdict.REPRODUCED if found.half is not None else Verdict.DIRECTION
    if _better(test, replace(found, mean=found.mean - claimed)):
        return Verdict.EXCEEDS
    return Verdict.DIRECTION if 0.5 <= found.mean / claimed <= 2 else Verdict.NOT


def _over_points(
    numbers: _Numbers, points: Sequence[Point], values: Callable[[Point], Values]
) -> Estimate | None:
    """The mean over points, seed by seed (or batch); of those that have a value everywhere."""
    columns = [values(point) for point in points]
    if not columns or not all(columns):
        return None
    common = set(columns[0]).intersection(*columns[1:])
    return estimate(
        [math.fsum(c[sample] for c in columns) / len(columns) for sample in sorted(common)]
    )


def _relative(mine: Values, theirs: Values) -> Values:
    """Difference in percent of the mean of both, which is defined where one is zero."""
    found = {}
    for sample in set(mine) & set(theirs):
        middle = (abs(mine[sample]) + abs(theirs[sample])) / 2
        found[sample] = 100.0 * (mine[sample] - theirs[sample]) / middle if middle else 0.0
    return found


def _order(numbers: _Numbers) -> Finding:
    """Every pair: the first is less than the second, over all points of the sweep."""
    test, points = numbers.test, numbers.points()
    if not points:
        return _nothing(numbers)
    if test.advantage:
        return _greater_advantage(numbers)
    pairs = list(zip(test.less, test.less[1:], strict=False))
    pairs += [(test.scheme, other) for other in test.less_than]
    parts = [_pair(numbers, points, less, more, -1.0) for less, more in pairs]
    parts += [_pair(numbers, points, test.scheme, less, 1.0) for less in test.more_than]
    return Finding(tuple(parts))


def _pair(numbers: _Numbers, points: Sequence[Point], one: str, other: str, sign: float) -> Part:
    """Whether one is less (sign -1) or more (1) than the other."""
    found = _over_points(
        numbers,
        points,
        lambda point: _relative(
            numbers.samples(one, point), numbers.samples(other, point, other=True)
        ),
    )
    if found is None:
        return Part(Verdict.MISSING, f"no data for {one} or {other}")
    test = numbers.test
    both = (test.runs, test.runs_against) if test.runs_against else ()
    here, there = (f" ({test.called(runs)})" for runs in both) if both else ("", "")
    text = f"{one}{here} to {other}{there} {_percent(found)}"
    if test.by:
        text += f", bound: {test.by:g} %"
    good = (test.by, math.inf) if sign > 0 else (-math.inf, -test.by)
    shown = (strips.of_bound("%", found, good),)
    if sign * found.mean <= 0:
        return Part(Verdict.NOT, text, shown)
    # A word such as "greatly" wants more than the sign: the whole interval beyond its bound.
    far = sure(replace(found, mean=found.mean - sign * test.by), sign)
    return Part(Verdict.REPRODUCED if far else Verdict.DIRECTION, text, shown)


def _advantage(numbers: _Numbers, data_runs: str, point: Point, scheme: str = "") -> Values:
    """By how many percent the scheme (default: the test's) is below the other one."""
    test = numbers.test
    mine = numbers.data.samples((data_runs, scheme or test.scheme, point), test.metric)
    theirs = numbers.data.samples((data_runs, test.against, point), test.metric)
    return {s: 100.0 * (theirs[s] - mine[s]) / theirs[s] for s in mine if theirs.get(s)}


def _greater_advantage(numbers: _Numbers) -> Finding:
    """The advantage in one set of runs is greater than in the other."""
    here, there = numbers.runs(), numbers.runs(other=True)
    points = [point for point in numbers.points() if point in numbers.data.points(there)]
    gain = _over_points(numbers, points, lambda point: _advantage(numbers, here, point))
    other = _over_points(numbers, points, lambda point: _advantage(numbers, there, point))

    def more(point: Point) -> Values:
        one, two = _advantage(numbers, here, point), _advantage(numbers, there, point)
        return {sample: one[sample] - two[sample] for sample in one if sample in two}

    change = _over_points(numbers, points, more)
    if gain is None or other is None or change is None:
        return _nothing(numbers)
    text = f"advantage {gain.mean:.1f} against {other.mean:.1f} %: {_percent(change)}"
    shown = strips.of_bound("%", change, (0.0, math.inf))
    if change.mean <= 0:
        return _one(Verdict.NOT, text, shown)
    return _one(Verdict.REPRODUCED if sure(change, 1.0) else Verdict.DIRECTION, text, shown)


def _similar(numbers: _Numbers) -> Finding:
    """The mean difference over the sweep, whole interval within the bound; of ``schemes`` that of
    any two."""
    test = numbers.test
    pairs = (
        itertools.combinations(test.schemes, 2) if test.schemes else ((test.scheme, test.against),)
    )
    return Finding(tuple(_alike(numbers, one, other) for one, other in pairs))


def _alike(numbers: _Numbers, one: str, other: str) -> Part:
    """Whether two are similar."""
    found = _over_points(
        numbers,
        numbers.points(),
        lambda point: _relative(
            numbers.samples(one, point), numbers.samples(other, point, other=True)
        ),
    )
    if found is None:
        return Part(Verdict.MISSING, f"no data for {one} or {other}")
    assert numbers.test.bound is not None
    bound = numbers.test.bound
    text = f"{one} to {other} {_percent(found)}, bound {bound:g} %"
    inside = found.half is not None and abs(found.mean) + found.half <= bound
    shown = (strips.of_bound("%", found, (-bound, bound)),)
    if inside:
        return Part(Verdict.REPRODUCED, text, shown)
    if abs(found.mean) > bound and _better(numbers.test, found):
        return Part(Verdict.EXCEEDS, text, shown)
    return Part(Verdict.DIRECTION if abs(found.mean) <= bound else Verdict.NOT, text, shown)


def _schemes(test: Check) -> Iterable[str]:
    return test.schemes or (test.scheme,)


def _rise(numbers: _Numbers) -> Finding:
    """From the first point of the sweep (or ``from``) to the last (or ``to``); with ``against`` the
    advantage over it."""
    points = numbers.last()
    for at, place in ((numbers.test.start, 0), (numbers.test.end, -1)):
        if at:
            named = [point for point in points if matches(point, at)]
            if not named:
                return _nothing(numbers)
            points[place] = named[0]
    if len(points) < 2:
        return _nothing(numbers)
    # A word's bound is of the mean of both, a rise of the first.
    by = numbers.test.by / 200
    least = 100.0 * ((1 + by) / (1 - by) - 1)
    bound = f", bound: {least:g} %" if by else ""
    parts: list[Part] = []
    for scheme in _schemes(numbers.test):
        found = _change(numbers, scheme, points)
        if found is None:
            return _nothing(numbers)
        unit = "points" if numbers.test.against else "%"
        rises = Verdict.DIRECTION if found.mean > 0 else Verdict.NOT
        far = sure(replace(found, mean=found.mean - least), 1.0)
        shown = strips.of_bound("%", found, (least, math.inf))
        words = f"{scheme} {_percent(found).replace(' %', f' {unit}')}"
        parts.append(Part(Verdict.REPRODUCED if far else rises, words, (shown,)))
    return Finding(tuple(parts), f" from first to last{bound}")


def _change(numbers: _Numbers, scheme: str, points: Sequence[Point]) -> Estimate | None:
    """The change from the first point to the last."""
    if numbers.test.against:
        runs = numbers.test.runs + numbers.suffix
        first, last = (_advantage(numbers, runs, p, scheme) for p in (points[0], points[-1]))
        return estimate([last[sample] - first[sample] for sample in first if sample in last])
    first, last = (numbers.samples(scheme, point) for point in (points[0], points[-1]))
    both = [sample for sample in first if sample in last and first[sample]]
    return estimate([100.0 * (last[sample] - first[sample]) / first[sample] for sample in both])


def _flat(numbers: _Numbers) -> Finding:
    """The largest value over the sweep above the smallest, in percent of it."""
    points = numbers.last()
    bound = numbers.test.bound
    assert bound is not None
    parts: list[Part] = []
    for scheme in _schemes(numbers.test):
        columns = [numbers.samples(scheme, point) for point in points]
        if len(columns) < 2 or not all(columns):
            return _nothing(numbers)
        means = [math.fsum(column.values()) / len(column) for column in columns]
        low, high = columns[means.index(min(means))], columns[means.index(max(means))]
        both = [sample for sample in low if sample in high and low[sample]]
        found = estimate([100.0 * (high[sample] - low[sample]) / low[sample] for sample in both])
        if found is None:
            return _nothing(numbers)
        whole = found.half is not None and found.mean + found.half < bound
        near = Verdict.DIRECTION if found.mean < 2 * bound else Verdict.NOT
        verdict = Verdict.REPRODUCED if whole else near
        shown = strips.of_bound("%", found, (-math.inf, bound))
        parts.append(Part(verdict, f"{scheme} {_percent(found)}", (shown,)))
    return Finding(tuple(parts), f" over the sweep, bound {bound:g} %")


def _slows(numbers: _Numbers) -> Finding:
    """By how much less the value rises over the second half of the sweep than over the first, along
    the parabola through all points, in percent of its mean."""
    points = numbers.last()
    key = numbers.test.along or _swept(points)
    at = np.array([number(dict(point).get(key))[0] for point in points], dtype=float)
    parts: list[Part] = []
    for scheme in _schemes(numbers.test):
        columns = [numbers.samples(scheme, point) for point in points]
        if len(columns) < 3 or not all(columns):
            return _nothing(numbers)
        bends = []
        for sample in sorted(set(columns[0]).intersection(*columns[1:])):
            values = np.array([column[sample] for column in columns])
            bend = np.polyfit(at, values, 2)[0] * (at[-1] - at[0]) ** 2 / 2
            bends.append(float(100.0 * bend / values.mean()))
        found = estimate(bends)
        if found is None:
            return _nothing(numbers)
        slower = Verdict.DIRECTION if found.mean < 0 else Verdict.NOT
        verdict = Verdict.REPRODUCED if sure(found, -1.0) else slower
        shown = strips.of_bound("%", found, (-math.inf, 0.0))
        parts.append(Part(verdict, f"{scheme} {_percent(found)}", (shown,)))
    return Finding(tuple(parts), " of its mean, the second half's rise less the first's")


_RULES: dict[str, Callable[[_Numbers], Finding]] = {
    "at": _at,
    "upto": _upto,
    "range": _range,
    "ratio": _ratio,
    "abs": _abs,
    "order": _order,
    "similar": _similar,
    "rise": _rise,
    "flat": _flat,
    "slows": _slows,
}
