"""A comparison's numbers for people: in the terminal, as Markdown, as CSV, in the report.

One table per flow class, one for the network; a row per point of the sweep and variant. Every
table of flows has the column of unfinished ones. Where all traffic is jobs', collectives come
first.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from leafspine import files, quantities, results
from leafspine.comparison_data import ComparisonData, Row
from leafspine.engine import FlowClass, Point
from leafspine.labels import key_label, plain
from leafspine.measures import (
    COLLECTIVE_METRICS,
    COLLECTIVES,
    FLOW_METRICS,
    METRICS,
    NETWORK,
    NETWORK_METRICS,
    PAUSE_METRICS,
    RECOVERY,
    RECOVERY_METRICS,
    Metric,
    has_flow_control,
    messages_among_flows,
    only_jobs,
)
from leafspine.results import Result
from leafspine.stats import Estimate
from leafspine.terminal import Table, show_table

MISSING = "–"


@dataclass(frozen=True)
class _Column:
    head: str
    cell: Callable[[ComparisonData, str, Point, str], str]
    importance: int = 0
    """In a terminal that is too narrow for all columns, the least important go first."""
    compares: bool = False
    """Says how variants differ: left out where there is one."""


def tables(comparison: ComparisonData) -> list[Table]:
    """All tables: one per flow class, of collectives, of recovery, the network's."""
    found = [_class_table(comparison, entry) for entry in comparison.populated]
    if comparison.has_jobs:
        found.insert(0 if comparison.only_jobs else len(found), _collective_table(comparison))
    if comparison.has_faults:
        found.append(_recovery_table(comparison))
    found.append(_network_table(comparison))
    return found


IN_BRIEF = 6
"""Columns of at least this importance are in a brief table."""


def brief(comparison: ComparisonData) -> tuple[str, list[str], list[list[str]], int]:
    """The first named flow class's table, or that of collectives where all traffic is jobs', with
    what matters most: title, heads, rows, and how many columns at the left are text."""
    first = 0 if comparison.only_jobs else min(1, len(comparison.populated) - 1)
    table = tables(comparison)[first]
    kept = [
        column
        for column, importance in enumerate(table.importance)
        if column < table.texts or importance >= IN_BRIEF
    ]
    rows = [[row[column] for column in kept] for row in table.rows]
    return table.title, [table.heads[column] for column in kept], rows, table.texts


def of_result(result: Result) -> list[Table]:
    """The tables of a single run: its flow classes and the network."""
    classes = result.summary["classes"]
    scales = {
        "us": _unit([entry["fct_mean"] for entry in classes.values()]),
        "Mb/s": _rate_unit(entry["goodput_mean"] for entry in classes.values()),
    }
    network = result.summary["network"]
    of_network = NETWORK_METRICS + PAUSE_METRICS * has_flow_control(result.summary)
    heads = ["class"]
    for metric in FLOW_METRICS:
        _, shown = scales.get(metric.unit, (1.0, metric.unit))
        heads.append(f"{metric.label} ({shown})" if shown else metric.label)
    rows = []
    for name, entry in classes.items():
        cells = [name]
        for metric in FLOW_METRICS:
            cells.append(_number(entry[metric.name], scales.get(metric.unit, (1.0, ""))[0]))
        rows.append(tuple(cells))
    traffic = ", ".join(f"{name} {_number(network.get(name), 1.0)} Gb/s" for name in TRAFFIC)
    note = f"seed {result.summary['seed']}; {traffic}; times are of finished flows"
    note += _mixed([result.summary]) + _warmed([result.summary])
    flows = Table(
        "Flows",
        note,
        tuple(heads),
        tuple(rows),
        importance=(0, *(metric.importance for metric in FLOW_METRICS)),
    )
    pairs = tuple(
        (metric.label, metric.meaning, metric.unit, _number(network.get(metric.name), 1.0))
        for metric in of_network
    )
    titles = ("metric", "meaning", "unit", "value")
    found = [flows]
    if COLLECTIVES in result.summary:
        at = 0 if only_jobs(result.summary) else len(found)
        found.insert(at, _collectives_of(result.summary, titles))
    if RECOVERY in result.summary:
        found.append(_recovery_of(result.summary, titles))
    rest = "after the warm-up" if result.summary.get("warmup_ps") else "over the whole run"
    note = f"ports and traffic are measured over the scenario's window, the rest {rest}"
    importance = (0, 1, 2, 3)
    found.append(Table("Network", note, titles, pairs, (), 3, 1, importance, sentences=(1,)))
    return found


