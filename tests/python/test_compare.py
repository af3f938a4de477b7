"""Comparisons: resumed, paired, indifferent to the number of processes."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import leafspine
from conftest import SCENARIO
from leafspine import worker, workers
from leafspine.engine import Case
from leafspine.tasks import Event, Failure, Task
from leafspine.workers import Pool
from test_results import contents


def test_one_and_two_jobs_give_the_same_bytes(many: Path, tmp_path: Path) -> None:
    """Breaks if anything depends on which process ran a case, or on who finished first."""
    one = leafspine.compare(many, jobs=1, out=tmp_path / "one")
    two = leafspine.compare(many, jobs=2, out=tmp_path / "two")
    one.write()
    two.write()
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(list((tmp_path / "one" / "runs").iterdir())) == 12


def test_a_second_comparison_runs_only_what_is_new(many: Path, tmp_path: Path) -> None:
    """Breaks if a finished run is run again, or more seeds start from nothing."""
    out = tmp_path / "out"
    leafspine.compare(many, seeds=1, out=out)
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/[!.]*/summary.json")}
    assert len(before) == 4
    leafspine.compare(many, seeds=2, out=out)
    after = {path: path.stat().st_mtime_ns for path in out.glob("runs/[!.]*/summary.json")}
    assert len(after) == 8
    assert {path: after[path] for path in before} == before


def test_another_comparison_is_refused(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a second comparison replaces the first one's tables, or its runs lie
    beside tables that are not of them, or the refusal does not say what there is and what to do."""
    out = tmp_path / "out"
    leafspine.compare(scenario, lb=["ecmp", "rps"], load=[0.2, 0.4], seeds=2, out=out)
    before = contents(out)
    others: list[tuple[dict[str, Any], str]] = [
        ({"lb": ["ecmp", "letflow"], "load": [0.2, 0.4]}, "rps workload.0.load=0.2 is missing"),
        ({"lb": ["ecmp", "rps"], "load": [0.4]}, "ecmp workload.0.load=0.2 is missing"),
        ({"lb": ["ecmp", "rps"], "load": [0.2, 0.4], "aqm__threshold": "20pkt"},
         "ecmp workload.0.load=0.2 has other settings"),
    ]  # fmt: skip
    for arguments, why in others:
        with pytest.raises(leafspine.InputError) as caught:
            leafspine.compare(scenario, **arguments, seeds=2, out=out)
        assert str(caught.value) == (
            f"{out} holds another comparison (ecmp, rps; workload.0.load 0.2, 0.4; 2 seeds; see "
            f"{out / 'comparison.json'}): {why} in this one; choose another directory with out=, "
            f"or remove it: rm -r {out}"
        )
        assert contents(out) == before


def test_a_comparison_with_all_of_another_extends_it(scenario: Path, tmp_path: Path) -> None:
    """Breaks if more variants, points or seeds, or other seeds, need a new directory, or start from
    nothing."""
    out = tmp_path / "out"

    def made() -> dict[str, int]:
        return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("runs/*/SHA256SUMS")}

    count = 0
    for lb, load, seeds, first in [
        (["rps"], [0.4], 1, 1),
        (["ecmp", "rps"], [0.4], 1, 1),
        (["ecmp", "rps"], [0.2, 0.4], 1, 1),
        (["ecmp", "rps"], [0.2, 0.4], 3, 1),
        (["ecmp", "rps"], [0.2, 0.4], 2, 1),
        (["ecmp", "rps"], [0.2, 0.4], 2, 9),
    ]:
        before = made()
        found = leafspine.compare(scenario, lb=lb, load=load, seeds=seeds, out=out, run__seed=first)
        assert {key: made().get(key) for key in before} == before
        assert len(found.finished) == len(lb) * len(load) * seeds
        count = max(count, len(found.finished))
    assert len(made()) == count + 8


