"""The warm-up and the engine's remarks, from runs to tables and plots; on the fake engine."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

import leafspine
from leafspine import plots, remarks, results, style, tables
from leafspine.engine import Case
from leafspine.errors import InputError
from leafspine.reproduce import metrics, plan, series  # noqa: F401  (plan has all register)
from leafspine.results import Result
from leafspine.scenario import read, single

WARMUP = 3_000_000_000
"""Picoseconds: of the fake's 200 flows about sixty start before."""


def warm(scenario: Path, out: Path | None = None) -> Result:
    return leafspine.run(scenario, out=out, **{"run.fake_warmup": WARMUP})


def test_a_result_has_all_flows_and_those_that_count(scenario: Path, tmp_path: Path) -> None:
    """Breaks if flows of the warm-up are not in the file, or counted in a class of the summary."""
    result = warm(scenario, tmp_path / "out")
    early = result.summary["flows_in_warmup"]
    assert 20 < early < 180
    assert (result.flows.num_rows, result.measured_flows.num_rows) == (200, 200 - early)
    assert min(result.measured_flows["start_ps"].to_pylist()) >= WARMUP
    assert result.summary["classes"]["all"]["flows"] == 200 - early
    read_again = Result.load(tmp_path / "out")
    assert read_again.measured_flows.equals(result.measured_flows)
    cold = leafspine.run(scenario)
    assert cold.measured_flows.equals(cold.flows)


def test_tables_tell_of_the_warmup_and_the_traffic(scenario: Path) -> None:
    """Breaks if a table hides that flows do not count, or what was offered and carried."""
    result = warm(scenario)
    early = result.summary["flows_in_warmup"]
    flows, network = tables.of_result(result)
    assert flows.note.endswith(f"; after a warm-up of 3 ms: {early} flows not counted")
    carried = result.summary["network"]["carried"]
    assert f"carried {carried:.4g} Gb/s" in flows.note
    assert [row[0] for row in network.rows[:2]] == ["offered", "carried"]
    assert network.note.endswith("the rest after the warm-up")
    flows, network = tables.of_result(leafspine.run(scenario))
    assert "warm-up" not in flows.note + network.note


def test_a_warmup_that_leaves_nothing_is_named(scenario: Path) -> None:
    """Breaks if a run that is over before the warm-up is has zeros without a reason."""
    result = leafspine.run(scenario, **{"run.fake_warmup": 10**18})
    assert result.summary["flows_in_warmup"] == 200
    flows, _ = tables.of_result(result)
    assert "; all 200 flows began in the warm-up of " in flows.note
    assert flows.note.endswith("a shorter measure.warmup, or more flows or iterations")


def test_every_table_of_a_comparison_has_the_traffic(many: Path) -> None:
    """Breaks if a class's table lacks what the whole network was offered and carried, or shows it
    of another run; or if the note forgets flows of some run."""
    comparison = leafspine.compare(many, **{"run.fake_warmup": WARMUP})
    early = sum(said["flows_in_warmup"] for said in comparison.summaries)
    *classes, network = tables.tables(comparison)
    shown = None
    for table in [network, *classes]:
        assert f"after a warm-up of 3 ms: {early} flows not counted" in table.note
        columns = [table.heads.index(f"{name} (Gb/s)") for name in ("offered", "carried")]
        found = [tuple(row[at] for at in columns) for row in table.rows]
        shown = shown or found
        assert found == shown and tables.MISSING not in found[0]
    swept = leafspine.sweep(many, {"run.fake_warmup": [0, 10**9, WARMUP]}, seeds=1)
    assert "after a warm-up of 1 ms to 3 ms:" in tables.tables(swept)[0].note


