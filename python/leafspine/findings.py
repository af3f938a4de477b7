"""What a comparison found, in sentences that follow from its intervals alone.

A difference is called one only if its 95 % interval, paired by seed, lies on one side of zero. Best
is the variant with the lowest mean, together with every other one that differs from it by nothing
that is significant; but not the first variant if any is significantly better, as the sentence says.
"""

from collections.abc import Sequence

from leafspine.comparison_data import ComparisonData, Row
from leafspine.engine import FlowClass, Point
from leafspine.labels import point_label
from leafspine.stats import Estimate, paired_percent

METRIC = "fct_mean"
FEWEST = 2
"""Seeds without which there is no interval."""


def paragraph(comparison: ComparisonData) -> list[str]:
    """The sentences: of each flow class at the last point and, if that differs, at the first; and
    whether all runs and flows have finished."""
    found = []
    if len(comparison.variants) > 1 and len(comparison.seeds) >= FEWEST:
        for point in dict.fromkeys((comparison.points[-1], comparison.points[0])):
            found += [_of_class(comparison, point, entry) for entry in _classes(comparison)]
    elif len(comparison.variants) > 1:
        found.append("One seed gives no intervals: which variant is best cannot be said from it.")
    return [*(sentence for sentence in found if sentence), _finished(comparison)]


def _classes(comparison: ComparisonData) -> Sequence[FlowClass]:
    named = [entry for entry in comparison.populated if entry.name != "all"]
    return named or comparison.populated


def _of_class(comparison: ComparisonData, point: Point, flow_class: FlowClass) -> str:
    """``At load 0.8 RPS (−64 % [−67, −61]) is best for short flows, ...; LetFlow ...``."""
    name = flow_class.name
    rows = [comparison.by_name[variant, point, name, METRIC] for variant in comparison.variants]
    first, others = rows[0], [row for row in rows[1:] if row.difference]
    if first.estimate is None or not others:
        return ""
    where = f"At {point_label(point)} " if point else ""
    flows = "flows" if name == "all" else f"{name} flows"
    if all(row.repeats for row in rows):
        return _capital(
            f"{where}the seed changes nothing: all seeds are one run, so which variant is best for "
            f"{flows} cannot be said with an interval."
        )
    faster = [row for row in others if _side(row.difference) < 0]
    slower = [row for row in others if _side(row.difference) > 0]
    if not faster and not slower:
        return _capital(
            f"{where}no variant differs significantly from {first.variant} for {flows}."
        )
    best = _best(rows)
    parts = [_of_the_best(best, first, flows)]
    rest = [row for row in faster if row not in best]
    if rest:
        parts.append(f"{_with_shares(rest)} also gain{'s' if len(rest) == 1 else ''}")
    if slower:
        verb = "is" if len(slower) == 1 else "are"
        parts.append(f"{_with_shares(slower)} {verb} worse")
    unclear = [row for row in others if _side(row.difference) == 0 and row not in best]
    if unclear:
        whose = "difference is" if len(unclear) == 1 else "differences are"
        parts.append(f"the {whose} not significant for {_listed(unclear)}")
    return _capital(f"{where}{'; '.join(parts)}.")


def _of_the_best(best: Sequence[Row], first: Row, flows: str) -> str:
    if len(best) > MOST_BEST:
        lowest = best[0]
        if lowest is first:
            return f"{first.variant} has the lowest mean for {flows}, and {_not_apart(best)}"
        return (
            f"{_with_shares([lowest])} has the lowest mean completion time for {flows}, against "
            f"{first.variant}, and {_not_apart(best)}"
        )
    verb = "is" if len(best) == 1 else "are"
    text = f"{_with_shares(best)} {verb} best for {flows}"
    if list(best) == [first]:
        return text
    return f"{text}, by mean completion time against {first.variant}"


MOST_BEST = 3
"""That can share a first place; more are noise."""


def _not_apart(best: Sequence[Row]) -> str:
    return f"{_listed(best[1:])} cannot be told from it"


def _best(rows: Sequence[Row]) -> list[Row]:
    """The row with the lowest mean, and those that are not significantly above it; of many
    (:data:`MOST_BEST`) the lowest first. The first row only if no other is said to be better."""
    known = [row for row in rows if row.estimate]
    lowest = min(known, key=lambda row: row.estimate.mean if row.estimate else 0.0)
    best = [
        row
        for row in known
        if row is lowest
        or (row.repeats and lowest.repeats)
        or _side(paired_percent(row.values, lowest.values)) == 0
    ]
    if rows[0] is not lowest and any(_side(row.difference) < 0 for row in known):
        best = [row for row in best if row is not rows[0]]
    if len(best) > MOST_BEST:
        best.sort(key=lambda row: row is not lowest)
    return best


def _side(difference: Estimate | None) -> int:
    """-1: below zero, 1: above, 0: the interval has zero in it, or there is none."""
    if difference is None or difference.low is None or difference.high is None:
        return 0
    return -1 if difference.high < 0 else 1 if difference.low > 0 else 0


def _share(found: Estimate | None) -> str:
    """``−64 % [−67, −61]``: to a digit after the point where one of them would be zero."""
    if found is None or found.low is None or found.high is None:
        return "unknown"
    numbers = (found.mean, found.low, found.high)
    places = 0 if min(abs(number) for number in numbers) >= 1 else 1
    mean, low, high = (f"{value:+.{places}f}".replace("-", "−") for value in numbers)
    return f"{mean} % [{low}, {high}]"


def _listed(rows: Sequence[Row]) -> str:
    return _joined([row.variant for row in rows])


def _with_shares(rows: Sequence[Row]) -> str:
    """``RPS (−64 % [−67, −61]) and QDAPS (...)``; the first variant is what they are shares of."""
    return _joined(
        [
            f"{row.variant} ({_share(row.difference)})" if row.difference else row.variant
            for row in rows
        ]
    )


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _finished(comparison: ComparisonData) -> str:
    failed, total = len(comparison.failures), len(comparison.cases)
    counts = [row for row in comparison.rows if row.group == "all" and row.metric == "unfinished"]
    open_flows = sum(int(value or 0) for row in counts for value in row.values)
    runs = (
        f"All {total} runs finished" if not failed else f"{failed} of {total} runs have no result"
    )
    if open_flows:
        return f"{runs}; {open_flows} flows did not finish: means of the others are too low."
    return f"{runs}, and every flow in them."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
