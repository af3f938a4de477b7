"""Files of a run: complete or absent, the same bytes each time, never overwritten."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import leafspine
from leafspine import files, results
from leafspine.measures import FLOW_METRICS, NETWORK_METRICS, measure
from leafspine.scenario import read, single

NAMES = {
    "scenario.toml", "summary.json", "timing.json", "flows.parquet", "ports.parquet",
    "queue-0.parquet", "SHA256SUMS",
}  # fmt: skip


def contents(directory: Path) -> dict[str, bytes]:
    """Bytes of all files but the wall time's."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "timing.json"
    }


def test_a_run_leaves_the_files_of_the_contract(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a file is missing, or something temporary stays."""
    result = leafspine.run(scenario, out=tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == NAMES
    assert {path.name for path in tmp_path.iterdir()} == {"out", scenario.name}
    flows = pa_parquet.read_table(tmp_path / "out" / "flows.parquet")
    assert flows.equals(result.flows)
    assert {"flow", "src", "dst", "bytes", "start_ps", "fct_ps"} <= set(flows.column_names)
    assert result.scenario.startswith("# leafspine 0.0.1, seed 1")


def test_the_same_run_has_the_same_bytes(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a time of day or of the wall gets into a compared file."""
    leafspine.run(scenario, out=tmp_path / "a")
    leafspine.run(scenario, out=tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert "wall_seconds" not in (tmp_path / "a" / "summary.json").read_text()
    assert json.loads((tmp_path / "a" / "timing.json").read_text())["wall_seconds"] > 0


def test_a_finished_run_is_read_and_not_run(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a result is made twice: its files would be newer."""
    first = leafspine.run(scenario, out=tmp_path / "out")
    before = (tmp_path / "out" / "timing.json").read_bytes()
    again = leafspine.run(scenario, out=tmp_path / "out")
    assert (tmp_path / "out" / "timing.json").read_bytes() == before
    assert again.summary == first.summary
    assert again.flows.equals(first.flows)


def test_a_summary_has_what_was_measured(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the metrics read off a summary alone are not those of the tables."""
    result = leafspine.run(scenario, out=tmp_path / "out", **{"workload.0.flows": 1})
    case = single(read(scenario), [("workload.0.flows", "1")])
    again = measure(result.flows, result.ports, result.summary, case.classes)
    assert ("long", "fct_p99") in again and ("network", "queue_max") in again
    assert None in again.values()  # a class without flows
    assert results.measured(results.summary(tmp_path / "out")) == again


def test_classes_and_metrics_keep_the_scenarios_order(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the second call, which reads the finished result, shows its rows in another order
    than the first: alphabetical, say."""
    first = leafspine.run(scenario, out=tmp_path / "out").summary
    again = leafspine.run(scenario, out=tmp_path / "out").summary
    assert list(first["classes"]) == list(again["classes"]) == ["all", "short", "long"]
    names = [metric.name for metric in FLOW_METRICS]
    assert all(list(found) == names for found in again["classes"].values())
    assert list(again["network"]) == [metric.name for metric in NETWORK_METRICS]
    assert list(first) == list(again)


def test_unfinished_flows_are_null(scenario: Path) -> None:
    """Breaks if the engine's marker reaches the user."""
    result = leafspine.run(scenario, **{"run.fake_unfinished": 3})
    assert result.flows["fct_ps"].null_count == 3
    assert result.summary["classes"]["all"]["unfinished"] == 3


@pytest.mark.parametrize("change", [{"run.seed": 2}, {"load_balancer__scheme": "rps"}])
def test_another_scenarios_directory_is_refused(
    scenario: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    """Breaks if a result is overwritten, or taken for that of another seed or scheme."""
    leafspine.run(scenario, out=tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(leafspine.InputError, match="out holds the result of another scenario"):
        leafspine.run(scenario, out=tmp_path / "out", **change)
    assert contents(tmp_path / "out") == before


def test_a_directory_with_other_files_is_refused(scenario: Path, tmp_path: Path) -> None:
    """Breaks if files that are not leafspine's are mixed with results."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("x")
    with pytest.raises(leafspine.InputError, match="thesis is not empty"):
        leafspine.run(scenario, out=tmp_path / "thesis")
    (tmp_path / "note").write_text("x")
    with pytest.raises(leafspine.InputError, match="note is a file"):
        leafspine.run(scenario, out=tmp_path / "note")


def test_an_empty_directory_is_used(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the renaming cannot replace a directory that the user made."""
    (tmp_path / "out").mkdir()
    leafspine.run(scenario, out=tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == NAMES


def test_a_write_that_fails_leaves_nothing(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if files are made in place, where a full disk would leave half a result."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "write_parquet", full)
    with pytest.raises(leafspine.RunError, match="out: No space"):
        leafspine.run(scenario, out=tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {scenario.name}


HALF_WRITTEN = """
import os, signal, sys
from pathlib import Path
from leafspine import files
with files.replacing(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_swept(scenario: Path, tmp_path: Path) -> None:
    """Breaks if half results pile up, or if those of a living process, on this machine or another,
    or a user's own hidden files are taken for such."""
    subprocess.run([sys.executable, "-c", HALF_WRITTEN, str(tmp_path / "out")], check=False)
    left = [path for path in tmp_path.iterdir() if path.name.startswith(".leafspine-")]
    assert len(left) == 2  # a directory and its lock
    mine = tmp_path / ".notes.tmp-99999999"
    mine.mkdir()
    with files.replacing(tmp_path / "other") as used:
        leafspine.run(scenario, out=tmp_path / "out")
        assert used.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"out", "other", mine.name, scenario.name}


def test_a_result_is_what_was_written(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the sums are not those of sha256sum, or a file is without one."""
    leafspine.run(scenario, out=tmp_path / "out", csv=True)
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    said = subprocess.run(check, cwd=tmp_path / "out", capture_output=True, text=True, check=True)
    named = {line.partition(":")[0] for line in said.stdout.splitlines()}
    assert named == NAMES - {"SHA256SUMS", "timing.json"}


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("size", [0, 30])
def test_a_truncated_file_is_named_and_not_read(
    scenario: Path, tmp_path: Path, name: str, size: int
) -> None:
    """Breaks if a file that a crash or a copy cut off is read, or fails in a parser's words."""
    leafspine.run(scenario, out=tmp_path / "out")
    os.truncate(tmp_path / "out" / name, size)
    for reading in (lambda: leafspine.run(scenario, out=tmp_path / "out"), lambda: load(tmp_path)):
        with pytest.raises(leafspine.DamagedError) as caught:
            reading()
        assert f"out/{name} is " in str(caught.value)
        assert f"rm -r {tmp_path / 'out'}" in str(caught.value)


def load(directory: Path) -> object:
    return leafspine.Result.load(directory / "out")


def test_sums_that_leave_out_a_file_are_no_proof(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a result is believed whose list of files was cut off between two of them."""
    leafspine.run(scenario, out=tmp_path / "out")
    sums = tmp_path / "out" / "SHA256SUMS"
    sums.write_text("".join(sums.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(leafspine.DamagedError, match=r"SHA256SUMS does not name summary\.json"):
        load(tmp_path)


def test_a_foreign_table_is_no_probe(scenario: Path, tmp_path: Path) -> None:
    """Breaks if any Parquet file that is put there becomes a part of the result."""
    leafspine.run(scenario, out=tmp_path / "out")
    foreign = tmp_path / "out" / "mine.parquet"
    foreign.write_bytes((tmp_path / "out" / "flows.parquet").read_bytes())
    assert set(leafspine.Result.load(tmp_path / "out").probes) == {"queue-0"}
    assert files.unknown(tmp_path / "out") == [foreign]


def test_a_place_that_cannot_be_written_is_said_before_the_run(
    scenario: Path, tmp_path: Path
) -> None:
    """Breaks if hours of simulation come before the news that there is nowhere to put them."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(leafspine.InputError, match=r"Not a directory: choose another"):
        leafspine.run(scenario, out=tmp_path / "file" / "out", **{"run.fake_fail": True})


@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_link_is_no_result(scenario: Path, tmp_path: Path, target: str) -> None:
    """Breaks if a result goes where a link leads, or the renaming fails over it in other words."""
    leafspine.run(scenario, out=tmp_path / "there")
    (tmp_path / "out").symlink_to(target)
    with pytest.raises(leafspine.InputError, match="out is a symbolic link"):
        leafspine.run(scenario, out=tmp_path / "out")


def test_csv_has_the_same_rows_also_afterwards(scenario: Path, tmp_path: Path) -> None:
    """Breaks if --csv on a finished result does nothing."""
    result = leafspine.run(scenario, out=tmp_path / "out", **{"run.fake_unfinished": 1})
    assert not (tmp_path / "out" / "flows.csv").exists()
    leafspine.run(scenario, out=tmp_path / "out", csv=True, **{"run.fake_unfinished": 1})
    table = pa_csv.read_csv(tmp_path / "out" / "flows.csv")
    assert table["bytes"].to_pylist() == result.flows["bytes"].to_pylist()
    assert table["fct_ps"].null_count == 1
    assert (tmp_path / "out" / "queue-0.csv").exists()


def test_load_names_what_is_no_result(tmp_path: Path) -> None:
    """Breaks if a missing result is a traceback about some file."""
    with pytest.raises(leafspine.InputError, match="holds no finished result"):
        leafspine.Result.load(tmp_path)