def test_a_directory_of_an_earlier_version_is_judged_by_its_runs(
    scenario: Path, tmp_path: Path
) -> None:
    """Breaks if a manifest without families lets anything in, or keeps the same comparison out."""
    out = tmp_path / "out"
    leafspine.compare(scenario, lb=["ecmp"], out=out)
    path = out / "comparison.json"
    manifest = json.loads(path.read_text())
    for run in manifest["runs"]:
        del run["family"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(leafspine.InputError, match="holds another comparison"):
        leafspine.compare(scenario, lb=["rps"], out=out)
    leafspine.compare(scenario, lb=["ecmp", "rps"], out=out)


def test_tables_are_not_written_over_anothers(scenario: Path, tmp_path: Path) -> None:
    """Breaks if write() with a directory passes by the check that compare() makes."""
    one = leafspine.compare(scenario, lb=["ecmp"], out=tmp_path / "one")
    leafspine.compare(scenario, lb=["rps"], out=tmp_path / "two")
    with pytest.raises(leafspine.InputError, match="two holds another comparison"):
        one.write(tmp_path / "two")


def test_a_killed_worker_loses_no_other_case(many: Path, tmp_path: Path) -> None:
    """Breaks if a worker's death ends the comparison, or its case is not tried again."""
    mark = tmp_path / "exited"
    comparison = leafspine.compare(
        many,
        jobs=2,
        out=tmp_path / "out",
        **{"run.fake_die": str(mark), "run.fake_die_once": True},
    )
    assert mark.exists()
    assert comparison.failures == ()
    assert len(comparison.finished) == 12


def test_a_worker_that_dies_between_two_cases_is_replaced(many: Path, tmp_path: Path) -> None:
    """Breaks if what it has not read any more ends the comparison, and as if it were finished: the
    command line took the broken pipe for that of a reader that has exited."""
    from leafspine import scenario as scenarios

    cases = scenarios.expand(scenarios.read(many))
    killed = []

    def kill(event: Event) -> None:
        if event.kind == "done" and not killed:
            for worker in pool.workers:
                worker.process.kill()
                worker.process.wait()
            killed.append(event.case)

    pool = Pool(1, watcher=kill)
    assert pool.run([Task(case, tmp_path / case.key) for case in cases]) == []
    assert killed
    assert all((tmp_path / case.key / "summary.json").is_file() for case in cases)


@pytest.mark.parametrize(
    ("runs", "jobs", "cores", "wanted"),
    [
        (1, 1, 4, [4]),  # nothing else wants them
        (2, 2, 5, [2, 2]),
        (3, 2, 2, [1, 1]),  # the third's depend on who is done
        (3, 1, 2, [2, 2, 2]),  # there is memory for one at a time
    ],
)
def test_a_run_has_the_cores_that_no_other_wants(
    runs: int,
    jobs: int,
    cores: int,
    wanted: list[int],
    many: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Breaks if one long run has one of many cores, or two runs have more threads than cores."""
    given = []

    def message(case: Case, directory: Path, **how: Any) -> str:
        given.append(how["threads"])
        return worker.to_message(case, directory, **how)

    monkeypatch.setattr(workers, "to_message", message)
    from leafspine import scenario as scenarios

    cases = scenarios.expand(scenarios.read(many))[:runs]
    pool = Pool(jobs, cores)
    assert pool.run([Task(case, tmp_path / case.key) for case in cases]) == []
    assert given[: len(wanted)] == wanted


def test_seeds_beside_a_sweep_over_them_are_refused(scenario: Path) -> None:
    """Breaks if ``seeds`` silently replaces the seeds that ``over`` asks for."""
    said = r"^seeds: found run\.seed beside it; allowed: one of the two$"
    with pytest.raises(leafspine.InputError, match=said):
        leafspine.sweep(scenario, {"run.seed": [7]}, seeds=2)
    assert leafspine.sweep(scenario, {"run.seed": [7]}).seeds[0] == 7


def test_each_run_has_the_threads_that_were_asked_for(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if ``threads`` does not come to the runs, if cores are shared out more often than they
    are there, or if it changes what is written."""
    given, side_by_side = [], []

    def message(case: Case, directory: Path, **how: Any) -> str:
        given.append(how["threads"])
        return worker.to_message(case, directory, **how)

    class Counted(Pool):
        def run(self, tasks: Sequence[Task]) -> list[Failure]:
            side_by_side.append(self.jobs)
            return super().run(tasks)

    monkeypatch.setattr(workers, "to_message", message)
    monkeypatch.setattr("leafspine.places.Pool", Counted)
    runs = len(leafspine.compare(many, jobs=2, out=tmp_path / "one", threads=1).finished)
    assert (side_by_side.pop(), given) == (2, [1] * runs)
    given.clear()
    leafspine.compare(many, jobs=5, out=tmp_path / "two", threads=2)
    assert (side_by_side.pop(), given) == (2, [2] * runs)
    assert runs == 12
    assert contents(tmp_path / "one" / "runs") == contents(tmp_path / "two" / "runs")


@pytest.mark.parametrize(("how", "wanted"), [({}, 9), ({"threads": 2}, 2)])
def test_captures_keep_to_the_cores_that_were_asked_for(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], wanted: int
) -> None:
    """Breaks if the runs that write captures take all cores of the machine in spite of ``jobs``."""
    given = []
    monkeypatch.setattr("leafspine.captures.check", lambda *_: None)
    monkeypatch.setattr(
        "leafspine.captures.results.run_case", lambda *_, **how: given.append(how["threads"])
    )
    monkeypatch.setattr("leafspine.workers.cores", lambda: 1)
    leafspine.compare(many, jobs=9, pcap=["host0"], out=tmp_path / "out", **how)
    assert given
    assert set(given) == {wanted}


def test_a_full_disk_ends_a_comparison_at_once(many: Path, tmp_path: Path) -> None:
    """Breaks if hours are simulated for results that there is no room for."""
    started = []
    from leafspine import scenario as scenarios

    cases = scenarios.expand(scenarios.read(many))
    pool = Pool(1, watcher=lambda event: started.append(event.kind))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))  # workers inherit it
    try:
        with pytest.raises(leafspine.WriteError, match=r"cannot write .*File too large; raise"):
            pool.run([Task(case, tmp_path / "runs" / case.key) for case in cases])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert started.count("started") == 1
    assert pool.workers == []