def _collectives_of(summary: Mapping[str, Any], titles: tuple[str, ...]) -> Table:
    values = summary[COLLECTIVES]
    pairs = tuple(
        (metric.label, metric.meaning, metric.unit, _number(values.get(metric.name), 1.0))
        for metric in COLLECTIVE_METRICS
    )
    note = f"of all jobs; a row a collective is in collectives.parquet{_warmed([summary])}"
    return Table("Collectives", note, titles, pairs, (), 3, 1, (0, 1, 2, 3), sentences=(1,))


def _recovery_of(summary: Mapping[str, Any], titles: tuple[str, ...]) -> Table:
    values = summary[RECOVERY]
    pairs = tuple(
        (metric.label, metric.meaning, metric.unit, _number(values.get(metric.name), 1.0))
        for metric in RECOVERY_METRICS
    )
    note = "goodput after links became worse; each fault is in summary.json"
    return Table("Recovery", note, titles, pairs, (), 3, 1, (0, 1, 2, 3), sentences=(1,))


TRAFFIC = ("offered", "carried")
"""Metrics of the network that every table has: was the configured load reached?"""


def _headed(metric: Metric) -> str:
    return quantities.with_unit(metric.label, metric.unit)


def _mixed(summaries: Sequence[Mapping[str, Any]]) -> str:
    """``; of the flows 90 are messages of jobs``, as notes end; empty where all or none are."""
    said = messages_among_flows(summaries)
    return f"; {said}" if said else ""


def _warmed(summaries: Sequence[Mapping[str, Any]]) -> str:
    """``; after a warm-up of 20 ms: 312 flows not counted``, as notes end; empty without one."""
    ends = sorted({found.get("warmup_ps", 0) for found in summaries} - {0})
    if not ends:
        return ""
    lengths = " to ".join(quantities.time(end) for end in dict.fromkeys((ends[0], ends[-1])))
    count = sum(found["flows_in_warmup"] for found in summaries if found.get("warmup_ps"))
    if count and all(found["classes"]["all"]["flows"] == 0 for found in summaries):
        # Zeros below want a reason: nothing began late enough to count.
        why = "so nothing counts: a shorter measure.warmup, or more flows or iterations"
        return f"; all {count} flows began in the warm-up of {lengths}, {why}"
    return f"; after a warm-up of {lengths}: {count} flows not counted"


def _number(value: float | None, scale: float) -> str:
    if value is None:
        return MISSING
    return str(value) if isinstance(value, int) else _digits(value * scale, 4)


def _class_table(comparison: ComparisonData, flow_class: FlowClass) -> Table:
    scale, unit = time_unit(comparison, flow_class.name)
    speed, speed_unit = rate_unit(comparison, flow_class.name)
    versus = f"vs {comparison.variants[0]}"
    columns = (
        _Column("flows", _total("flows"), 5),
        _Column(
            "unfinished", _total("unfinished"), 11 if _unfinished(comparison, flow_class) else 7
        ),
        _Column(f"mean FCT ({unit})", _mean("fct_mean", scale), 10),
        _Column(versus, _difference("fct_mean", scale, unit), 9, compares=True),
        _Column(f"p50 ({unit})", _mean("fct_p50", scale), 3),
        _Column(f"p95 ({unit})", _mean("fct_p95", scale), 2),
        _Column(f"p99 FCT ({unit})", _mean("fct_p99", scale), 8),
        _Column(versus, _difference("fct_p99", scale, unit), 6, compares=True),
        _Column("slowdown", _mean("slowdown_mean"), 4),
        _Column(f"goodput ({speed_unit})", _mean("goodput_mean", speed), 1),
        *_traffic(2, 4),
    )
    title = "All flows" if flow_class.name == "all" else f"{flow_class.name} flows"
    # Of all flows: how many of a class are messages is not counted.
    mixed = _mixed(comparison.summaries) if flow_class.name == "all" else ""
    note = f"{flow_class.describe()}{mixed}; {_how(comparison)}"
    return _table(comparison, title[0].upper() + title[1:], note, flow_class.name, columns)


