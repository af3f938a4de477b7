"""What a comparison found, in sentences that follow from its intervals alone.

A difference is called one only if its 95 % interval, paired by seed, lies on one side of zero. Best
is the variant with the lowest mean, together with every other one that differs from it by nothing
that is significant; but not the first variant if any is significantly better, as the sentence says.

A mean is of what has finished, and what has not would have made it longer. So a variant that has
finished fewer flows than another is not faster than that one, whatever the means say: it is slower,
or the two cannot be compared.
"""

from collections.abc import Sequence

from leafspine.comparison_data import ComparisonData, Row
from leafspine.engine import Point
from leafspine.labels import point_label
from leafspine.measures import COLLECTIVES, METRICS, counts_of, messages_among_flows
from leafspine.stats import Estimate, paired_percent

FEWEST = 2
"""Seeds without which there is no interval."""


def paragraph(comparison: ComparisonData) -> list[str]:
    """The sentences: of each flow class, and of collectives, at the last point and, if that
    differs, at the first; and whether all runs and flows have finished. Where no collective is
    complete, that is said even if there is nothing to compare; and so is how many of the flows
    are messages of jobs, where there are both."""
    found = []
    ends = tuple(dict.fromkeys((comparison.points[-1], comparison.points[0])))
    if len(comparison.variants) > 1 and len(comparison.seeds) >= FEWEST:
        for point in ends:
            found += [_of_group(comparison, point, *group) for group in _groups(comparison)]
    elif len(comparison.variants) > 1:
        found.append("One seed gives no intervals: which variant is best cannot be said from it.")
    if comparison.has_jobs:
        found += [_none_complete(comparison, point) for point in ends]
    if mixed := messages_among_flows(comparison.summaries):
        found.append(_capital(f"{mixed}."))
    return [*(sentence for sentence in found if sentence), _finished(comparison)]


def _none_complete(comparison: ComparisonData, point: Point) -> str:
    """``At load 0.8 no collective is complete (ECMP: 0 of 12, RPS: 0 of 12).``, if so."""
    told = []
    for variant in comparison.variants:
        row = comparison.by_name[variant, point, COLLECTIVES, "completion_mean"]
        of, left = (sum(int(n or 0) for n in counts) for counts in _counts(comparison, row))
        if left < of:
            return ""
        told.append(f"{variant}: 0 of {of}".removeprefix(": "))
    where = f"At {point_label(point)} " if point else ""
    return _capital(f"{where}no collective is complete ({', '.join(told)}).")


def _groups(comparison: ComparisonData) -> list[tuple[str, str, str]]:
    """Each group with its mean completion time, and what it is of. Of a message's time nobody asks
    where a collective's is known."""
    collectives = [(COLLECTIVES, "completion_mean", "collectives")]
    if comparison.only_jobs:
        return collectives
    named = [entry for entry in comparison.populated if entry.name != "all"]
    found = [(entry.name, "fct_mean", f"{entry.name} flows") for entry in named]
    found = found or [("all", "fct_mean", "flows")]
    return found + collectives * comparison.has_jobs