def test_every_bad_result_is_named(many: Path, tmp_path: Path) -> None:
    """Breaks if a user learns of damaged results one at a time."""
    comparison = leafspine.compare(many, seeds=1, out=tmp_path / "out")
    first, second, *_ = (case.key for case in comparison.cases)
    for key in (first, second):
        (tmp_path / "out" / "runs" / key / "flows.parquet").write_bytes(b"")
    with pytest.raises(leafspine.DamagedError, match=rf"{first}.*1 more are bad: {second}"):
        leafspine.compare(many, seeds=1, out=tmp_path / "out")


def test_without_its_manifest_a_comparison_is_still_one(many: Path, tmp_path: Path) -> None:
    """Breaks if finished runs are refused for want of comparison.json, which is only written."""
    leafspine.compare(many, seeds=1, out=tmp_path / "out").write()
    (tmp_path / "out" / "comparison.json").unlink()
    leafspine.compare(many, seeds=1, out=tmp_path / "out")
    assert (tmp_path / "out" / "comparison.json").is_file()


def test_a_case_that_always_kills_its_worker_fails_alone(tmp_path: Path) -> None:
    """Breaks if it is tried for ever, takes others with it, or says nothing of the reason."""
    variants = """
[[variant]]
name = "good"
set = { "load_balancer.scheme" = "ecmp" }
[[variant]]
name = "deadly"
set = { "run.fake_die" = "MARK" }
"""
    path = tmp_path / "deadly.toml"
    path.write_text(SCENARIO + variants.replace("MARK", str(tmp_path / "mark")))
    comparison = leafspine.compare(path, jobs=1, out=tmp_path / "out")
    assert [case.variant for case in comparison.finished] == ["good"]
    [failure] = comparison.failures
    assert failure.case.variant == "deadly"
    assert "killed by SIGKILL (out of memory?" in failure.message
    assert "2 times" in failure.message
    assert any("no result for deadly" in warning for warning in comparison.warnings())
    comparison.write()
    assert "no result for deadly" in (tmp_path / "out" / "report.html").read_text()


def test_an_engine_error_fails_its_case(scenario: Path, tmp_path: Path) -> None:
    """Breaks if an exception in a worker is lost, or all runs failing is a success."""
    with pytest.raises(leafspine.RunError, match="RuntimeError: the engine broke"):
        leafspine.compare(scenario, out=tmp_path / "out", **{"run.fake_fail": True})


def test_what_only_the_graph_can_tell_is_bad_input(many: Path, tmp_path: Path) -> None:
    """Breaks if a refusal comes back as a failed run without its parts."""
    with pytest.raises(leafspine.ScenarioError, match="no link is called") as caught:
        leafspine.compare(many, out=tmp_path / "out", **{"run.fake_refuse": True})
    assert caught.value.key == "topology.change.0.link"