def _traffic(*importance: int) -> list[_Column]:
    """What the network was offered and carried: the same in the tables of all classes."""

    def cell(name: str) -> Callable[[ComparisonData, str, Point, str], str]:
        mean = _mean(name)
        return lambda comparison, variant, point, _group: mean(comparison, variant, point, NETWORK)

    return [
        _Column(_headed(METRICS[name]), cell(name), weight)
        for name, weight in zip(TRAFFIC, importance, strict=True)
    ]


def _unfinished(comparison: ComparisonData, flow_class: FlowClass) -> bool:
    """Whether any flow of a class has not ended: then its means are too low."""
    rows = (row for row in comparison.rows if row.group == flow_class.name)
    return any(any(row.values) for row in rows if row.metric == "unfinished")


def _collective_table(comparison: ComparisonData) -> Table:
    scale, unit = time_unit(comparison, COLLECTIVES, "completion_mean")
    versus = f"vs {comparison.variants[0]}"
    columns = (
        _Column("collectives", _total("collectives"), 4),
        _Column("cut off", _total("cut_off"), 5),
        _Column(f"mean completion ({unit})", _mean("completion_mean", scale), 10),
        _Column(versus, _difference("completion_mean", scale, unit), 9, compares=True),
        _Column(f"p99 completion ({unit})", _mean("completion_p99", scale), 8),
        _Column(versus, _difference("completion_p99", scale, unit), 6, compares=True),
        _Column("algorithm bandwidth (Gb/s)", _mean("algorithm_bandwidth"), 3),
        _Column("bus bandwidth (Gb/s)", _mean("bus_bandwidth"), 7),
        _Column(f"stragglers ({unit})", _mean("spread", scale), 2),
        _Column("idle (%)", _mean("idle_share"), 1),
    )
    return _table(
        comparison, "Collectives", f"of all jobs; {_how(comparison)}", COLLECTIVES, columns
    )


def _recovery_table(comparison: ComparisonData) -> Table:
    scale, unit = time_unit(comparison, RECOVERY, "recovery_mean")
    versus = f"vs {comparison.variants[0]}"
    columns = (
        _Column("faults", _total("faults"), 4),
        _Column("not back", _total("not_back"), 8),
        _Column(f"mean time to recover ({unit})", _mean("recovery_mean", scale), 10),
        _Column(versus, _difference("recovery_mean", scale, unit), 9, compares=True),
        _Column(f"longest ({unit})", _mean("recovery_max", scale), 6),
        _Column("lowest goodput (%)", _mean("lowest"), 5),
        _Column("missing (MB)", _mean("missing"), 7),
    )
    return _table(
        comparison, "Recovery", f"after links became worse; {_how(comparison)}", RECOVERY, columns
    )


def _network_table(comparison: ComparisonData) -> Table:
    columns = (
        *_traffic(4, 14),
        _Column("reordered (%)", _mean("reordered_share"), 12),
        _Column("drops", _mean("drops"), 10),
        _Column("lost", _mean("lost"), 1),
        _Column("marked (%)", _mean("marked_share"), 8),
        _Column("retransmits", _mean("retransmits"), 7),
        _Column("timeouts", _mean("timeouts"), 6),
        _Column("uplink use min (%)", _mean("utilisation_min"), 3),
        _Column("uplink use mean (%)", _mean("utilisation_mean"), 9),
        _Column("uplink use max (%)", _mean("utilisation_max"), 4),
        _Column("queue mean (pkt)", _mean("queue_mean"), 11),
        _Column("queue p99 (pkt)", _mean("queue_p99"), 5),
        _Column("queue max (pkt)", _mean("queue_max"), 2),
        *(_pauses(comparison) if comparison.has_flow_control else ()),
    )
    note = (
        "shares of data packets received; uplinks lead to the next tier of switches, in a star the "
        f"switch's ports; {_how(comparison)}"
    )
    if comparison.has_flow_control:
        note += (
            "; paused: share of the window; time paused: sum over all ports; lossless drops and "
            "storms: of the whole run"
        )
    return _table(comparison, "Network", note, NETWORK, columns)


