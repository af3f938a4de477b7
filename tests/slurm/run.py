"""A comparison by a real Slurm on this machine alone: the same bytes as without it.

    make slurm-test        (as root; Debian, Ubuntu: apt install slurm-wlm munge)

Starts munged, slurmctld and slurmd with a configuration of their own in a temporary folder, so that
a Slurm that is installed here is not touched, and stops them at the end. Then: a comparison with
``--on slurm`` of which one worker is killed, one that is interrupted and gone on with, and an array
job of shards with ``leafspine merge``.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
SCENARIO = Path(__file__).with_name("scenario.toml")
RUNS = 12
DIFFERENT = ("timing.json", "comparison.json", "report.html")
"""Files that say how long it took, or --out."""
PATIENCE = 180.0

CONFIGURATION = """
ClusterName=leafspine
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def main() -> int:
    """Run all; what is missing is named first."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        print(f"slurm-test: {', '.join(missing)} not found (Debian, Ubuntu: apt install "
              "slurm-wlm munge)", file=sys.stderr)  # fmt: skip
        return 1
    if os.geteuid() != 0:
        print("slurm-test: start it as root: slurmd starts jobs of any user", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="leafspine-slurm-") as name, _slurm(Path(name)):
        folder = Path(name) / "work"
        folder.mkdir()
        shutil.copy(SCENARIO, folder / "scenario.toml")
        _compare(folder, "here")
        for check in (_by_slurm, _interrupted, _by_shards):
            began = time.monotonic()
            check(folder)
            print(f"slurm-test: {check.__doc__} {time.monotonic() - began:.1f} s")
    return 0


def _by_slurm(folder: Path) -> None:
    """--on slurm, one worker killed: the same bytes."""
    child = _start(folder, "slurm", "--on", "slurm")
    _until(lambda: _made(folder / "slurm") >= 2, "two runs", child)
    killed = _kill_a_worker(folder / "slurm.slurm")
    said = child.communicate(timeout=PATIENCE)[1]
    assert child.returncode == 0, said
    assert "trying once more" in said, said
    print(f"slurm-test: killed {killed}, whose run was tried once more")
    _same(folder / "here", folder / "slurm")
    assert not (folder / "slurm.slurm").exists(), "the job's folder stayed"


def _interrupted(folder: Path) -> None:
    """Interrupted and gone on with: the same bytes."""
    child = _start(folder, "interrupted", "--on", "slurm")
    _until(lambda: _made(folder / "interrupted") >= 2, "two runs", child)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=PATIENCE)[1].splitlines()[-1]
    took = time.monotonic() - began
    assert child.returncode == 1 and "runs are finished and kept" in said, said
    print(f"slurm-test: {said.split(';')[0]}, {took:.2f} s after Ctrl-C")
    _until(lambda: not _output("squeue", "--noheader").strip(), "an empty queue")
    _compare(folder, "interrupted", "--on", "slurm")
    _same(folder / "here", folder / "interrupted")


def _by_shards(folder: Path) -> None:
    """An array job of shards, merged: the same bytes."""
    words = " ".join(_words("shards"))
    script = folder / "shards.sh"
    script.write_text(
        f"#!/bin/sh\n#SBATCH --array=1-3\n#SBATCH --output={folder}/shard-%a.log\n"
        f"cd {folder} && exec {words} --jobs 1 --shard $SLURM_ARRAY_TASK_ID/3\n"
    )
    _output("sbatch", "--wait", str(script))
    done = subprocess.run([*_leafspine(), "merge", "shards.shards", "--no-plots"],
                          cwd=folder, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    _same(folder / "here", folder / "shards")


def _leafspine() -> list[str]:
    return [sys.executable, "-m", "leafspine"]


def _words(out: str) -> list[str]:
    return [*_leafspine(), "compare", "scenario.toml", "--out", out, "--no-plots"]


def _compare(folder: Path, out: str, *more: str) -> None:
    done = subprocess.run(
        [*_words(out), *more], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr


def _start(folder: Path, out: str, *more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([*_words(out), *more], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def _made(out: Path) -> int:
    return len(list(out.glob("runs/[!.]*/SHA256SUMS")))


def _kill_a_worker(folder: Path) -> str:
    """Kill one of the array's workers in the middle of its run."""
    killed: list[int] = []
    _until(lambda: any(_kill(process, folder, killed) for process in Path("/proc").iterdir()),
           "a worker that works")  # fmt: skip
    return f"element {killed[0]}"


def _kill(process: Path, folder: Path, killed: list[int]) -> bool:
    """Kill a process if it is a worker whose answers say that a run is under way."""
    with contextlib.suppress(OSError):
        words = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else []
        if b"leafspine.worker" in words and str(folder).encode() in b" ".join(words):
            answers = Path(words[-2].decode())
            said = answers.read_text()
            if "progress" in said and "done" not in said:
                os.kill(int(process.name), signal.SIGKILL)
                killed.append(int(answers.stem))
    return bool(killed)


def _same(one: Path, other: Path) -> None:
    """All files but :data:`DIFFERENT`."""

    def contents(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes()
                for path in folder.rglob("*")
                if path.is_file() and path.name not in DIFFERENT}  # fmt: skip

    first, second = contents(one), contents(other)
    assert len([name for name in first if name.endswith("SHA256SUMS")]) == RUNS
    assert first == second, f"{one} and {other} differ"


def _until(
    done: Callable[[], bool], what: str, child: "subprocess.Popen[str] | None" = None
) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        assert child is None or child.poll() is None, child.communicate()[1]
        time.sleep(0.02)


def _output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def _slurm(folder: Path) -> Iterator[None]:
    """Its daemons, until the block ends."""
    host = socket.gethostname().partition(".")[0]
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o600)
    ports = _free_ports()
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(
        host=host, folder=folder, cores=os.cpu_count(), memory=_megabytes(),
        controller=ports[0], daemon=ports[1],
    ))  # fmt: skip
    os.environ["SLURM_CONF"] = str(configuration)
    munge = [f"--{what}={folder}/munge.{end}" for what, end in
             (("key-file", "key"), ("socket", "socket"), ("log-file", "log"),
              ("pid-file", "pid"), ("seed-file", "seed"))]  # fmt: skip
    commands = [["munged", "--foreground", "--force", *munge],
                ["slurmctld", "-D", "-c", "-i"], ["slurmd", "-D", "-N", host]]  # fmt: skip
    daemons = []
    try:
        for words in commands:
            with (folder / f"{words[0]}.out").open("wb") as log:
                daemons.append(subprocess.Popen(words, stdout=log, stderr=log))
            time.sleep(1)
        _until(lambda: "idle" in _try("sinfo", "--noheader", "--format=%t"), "a node that is idle")
        yield
    except BaseException:
        for log in sorted(folder.glob("*.out")):
            print(log.name, log.read_text(errors="replace")[-1000:], file=sys.stderr)
        raise
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(timeout=30)


def _megabytes() -> int:
    """Half of what the machine has: slurmd takes a node with less than it says out of use."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2 // 10**6


def _try(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True).stdout


def _free_ports() -> list[int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return [one.getsockname()[1], two.getsockname()[1]]


if __name__ == "__main__":
    sys.exit(main())