def test_an_interrupted_comparison_keeps_what_is_finished(many: Path, tmp_path: Path) -> None:
    """Breaks if Ctrl-C loses finished runs, leaves workers, or does not say how to go on."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "leafspine", "compare", str(many), "--out", str(out)]
    slow = [*command, "--jobs", "2", "--set", "run.fake_seconds=0.4"]
    child = subprocess.Popen(
        slow,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that starts the tests in the background has them ignore Ctrl-C, children too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while len(list(out.glob("runs/[!.]*/summary.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    said = child.communicate(timeout=30)[1].splitlines()[-1]
    finished = len(list(out.glob("runs/[!.]*/summary.json")))
    assert child.returncode == 1
    assert 2 <= finished < 12
    assert f"interrupted: {finished} of 12 runs are finished and kept" in said
    assert "the same command goes on" in said
    assert not list(out.glob("runs/.*")), "half results stayed"
    done = subprocess.run(slow, capture_output=True, text=True, check=True)
    assert len(list(out.glob("runs/[!.]*/summary.json"))) == 12
    assert f"[{finished + 1}/12]" in done.stderr


def test_workers_end_with_their_parent(many: Path, tmp_path: Path) -> None:
    """Breaks if a parent that is killed leaves processes that go on computing."""
    out = tmp_path / "out"
    options = ["--out", str(out), "--jobs", "1", "--set", "run.fake_seconds=60"]
    child = subprocess.Popen(
        [sys.executable, "-m", "leafspine", "compare", str(many), *options],
        stderr=subprocess.DEVNULL,
    )
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    deadline = time.monotonic() + 30
    while not children.read_text().split() and time.monotonic() < deadline:
        time.sleep(0.02)
    [worker] = children.read_text().split()
    child.kill()
    child.wait()
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        if "Z" in Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0]:
            break
        time.sleep(0.02)
    else:
        assert not Path(f"/proc/{worker}").exists()


def test_an_idle_worker_ends_when_its_input_does() -> None:
    """Breaks if a worker waits for ever for a parent that has exited."""
    done = subprocess.run(
        [sys.executable, "-m", "leafspine.worker"], stdin=subprocess.DEVNULL, timeout=60
    )
    assert done.returncode == 0


def test_a_directory_with_other_files_is_refused(many: Path, tmp_path: Path) -> None:
    """Breaks if a comparison is written among other files."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "a.tex").write_text("x")
    with pytest.raises(leafspine.InputError, match="thesis is not empty"):
        leafspine.compare(many, out=tmp_path / "thesis")
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["a.tex"]


def test_results_of_another_build_are_pointed_out(many: Path, tmp_path: Path) -> None:
    """Breaks if old results pass for those of a scheme that was changed and rebuilt."""
    comparison = leafspine.compare(many, seeds=1, out=tmp_path / "out")
    assert not any("another build" in warning for warning in comparison.warnings())
    timing = comparison.directory / "runs" / comparison.cases[0].key / "timing.json"
    timing.write_text(json.dumps({"build": "0123456789abcdef", "checked": True}))
    again = leafspine.compare(many, seeds=1, out=tmp_path / "out")
    [warning] = [text for text in again.warnings() if "another build" in text]
    assert warning.startswith("1 of 4 runs")


def test_a_changed_result_is_not_taken_for_another(many: Path, tmp_path: Path) -> None:
    """Breaks if a run's directory is believed by its name alone."""
    comparison = leafspine.compare(many, seeds=1, out=tmp_path / "out")
    case = comparison.cases[0]
    (tmp_path / "out" / "runs" / case.key / "scenario.toml").write_text("other = true\n")
    with pytest.raises(leafspine.DamagedError, match=r"scenario\.toml is truncated, changed"):
        leafspine.compare(many, seeds=1, out=tmp_path / "out")


def test_differences_are_to_the_first_variant_and_paired(many: Path) -> None:
    """Breaks if pairing or the choice of the base is lost: the fake's ratio is 1.2 to 1.6."""
    comparison = leafspine.compare(many)
    for load in (0.2, 0.8):
        point = (("workload.0.load", load),)
        row = comparison.by_name["LetFlow", point, "all", "fct_mean"]
        assert row.difference is not None
        assert row.difference.mean == pytest.approx(-25, abs=0.1)
        assert row.difference.half == pytest.approx(0, abs=0.1)
        assert row.estimate is not None
        assert row.estimate.half is not None
        assert row.estimate.half > 0
        assert comparison.by_name["ECMP", point, "all", "fct_mean"].difference is None