def _pauses(comparison: ComparisonData) -> tuple[_Column, ...]:
    """What flow control did: of the watchdog's, what matters is whether it has acted."""
    acted = any(summary.get("pause_storms") for summary in comparison.summaries)
    return (
        _Column("time paused (ms)", _mean("paused"), 13),
        _Column("paused, fabric (%)", _mean("paused_fabric"), 7),
        _Column("paused, hosts (%)", _mean("paused_hosts"), 7),
        _Column("pauses", _mean("pauses"), 5),
        _Column("lossless drops", _mean("lossless_drops"), 11),
        _Column("storms", _mean("pause_storms"), 11 if acted else 1),
        _Column("storm drops", _mean("storm_drops"), 11 if acted else 1),
    )


def _how(comparison: ComparisonData) -> str:
    count = len(comparison.seeds)
    warmed = _warmed(comparison.summaries)
    if count == 1:
        return f"one seed, so no intervals{warmed}"
    still = len(comparison.repeated)
    if still == len({(case.variant, case.point) for case in comparison.finished}):
        return f"the seed changes nothing, so all {count} are one run without an interval{warmed}"
    alone = "; without one where the seed changes nothing" if still else ""
    return f"mean over {count} seeds ± 95 % interval{alone}{warmed}"


def _table(
    comparison: ComparisonData, title: str, note: str, group: str, columns: Sequence[_Column]
) -> Table:
    keys = tuple(dict.fromkeys(key for point in comparison.points for key, _ in point))
    several = len(comparison.variants) > 1
    columns = [column for column in columns if several or not column.compares]
    words = [key_label(key) for key in keys] + ["variant"] * several
    heads = (*words, *(column.head for column in columns))
    rows, starts = [], []
    for point in comparison.points:
        values = dict(point)
        for index, variant in enumerate(comparison.variants):
            where = [plain(values[key]) if key in values else MISSING for key in keys]
            cells = [column.cell(comparison, variant, point, group) for column in columns]
            rows.append((*where, *([variant] * several), *cells))
            starts.append(index == 0)
    importance = (*(0 for _ in words), *(column.importance for column in columns))
    texts = len(words)
    return Table(title, note, heads, tuple(rows), tuple(starts), texts, importance=importance)


def time_unit(
    comparison: ComparisonData, group: str, metric: str = "fct_mean"
) -> tuple[float, str]:
    """What a completion time in us is multiplied by, and the unit it then has."""
    means = [
        row.estimate.mean
        for row in comparison.rows
        if row.group == group and row.metric == metric and row.estimate
    ]
    return _unit(means)


GBPS_FROM = 1000.0
"""Rates are in Gb/s where one of them is so many Mb/s."""


def rate_unit(comparison: ComparisonData, group: str) -> tuple[float, str]:
    """What a goodput in Mb/s is multiplied by, and the unit it then has."""
    return _rate_unit(
        row.estimate.mean
        for row in comparison.rows
        if row.group == group and row.metric == "goodput_mean" and row.estimate
    )


def _rate_unit(means: Iterable[float | None]) -> tuple[float, str]:
    largest = max((mean for mean in means if mean is not None), default=0.0)
    return (1e-3, "Gb/s") if largest >= GBPS_FROM else (1.0, "Mb/s")


def _unit(means: Sequence[float | None]) -> tuple[float, str]:
    largest = max((mean for mean in means if mean is not None), default=0.0)
    if largest >= 1e6:
        return 1e-6, "s"
    return (1e-3, "ms") if largest >= 1e3 else (1.0, "µs")


def _row(comparison: ComparisonData, variant: str, point: Point, group: str, metric: str) -> Row:
    return comparison.by_name[variant, point, group, metric]


def _total(metric: str) -> Callable[[ComparisonData, str, Point, str], str]:
    def cell(comparison: ComparisonData, variant: str, point: Point, group: str) -> str:
        values = _row(comparison, variant, point, group, metric).values
        known = [int(value) for value in values if value is not None]
        return f"{sum(known)}" if known else MISSING

    return cell