def test_results_of_before_are_shown_without_traffic(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a result whose summary lacks the new numbers cannot be shown, or has zeros."""
    result = leafspine.run(scenario)
    for name in ("offered", "carried"):
        del result.summary["network"][name]
    for name in ("warmup_ps", "flows_in_warmup", "bytes_delivered_in_window"):
        del result.summary[name]
    results.write(result, tmp_path / "old")
    old = Result.load(tmp_path / "old")
    flows, network = tables.of_result(old)
    assert "offered – Gb/s, carried – Gb/s" in flows.note
    assert [row[3] for row in network.rows[:2]] == [tables.MISSING] * 2
    assert old.measured_flows.num_rows == 200
    comparison = leafspine.compare(scenario, out=tmp_path / "out")
    (run,) = (tmp_path / "out" / "runs").iterdir()
    shutil.rmtree(run)
    results.write(result, run)
    comparison = leafspine.compare(scenario, out=tmp_path / "out")
    assert comparison.by_name["", (), "network", "carried"].estimate is None
    assert tables.tables(comparison)[0].rows[0][-1] == tables.MISSING


def test_distributions_are_of_the_flows_that_count(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a CDF pools flows of the warm-up."""
    comparison = leafspine.compare(scenario, **{"run.fake_warmup": WARMUP})
    result = comparison.result(comparison.finished[0])
    [sample] = plots.samples(comparison, {"": style.of_scheme("ecmp")}, ())
    sizes, fct = sample.pooled(0), sample.pooled(1)
    assert len(sizes) == len(fct) == result.measured_flows.num_rows < 200


def own(run: metrics.Run, name: str) -> float | None:
    """A reproduction's metric; none of those that read a probe, or are of one scheme."""
    try:
        return metrics.value(run, f"own.{name}")
    except (KeyError, InputError):
        return None


def test_own_metrics_are_of_the_flows_that_count(scenario: Path) -> None:
    """Breaks if a reproduction's metric or curve reads flows of the warm-up: each is what it is of
    a run that has the other flows alone."""
    result = warm(scenario)
    # The early flows stand out in every column.
    early = result.flows["start_ps"].to_numpy() < WARMUP
    changed = result.flows
    for name in ("bytes", "fct_ps", "retransmits", "reordered", "dup_acks", "path_changes"):
        column = np.where(early, 10**9, changed[name].to_numpy()).astype(np.uint64)
        changed = changed.set_column(changed.column_names.index(name), name, [column])
    column = np.where(early, 1e9, changed["mean_window"].to_numpy())
    changed = changed.set_column(changed.column_names.index("mean_window"), "mean_window", [column])
    case = single(read(scenario))
    odd = run_of(case, result, changed)
    alone = run_of(case, result, result.flows.filter(~early))
    for name in metrics.OWN:
        assert own(odd, name) == own(alone, name), name
    whole = run_of(case, replace(result, summary={**result.summary, "warmup_ps": 0}), changed)
    differ = [name for name in metrics.OWN if own(whole, name) != own(odd, name)]
    assert len(differ) > 12, differ
    for name in ("fct", "fct:long", "flow:bytes", "flow_share:reordered", "dup_acks"):
        ours, others = series.of(odd, name), series.of(alone, name)
        assert [list(axis) for axis in ours] == [list(axis) for axis in others], name


def run_of(case: Case, result: Result, flows: object) -> metrics.Run:
    """The run with other flows."""
    made = Result(result.scenario, result.summary, flows, result.ports, {})
    return metrics.Run(case, made, {})


def test_warnings_that_differ_in_numbers_are_one() -> None:
    """Breaks if every run of many prints a line, one loses its numbers or its run, or two kinds
    become one."""
    short = "flows start over {} ms, but 1 % take {} us"
    said = [
        ("a", [short.format(3.2, 1200)]),
        ("b", []),
        ("c", [short.format("1,000", 5), "flex is reconstructed"]),
        ("d", ["flex is reconstructed", "no flow ended"]),
    ]
    assert remarks.grouped(said) == [
        "2 of 4 runs, such as a: flows start over 3.2 ms, but 1 % take 1200 us",
        "flex is reconstructed (2 runs)",
        "no flow ended (1 run)",
    ]
    assert remarks.grouped([("a", [short.format(1, 2)])]) == [short.format(1, 2)]
    units = [("a", ["took 3 ms"]), ("b", ["took 3.5 us"]), ("c", [])]
    assert remarks.grouped(units) == ["2 of 3 runs, such as a: took 3 ms"]
    counts = [("a", ["1 path change in 3 flows"]), ("b", ["2 path changes in 1 flow"])]
    assert remarks.grouped(counts) == ["2 of 2 runs, such as a: 1 path change in 3 flows"]
    assert remarks.grouped([]) == []


def test_a_comparison_says_it_once(many: Path, tmp_path: Path) -> None:
    """Breaks if the report or the tables have a line a run, or none."""
    comparison = leafspine.compare(many, out=tmp_path / "out", **{"run.fake_short": True})
    line = "12 of 12 runs, such as ECMP workload.0.load=0.2 seed=1: flows start over 1.5 ms"
    assert comparison.warnings().count(line) == 1
    comparison.write()
    for name in ("report.html", "tables.md"):
        assert (tmp_path / "out" / name).read_text().count("flows start over") == 1