def test_a_difference_to_zero_is_in_the_table(many: Path) -> None:
    """Breaks if a metric that is zero for the first variant has a percentage, or no difference
    at all: Presto reorders 2 % of packets times the load, ECMP none."""
    comparison = leafspine.compare(many, lb=["ecmp", "presto"], load=[0.5], seeds=2)
    [row] = [
        row
        for row in comparison.table().to_pylist()
        if (row["variant"], row["metric"]) == ("presto", "reordered_share")
    ]
    assert (row["difference_percent"], row["unit"], row["pairs"]) == (None, "%", 2)
    assert row["change"] == row["change_low"] == row["change_high"] == pytest.approx(1)


def test_the_table_has_a_row_for_everything(many: Path) -> None:
    """Breaks if a class, a metric or a variant is dropped from the Arrow table."""
    comparison = leafspine.compare(many)
    table = comparison.table()
    rows = 2 * 2 * (3 * 9 + 14)  # variants, loads, (classes x flow metrics + network metrics)
    assert table.num_rows == rows
    assert table["workload.0.load"].to_pylist().count(0.2) == rows // 2
    assert set(table["group"].to_pylist()) == {"all", "short", "long", "network"}


def test_a_sweep_over_any_key(scenario: Path) -> None:
    """Breaks if sweep() knows loads only."""
    comparison = leafspine.sweep(scenario, {"aqm.threshold": ["20pkt", "65pkt"]}, seeds=2)
    assert len(comparison.finished) == 4
    points = [dict(point) for point in comparison.points]
    assert points == [{"aqm.threshold": "20pkt"}, {"aqm.threshold": "65pkt"}]


def test_warnings_tell_of_unfinished_flows_and_few_seeds(many: Path) -> None:
    """Breaks if a mean over a part of the flows looks like one over all."""
    comparison = leafspine.compare(many, seeds=1, **{"run.fake_unfinished": 2})
    said = "\n".join(comparison.warnings())
    assert "ECMP workload.0.load=0.2: 2 of 200 flows unfinished" in said
    assert "one seed: no confidence intervals" in said


def test_variants_that_are_the_same_are_told(many: Path) -> None:
    """Breaks if one scheme's numbers stand under two names without a word: because a setting is
    alike for all, or because every packet is."""
    comparison = leafspine.compare(many, seeds=1, **{"load_balancer.scheme": "letflow"})
    said = "\n".join(comparison.warnings())
    names = " and ".join(comparison.variants)
    assert len(comparison.variants) > 1
    assert f"{names} are one and the same scenario" in said
    assert "very same packets" not in said
    comparison = leafspine.compare(many, seeds=1)
    assert "same" not in "\n".join(comparison.warnings())
    hashes = [dict(summary, trace_hash="0a") for summary in comparison.summaries]
    comparison.__dict__["summaries"] = hashes
    assert f"{names} send the very same packets" in "\n".join(comparison.warnings())


def test_a_run_without_packets_is_told(many: Path) -> None:
    """Breaks if a comparison in which nothing happened looks like one in which all went well."""
    comparison = leafspine.compare(many, seeds=1)
    empty = [dict(summary, packet_hops=0) for summary in comparison.summaries]
    comparison.__dict__["summaries"] = empty
    assert "no packet was sent" in "\n".join(comparison.warnings())


def test_workers_die_when_the_caller_fails(many: Path, tmp_path: Path) -> None:
    """Breaks if an error in the caller's own code leaves processes behind."""
    from leafspine import scenario as scenarios

    cases = scenarios.expand(scenarios.read(many))

    def broken(_event: object) -> None:
        raise RuntimeError("watcher")

    pool = Pool(2, watcher=broken)
    with pytest.raises(RuntimeError, match="watcher"):
        pool.run([Task(case, tmp_path / case.key) for case in cases])
    assert pool.workers == []


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_are_at_least_one(many: Path, tmp_path: Path, jobs: int) -> None:
    """Breaks if no worker is started and the call never ends."""
    with pytest.raises(leafspine.InputError, match="at least 1"):
        leafspine.compare(many, jobs=jobs, out=tmp_path / "out")
