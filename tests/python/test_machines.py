"""Comparisons over more than one machine: the same bytes as on one, whatever is lost on the way."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import leafspine
from haste import at_once
from leafspine import dask_cluster, packing, shards
from leafspine.commands.compare import without_place
from test_engine import ROOT
from test_results import contents

Cli = Callable[..., tuple[int, str, str]]


class Cluster:
    """A dask scheduler and its workers, processes of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        # As the nodes of a cluster: no dashboard, nothing of the caller's directory.
        self.processes = [
            self.start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        ]

    def start(self, what: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *words],
                stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **environment},
            )  # fmt: skip

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """One more worker, without a nanny: it stays killed."""
        words = (f"tcp://{self.address}", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.processes.append(self.start("worker", *words, **environment))
        return self.processes[-1]

    def wait_for(self, workers: int) -> None:
        """Until so many workers have work given to them."""
        log = self.folder / "worker.log"
        deadline = time.monotonic() + 60
        while log.read_text().count("Starting established connection") < workers:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    pytest.importorskip("distributed")
    (tmp_path / "cluster").mkdir()
    made = Cluster(tmp_path / "cluster")
    yield made
    made.stop()


def made(out: Path) -> int:
    """How many results there are."""
    return len(list(out.glob("runs/[!.]*/summary.json")))


def command(*words: Any) -> list[str]:
    return [sys.executable, "-m", "leafspine", *map(str, words)]


def test_a_cluster_gives_the_bytes_of_one_machine_though_a_worker_is_killed(
    cluster: Cluster, many: Path, tmp_path: Path
) -> None:
    """Breaks if a result depends on the machine or on the way back from it, or if the runs of a
    worker that is lost are not done elsewhere, or nobody is told."""
    workers = [cluster.worker() for _ in range(4)]
    cluster.wait_for(workers=4)
    slow = ["--set", "run.fake_seconds=0.6", "--no-plots"]
    (tmp_path / "here").mkdir()
    words = ("compare", many, "--out", "out", *slow)
    out = cluster.folder / "out"
    child = subprocess.Popen(
        command(*words, "--on", f"dask://{cluster.address}"),
        cwd=cluster.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while made(out) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    workers[0].kill()
    said = child.communicate(timeout=60)
    assert child.returncode == 0, said[1]
    assert made(out) == 12
    assert "[12/12]" in said[1]
    assert "was lost: trying once more" in said[1]
    here = tmp_path / "here"
    subprocess.run(command(*words), cwd=here, capture_output=True, check=True)
    assert contents(out) == contents(here / "out")


@pytest.fixture
def the_engine(monkeypatch: pytest.MonkeyPatch, children_use_the_fake: None) -> None:
    """Processes that a test starts have the real engine."""
    monkeypatch.delenv("PYTHONPATH")


def test_the_engine_gives_a_cluster_the_bytes_of_one_machine(
    the_engine: None, cluster: Cluster, tmp_path: Path
) -> None:
    """Breaks if only the fake engine's runs survive a worker's death, or can be left at once and
    gone on with."""
    workers = [cluster.worker() for _ in range(4)]
    cluster.wait_for(workers=4)
    words = ("compare", ROOT / "examples/quickstart.toml", "--lb", "ecmp,rps", "--seeds", 4)
    words = (*words, "--set", "workload.0.duration=120ms", "--no-plots", "--out", "out")
    out = cluster.folder / "out"

    def start(enough: int) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            command(*words, "--on", f"dask://{cluster.address}"),
            cwd=cluster.folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while made(out) < enough and time.monotonic() < deadline:
            time.sleep(0.02)
        workers.pop().kill()
        return child

    child = start(enough=2)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    said = child.communicate(timeout=60)[1]
    took = time.monotonic() - began
    assert child.returncode == 1, said
    assert took < at_once(), f"{took} s"
    assert "of 8 runs are finished and kept" in said
    child = start(enough=5)
    said = child.communicate(timeout=60)[1]
    assert (child.returncode, made(out)) == (0, 8), said
    here = tmp_path / "here"
    here.mkdir()
    subprocess.run(command(*words), cwd=here, capture_output=True, check=True)
    assert contents(out) == contents(here / "out")


def test_a_result_that_is_lost_with_its_worker_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Breaks if a run that had ended on a worker, which was lost before the result was fetched, is
    taken for one that failed: another worker makes it again."""

    class Future:
        key = "run"
        status = "lost"
        callbacks: ClassVar[list[Any]] = []

        def add_done_callback(self, called: Any) -> None:
            self.callbacks.append(called)

        def result(self, timeout: float) -> Any:
            return {"kind": "done"}, b"packed"

        def release(self) -> None:
            pass

    taken: list[bytes] = []
    place = dask_cluster.DaskCluster("127.0.0.1:1")
    monkeypatch.setattr(place, "_take", lambda _task, packed: taken.append(packed))
    future: Any = Future()
    task: Any = object()
    place.tasks, place.futures = {"run": task}, {"run": future}
    place._receive("end", future)
    assert (place.failures, list(place.tasks), len(future.callbacks)) == ([], ["run"], 1)
    future.status = "finished"
    future.callbacks[0](future)
    place._receive(*place.news.get(timeout=1))
    assert (place.failures, place.tasks, taken) == ([], {}, [b"packed"])


def test_a_cluster_is_left_within_a_second_and_gone_on_with(
    cluster: Cluster, many: Path, tmp_path: Path
) -> None:
    """Breaks if Ctrl-C waits for runs of other machines, leaves them working there, loses finished
    ones, or the same command starts from nothing."""
    cluster.worker()
    out = tmp_path / "out"
    words = ("compare", many, "--out", out, "--on", f"dask://{cluster.address}", "--no-plots")
    child = subprocess.Popen(
        command(*words, "--set", "run.fake_seconds=0.3"),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while made(out) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=30)[1].splitlines()[-1]
    took = time.monotonic() - began
    finished = made(out)
    assert child.returncode == 1
    assert f"interrupted: {finished} of 12 runs are finished and kept" in said
    assert 2 <= finished < 12
    assert took < at_once(), f"{took} s"
    done = subprocess.run(
        command(*words, "--set", "run.fake_seconds=0.3"), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"[{finished + 1}/12]" in done.stderr


def test_results_may_go_by_a_store(cluster: Cluster, many: Path, tmp_path: Path) -> None:
    """Breaks if the way by a store changes a byte, or what lies there is computed once more."""
    worker = cluster.worker()
    store = f"file://{tmp_path / 'store'}"
    on = f"dask://{cluster.address}"
    leafspine.compare(many, out=tmp_path / "one", on=on, store=store)
    assert len(list((tmp_path / "store").iterdir())) == 12
    worker.kill()
    leafspine.compare(many, out=tmp_path / "two", on=on, store=store)
    leafspine.compare(many, out=tmp_path / "here")
    assert contents(tmp_path / "one") == contents(tmp_path / "here") == contents(tmp_path / "two")


def test_what_is_damaged_on_the_way_is_no_result(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a result of which a byte was changed between two machines is kept, or a whole one
    comes out differently."""
    made_here = tmp_path / "made"
    leafspine.run(scenario, out=made_here)
    packed = packing.pack(made_here)
    packing.unpack(packed, tmp_path / "whole")
    assert contents(tmp_path / "whole") == contents(made_here)
    at = packed.index(b"PAR1")
    with pytest.raises(leafspine.WriteError, match="damaged"):
        packing.unpack(packed[:at] + b"X" + packed[at + 1 :], tmp_path / "damaged")
    summary = packed.replace(b'"seed": 1', b'"seed": 2')
    with pytest.raises(leafspine.WriteError, match="damaged"):
        packing.unpack(summary, tmp_path / "damaged")
    assert not (tmp_path / "damaged").exists()


def test_a_worker_with_another_engine_is_refused(
    cluster: Cluster, many: Path, tmp_path: Path
) -> None:
    """Breaks if a cluster of another version or build gives its own results for this one's."""
    other = tmp_path / "other"
    shutil.copytree(Path(__file__).parent / "fake_site", other / "fake_site")
    shutil.copy(Path(__file__).parent / "fake_engine.py", other)
    shutil.copy(Path(__file__).parent / "fake_plots.py", other)
    with (other / "fake_engine.py").open("a") as stream:
        stream.write("# another build\n")
    cluster.worker(PYTHONPATH=str(other / "fake_site"))
    with pytest.raises(leafspine.InputError, match="install the same wheel on both") as caught:
        leafspine.compare(many, out=tmp_path / "out", on=f"dask://{cluster.address}")
    assert "has leafspine 0.0.1, build " in str(caught.value)


def test_bad_input_comes_back_from_a_cluster(cluster: Cluster, many: Path, tmp_path: Path) -> None:
    """Breaks if what a worker refuses or fails at is said otherwise than here."""
    cluster.worker()
    on = f"dask://{cluster.address}"
    with pytest.raises(leafspine.ScenarioError, match="no link is called"):
        leafspine.compare(many, out=tmp_path / "out", on=on, **{"run.fake_refuse": True})
    with pytest.raises(leafspine.EngineError, match="no run finished"):
        leafspine.compare(many, out=tmp_path / "other", on=on, **{"run.fake_fault": True})


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Slurm's commands, with processes of this machine; ``make slurm-test`` has a real one."""
    fake = Path(__file__).parent / "fake_slurm" / "slurm.py"
    for folder in (tmp_path / "bin", tmp_path / "jobs"):
        folder.mkdir()
    for name in ("sbatch", "squeue", "scancel"):
        script = tmp_path / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {fake} {name} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_SLURM", str(tmp_path / "jobs"))
    monkeypatch.setattr("leafspine.slurm.GRACE_SECONDS", 0.5)
    monkeypatch.setattr("leafspine.slurm.ASK_SECONDS", 0.2)
    return tmp_path / "jobs"


def test_slurm_gives_the_same_bytes_though_an_element_is_lost(
    slurm: Path, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if a run whose element never started is not submitted once more, or if the job's
    folder stays."""
    monkeypatch.setenv("FAKE_SLURM_LOSES", "1")
    found = leafspine.compare(many, out=tmp_path / "out", on="slurm", seeds=2)
    assert found.failures == ()
    assert sorted(path.name for path in slurm.iterdir() if path.name.endswith("_0")) == [
        "0_0",
        "1_0",
    ]
    assert not (tmp_path / "out.slurm").exists()
    monkeypatch.setattr("leafspine.slurm.ELEMENTS", 3)
    leafspine.compare(many, out=tmp_path / "few", on="slurm", seeds=2)
    leafspine.compare(many, out=tmp_path / "here", seeds=2)
    assert contents(tmp_path / "out") == contents(tmp_path / "here") == contents(tmp_path / "few")


def test_a_job_whose_caller_was_killed_is_taken_over(
    slurm: Path, many: Path, tmp_path: Path
) -> None:
    """Breaks if what a job finished after its caller had died is computed once more, or the job
    goes on beside the new one."""
    out = tmp_path / "out"
    words = command("compare", many, "--out", out, "--on", "slurm", "--seeds", 1, "--no-plots")
    slow = [*words, "--set", "run.fake_seconds=1.5"]
    child = subprocess.Popen(slow, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(slurm.glob("*_3")) and time.monotonic() < deadline:
        time.sleep(0.02)
    child.kill()
    child.wait()
    beside = tmp_path / "out.slurm"
    while len(list(beside.glob("runs/*/*/SHA256SUMS"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert made(out) == 0
    done = subprocess.run(slow, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert made(out) == 4
    assert len(list(slurm.glob("*_0"))) == 1, "runs that were there were submitted once more"


def test_without_slurm_it_says_so(
    many: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Breaks if a machine without Slurm ends with a traceback."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    code, _, said = cli("compare", many, "--on", "slurm", "--out", "out")
    assert (code, "sbatch was not found" in said) == (2, True), said


def test_a_place_that_there_is_not_is_bad_input(many: Path, cli: Cli) -> None:
    """Breaks if a wrong --on, --store, --shard or --jobs runs anything, or shows a traceback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        cases = {
            ("--on", "slrum"): "--on: found 'slrum'; allowed: local, slurm, dask://HOST:PORT; did "
            'you mean "slurm"?',
            ("--on", "dask://host"): "allowed: local, slurm, dask://HOST:PORT",
            ("--on", "dask://h:1", "--jobs", 2): "it is the cluster's workers that say how many",
            ("--store", "x"): "only the place dask://HOST:PORT has a store",
            ("--on", "dask://h:1", "--store", "nothing://x"): "nothing can be written there",
            ("--on", f"dask://127.0.0.1:{port}"): "no dask scheduler answers there",
            ("--shard", "0/3"): "--shard: found '0/3'; allowed: I/N with I in 1 to N",
            ("--shard", "4/3"): "--shard: found '4/3'",
        }
        for words, text in cases.items():
            code, _, said = cli("compare", many, *words)
            assert (code, text in said, said.count("\n")) == (2, True, 1), said


def test_shards_are_a_partition_of_the_runs() -> None:
    """Breaks if a run is in two shards or in none, or a shard depends on the order of the runs."""
    keys = [f"{number * 7919 % 65536:016x}" for number in range(1000)]
    for count in (1, 2, 7, 999, 1000, 1200):
        cut = [shards.Shard(number, count).keys(keys) for number in range(1, count + 1)]
        assert sorted(key for shard in cut for key in shard) == sorted(keys)
        assert max(map(len, cut)) - min(map(len, cut)) <= 1
        assert shards.Shard(1, count).keys(reversed(keys)) == cut[0]


@pytest.mark.parametrize(("count", "plots"), [(3, ()), (14, ("--no-plots",))])
def test_shards_that_are_merged_are_the_whole(
    count: int, plots: tuple[str, ...], many: Path, cli: Cli
) -> None:
    """Breaks if any byte depends on how the runs were shared out, or an empty shard is an error."""
    for number in range(1, count + 1):
        words = ("compare", many, "--out", "out", *plots)
        code, said, error = cli(*words, "--shard", f"{number}/{count}")
        assert code == 0, error
        assert f"leafspine merge out{shards.SUFFIX}" in said
    code, said, error = cli("merge", "out.shards", *plots)
    assert code == 0, error
    assert "report: " in said
    merged = contents(many.parent / "out")
    shutil.rmtree(many.parent / "out")
    assert cli(*words)[0] == 0
    assert contents(many.parent / "out") == merged


def test_a_merge_wants_all_shards_of_one_comparison(many: Path, cli: Cli) -> None:
    """Breaks if shards of different comparisons, cuts or builds are mixed, or a hole is missed."""
    for number in (1, 2, 3):
        cli("compare", many, "--out", "a", "--shard", f"{number}/3")
    cli("compare", many, "--out", "b", "--shard", "2/3", "--seeds", 2)
    cli("compare", many, "--out", "c", "--shard", "1/2")
    cli("compare", many, "--out", "whole", "--no-plots")
    parts = [f"a.shards/{number}-of-3" for number in (1, 2, 3)]
    cases = {
        (parts[0], parts[2]): "shard 2 of 3 is missing",
        (parts[1],): "shards 1, 3 of 3 are missing",
        (*parts, parts[1]): "shard 2 is there twice",
        (parts[0], "b.shards", parts[2]): "different comparisons: the settings differ",
        (parts[0], "c.shards"): "shards of one cut are needed",
        ("whole",): "holds a whole comparison",
        ("nothing",): "no such directory",
        (".",): "holds a whole comparison",
        ("a.shards", "--out", "other"): "other holds another comparison",
    }
    cli("compare", many, "--out", "other", "--lb", "rps", "--no-plots")
    for words, text in cases.items():
        code, _, said = cli("merge", *words)
        assert (code, text in said) == (2, True), (words, said)
    run = next(Path("a.shards/3-of-3/runs").iterdir())
    timing = run / "timing.json"
    kept = timing.read_text()
    timing.write_text('{"build": "0123456789abcdef", "checked": true}')
    code, _, said = cli("merge", "a.shards")
    assert (code, "different builds" in said) == (2, True), said
    timing.write_text(kept)
    shutil.rmtree(run)
    code, _, said = cli("merge", "a.shards")
    assert code == 2
    assert "shard 3/3 in a.shards/3-of-3 is not finished: 1 of 4 runs are missing" in said


def test_a_command_is_the_same_wherever_it_ran() -> None:
    """Breaks if a report tells to run on a cluster that its reader does not have."""
    words = ["compare", "x", "--on", "slurm", "--shard=1/3", "--store", "s3://x", "--seeds", "5"]
    assert without_place(words) == ["compare", "x", "--seeds", "5"]