def _mean(metric: str, scale: float = 1.0) -> Callable[[ComparisonData, str, Point, str], str]:
    def cell(comparison: ComparisonData, variant: str, point: Point, group: str) -> str:
        row = _row(comparison, variant, point, group, metric)
        return _counted(in_words(row.estimate, scale), row.estimate, row)

    return cell


def _difference(
    metric: str, scale: float, unit: str
) -> Callable[[ComparisonData, str, Point, str], str]:
    def cell(comparison: ComparisonData, variant: str, point: Point, group: str) -> str:
        if variant == comparison.variants[0]:
            return ""
        row = _row(comparison, variant, point, group, metric)
        text = difference(row.difference, row.change, unit, scale)
        return _counted(text, row.change, row)

    return cell


def _counted(text: str, value: Estimate | None, row: Row) -> str:
    """With how many of the seeds a number is of, where it is not of all."""
    if value is None or value.n == len(row.seeds) or row.repeats:  # of the last the note tells
        return text
    return f"{text} (n = {value.n} of {len(row.seeds)})"


def in_words(value: Estimate | None, scale: float = 1.0) -> str:
    """``12.34 ± 0.40``: the interval to two digits, the mean to the same place."""
    if value is None:
        return MISSING
    mean = value.mean * scale
    if value.half is None:
        return _digits(mean, 4)
    half = value.half * scale
    if half <= 1e-12 * abs(mean):  # rounding alone
        return f"{_digits(mean, 4)} ± 0"
    # Never past the sixth digit of the mean: below it there is only rounding.
    finest = 5 - math.floor(math.log10(abs(mean))) if mean else 6
    places = max(0, min(1 - math.floor(math.log10(half)), finest))
    return f"{mean:.{places}f} ± {half:.{places}f}"


def percent(value: Estimate | None) -> str:
    """``−31.2 % [−35.0, −27.4]``."""
    if value is None:
        return MISSING
    text = f"{_signed(value.mean)} %"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{_signed(value.low)}, {_signed(value.high)}]"


def difference(share: Estimate | None, change: Estimate | None, unit: str, scale: float = 1) -> str:
    """``−31.2 % [−35.0, −27.4]``, or ``+12 µs [+9, +15]`` where there is no percentage."""
    if share is not None or change is None:
        return percent(share)
    numbers = [change.mean] if change.low is None else [change.mean, change.low, change.high]
    words = [_changed(number * scale) for number in numbers if number is not None]
    text = f"{words[0]} {quantities.shown(unit)}".strip()
    return text if len(words) == 1 else f"{text} [{words[1]}, {words[2]}]"


def _changed(value: float) -> str:
    sign = "−" if value < 0 else "+"
    return sign + _digits(abs(value), 3)


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _digits(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def show(comparison: ComparisonData, console: Console) -> None:
    """Print all tables, as wide as the terminal is."""
    for table in tables(comparison):
        show_table(table, console, f"{comparison.directory / 'tables.md'}, or --json")


def to_markdown(table: Table) -> str:
    """A table in Markdown, with its title and note."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    rules = ["---" if index < table.texts else "---:" for index in range(len(table.heads))]
    lines = [f"## {table.title}", "", table.note[0].upper() + table.note[1:] + ".", ""]
    lines += [line(table.heads), line(rules), *(line(row) for row in table.rows), ""]
    return "\n".join(lines)


def write(comparison: ComparisonData, directory: Path) -> list[Path]:
    """Write ``tables.md`` (as printed) and ``tables.csv`` (every metric, long format)."""
    markdown, csv = directory / "tables.md", directory / "tables.csv"
    notes = "".join(f"> {warning}\n" for warning in comparison.warnings())
    text = "\n".join(to_markdown(table) for table in tables(comparison))
    with files.replacing_file(markdown) as path:
        path.write_text(f"# {comparison.source.stem}\n\n{notes}\n{text}", encoding="utf-8")
    with files.replacing_file(csv) as path:
        results.write_csv(comparison.table(), path)
    return [markdown, csv]


def metric_meanings() -> list[tuple[str, str]]:
    """What each column of the tables means."""
    return [(metric.label, metric.meaning) for metric in METRICS.values()]