def _of_group(comparison: ComparisonData, point: Point, group: str, metric: str, flows: str) -> str:
    """``At load 0.8 RPS (−64 % [−67, −61]) is best for short flows, ...; LetFlow ...``."""
    rows = [comparison.by_name[variant, point, group, metric] for variant in comparison.variants]
    done = {row.variant: _completed(comparison, row) for row in rows}

    def counted(row: Row) -> str:
        return f"{row.variant} ({_open(comparison, row)})"

    def fewer(row: Row, other: Row) -> bool:
        pairs = zip(done[row.variant], done[other.variant], strict=True)
        return sum(a - b for a, b in pairs if a is not None and b is not None) < 0

    first, rest = rows[0], rows[1:]
    where = f"At {point_label(point)} " if point else ""
    if not any(row.estimate for row in rows):
        return ""
    if first.estimate is None:
        return _capital(
            f"{where}{counted(first)}, with which the others are compared, has no mean for {flows}."
        )
    if all(row.repeats for row in rows):
        return _capital(
            f"{where}the seed changes nothing: all seeds are one run, so which variant is best for "
            f"{flows} cannot be said with an interval."
        )
    faster = [row for row in rest if _side(row.difference) < 0 and not fewer(row, first)]
    slower = [row for row in rest if _side(row.difference) > 0 and not fewer(first, row)]
    others = [row for row in rest if row.estimate and row not in faster and row not in slower]
    apart = [row for row in others if not row.difference or fewer(row, first) or fewer(first, row)]
    unclear = [row for row in others if row not in apart]
    best: list[Row] = []
    parts = []
    if faster or slower:
        compared = [first, *faster, *slower, *unclear]
        whole = [
            row for row in rows if row in compared and not any(fewer(row, o) for o in compared)
        ]
        best = _best(first, whole or compared)
        parts.append(_of_the_best(best, first, flows))
    elif len(unclear) == len(rest):
        parts.append(f"no variant differs significantly from {first.variant} for {flows}")
    also = [row for row in faster if row not in best]
    if also:
        parts.append(f"{_with_shares(also)} also gain{'s' if len(also) == 1 else ''}")
    if slower:
        verb = "is" if len(slower) == 1 else "are"
        parts.append(f"{_with_shares(slower)} {verb} worse")
    unclear = [row for row in unclear if row not in best]
    if unclear and len(unclear) < len(rest):
        whose = "difference is" if len(unclear) == 1 else "differences are"
        parts.append(f"the {whose} not significant for {_listed(unclear)}")
    if apart:
        names = _joined([counted(row) for row in apart])
        parts.append(f"{names} cannot be compared with {counted(first)} for {flows}")
    absent = [counted(row) for row in rest if row.estimate is None]
    if absent:
        parts.append(
            f"{_joined(absent)} {'has' if len(absent) == 1 else 'have'} no mean for {flows}"
        )
    return _capital(f"{where}{'; '.join(parts)}.")


def _completed(comparison: ComparisonData, row: Row) -> list[float | None]:
    """By seed how many flows, or collectives, a mean is over."""
    of, left = _counts(comparison, row)
    return [
        None if one is None or two is None else one - two for one, two in zip(of, left, strict=True)
    ]


def _counts(
    comparison: ComparisonData, row: Row
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    group, of, left = counts_of(row.group)
    named = comparison.by_name
    return (
        named[row.variant, row.point, group, of].values,
        named[row.variant, row.point, group, left].values,
    )


def _open(comparison: ComparisonData, row: Row) -> str:
    """``299 of 559 unfinished``, over all seeds."""
    of, left = (sum(int(value or 0) for value in counts) for counts in _counts(comparison, row))
    return f"{left} of {of} {METRICS[counts_of(row.group)[2]].label}"


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
    verb = "does" if len(best) == 2 else "do"
    return f"{_listed(best[1:])} {verb} not differ significantly from it"


def _best(first: Row, rows: Sequence[Row]) -> list[Row]:
    """The row with the lowest mean, and those that are not significantly above it; of many
    (:data:`MOST_BEST`) the lowest first. The first row only if no other is said to be better."""
    lowest = min(rows, key=lambda row: row.estimate.mean if row.estimate else 0.0)
    best = [
        row
        for row in rows
        if row is lowest
        or (row.repeats and lowest.repeats)
        or _side(paired_percent(row.values, lowest.values)) == 0
    ]
    if first is not lowest and any(_side(row.difference) < 0 for row in rows):
        best = [row for row in best if row is not first]
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
    runs = (
        f"All {total} runs finished" if not failed else f"{failed} of {total} runs have no result"
    )
    found = []
    for variant in comparison.variants:
        rows = [comparison.by_name[variant, p, "all", "unfinished"] for p in comparison.points]
        of, left = (
            sum(int(value or 0) for row in rows for value in _counts(comparison, row)[at])
            for at in (0, 1)
        )
        if left:
            found.append(f"{variant}: {left} of {of}".removeprefix(": "))
    if found:
        names = ", ".join(found)
        return f"{runs}; flows did not finish ({names}): means of the others are too low."
    return f"{runs}, and every flow in them."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
