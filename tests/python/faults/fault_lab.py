"""A comparison that things happen to: what every test of faults has in common.

``Lab.sweep()`` is a fresh directory with a scenario in it; something happens to the command that
runs there, and ``Sweep.recovers()`` then runs it again, undisturbed, and holds what is left against
a comparison that nothing ever happened to: byte for byte, but for ``timing.json``.
"""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent

SCENARIO = """\
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "1Gbps", delay = "5us" }
fabric_link = { rate = "1Gbps", delay = "5us" }

[[workload]]
kind = "poisson"
sizes = { kind = "uniform", low = "2KB", high = "200KB" }
load = 0.5
flows = FLOWS

[[probe]]
kind = "queue"
name = "up"
ports = "leaf0-*"
every = "1ms"

[[variant]]
name = "ECMP"
set = { "load_balancer.scheme" = "ecmp" }

[[variant]]
name = "RPS"
set = { "load_balancer.scheme" = "rps" }

[sweep]
"run.seed" = [1, 2, 3]
"""

RUNS = 6
TOKEN = "LEAFSPINE_FAULT_LAB"
SLOW = "\n[run]\nfake_seconds = 0.15\n"


def tree(directory: Path) -> dict[str, bytes]:
    """Everything under a directory; a directory has no bytes, a wall time does not count."""
    return {
        str(path.relative_to(directory)): b""
        if path.is_dir() or path.name == "timing.json"
        else path.read_bytes()
        for path in directory.rglob("*")
    }


def build_shim(directory: Path) -> Path | str:
    """The library that fails file operations, or why there is none."""
    if not sys.platform.startswith("linux"):
        return "failing single file operations needs LD_PRELOAD, that is Linux"
    if shutil.which("cc") is None:
        return "failing single file operations needs a C compiler"
    library = directory / "fault_shim.so"
    words = ["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "fault_shim.c", "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return library


def own_mounts() -> list[str] | str:
    """The words before a command that may mount file systems of its own, or why there are none."""
    for words in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        test = [*words, "mount", "-t", "tmpfs", "-o", "size=16k", "none", "/tmp"]
        try:
            if subprocess.run(test, capture_output=True, check=False).returncode == 0:
                return words
        except FileNotFoundError:
            break
    return "mounting a small file system needs root or user namespaces (unshare --map-root-user)"


def without_override() -> list[str] | str:
    """The words before a command that permission bits hold for, also for root, or why none."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
    try:
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
            return words
    except FileNotFoundError:
        pass
    return "root may write anywhere, and setpriv cannot take that from it here"


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def line(self) -> str:
        """The last line on standard error: an error is one clear line and no traceback."""
        assert "Traceback" not in self.err, self.err
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""

    def failed(self, *codes: int) -> str:
        """The error's line, of a command that ended with one of these codes."""
        assert self.code in codes, (self.code, self.err)
        line = self.line()
        assert line.startswith("leafspine: "), self.err
        return line


@dataclass
class Lab:
    """Where comparisons are disturbed; ``environment`` chooses the fake engine or the real one."""

    root: Path
    environment: Mapping[str, str]
    slow: str = SLOW
    inside: bool = False
    """Whether a command that needs no process of its own runs in this one, which is faster."""
    flows: int = 40
    count: int = 0
    reference: dict[str, bytes] = field(default_factory=dict)
    undisturbed: float = 0.0

    def sweep(self) -> "Sweep":
        """A fresh directory with the scenario."""
        self.count += 1
        home = self.root / f"sweep-{self.count}"
        home.mkdir(parents=True)
        text = SCENARIO.replace("FLOWS", str(self.flows))
        (home / "s.toml").write_text(text + self.slow)
        return Sweep(self, home)

    def prepare(self) -> "Sweep":
        """Run the comparison that nothing happens to."""
        sweep = self.sweep()
        begin = time.monotonic()
        done = sweep.run()
        self.undisturbed = time.monotonic() - begin
        assert done.code == 0, done.err
        self.reference = tree(sweep.out)
        return sweep

    def copy(self, finished: "Sweep") -> "Sweep":
        """A fresh directory with a finished comparison in it."""
        sweep = self.sweep()
        shutil.copytree(finished.out, sweep.out, symlinks=True)
        return sweep


@dataclass
class Sweep:
    """One comparison and what happens to it."""

    lab: Lab
    home: Path
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def out(self) -> Path:
        return self.home / "out"

    @property
    def words(self) -> list[str]:
        """The command; the same in every directory, since results say what made them."""
        command = ["compare", "s.toml", "--out", "out", "--jobs", "2"]
        return [sys.executable, "-m", "leafspine", *command]

    def start(
        self, before: Sequence[str] = (), more: Mapping[str, str] | None = None, **how: object
    ) -> "subprocess.Popen[str]":
        """Start the command, able to receive Ctrl-C however the tests were started."""

        def receive() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        return subprocess.Popen(
            [*before, *self.words],
            cwd=self.home,
            env={**self.lab.environment, TOKEN: self.token, **(more or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=receive,
            **how,  # type: ignore[call-overload]
        )

    def run(self, before: Sequence[str] = (), more: Mapping[str, str] | None = None) -> Done:
        """Run the command to its end."""
        return finish(self.start(before, more))

    def call(self) -> Done:
        """As ``run``, for a command that nothing happens to."""
        if not self.lab.inside:
            return self.run()
        from leafspine.cli import invoke

        arguments = self.words[3:]
        out, err, before = io.StringIO(), io.StringIO(), sys.argv
        with (
            contextlib.chdir(self.home),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            sys.argv = ["leafspine", *arguments]
            try:
                code = invoke(arguments)
            finally:
                sys.argv = before
        return Done(code, out.getvalue(), err.getvalue())

    def processes(self, role: str = "") -> list[int]:
        """Every process that this sweep started, by whatever way, with ``role`` in its words."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                ours = f"{TOKEN}={self.token}".encode() in (entry / "environ").read_bytes()
                if ours and role.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def is_left_alone(self, seconds: float = 10) -> None:
        """No process of it continues: workers without a parent end soon."""
        deadline = time.monotonic() + seconds
        while left := self.processes():
            assert time.monotonic() < deadline, f"processes {left} go on without their parent"
            time.sleep(0.02)
        before = tree(self.home)
        time.sleep(0.05)
        assert tree(self.home) == before, "a process still writes"

    def finished(self) -> dict[str, int]:
        """The runs that have a result, and when it was written."""
        found = self.out.glob("runs/[0-9a-f]*/SHA256SUMS")
        return {path.parent.name: path.stat().st_mtime_ns for path in found}

    def is_whole(self) -> None:
        """What has a result's name is one, at any moment: there is no half a result."""
        wanted = self.lab.reference
        for path in self.out.glob("runs/[0-9a-f]*"):
            name = f"runs/{path.name}/"
            have = {f"{name}{rest}": data for rest, data in tree(path).items()}
            assert have == {k: v for k, v in wanted.items() if k.startswith(name)}, path

    def recovers(self) -> None:
        """The same command completes, keeps what was finished, and leaves what it always does."""
        self.is_whole()
        before = self.finished()
        done = self.call()
        assert done.code == 0, done.err
        assert "Traceback" not in done.err, done.err
        after = self.finished()
        assert {key: after.get(key) for key in before} == before, "a finished run was run again"
        self.is_as_undisturbed()

    def is_as_undisturbed(self) -> None:
        """Byte for byte what an undisturbed comparison leaves, and nothing else."""
        have, wanted = tree(self.out), self.lab.reference
        assert have.keys() == wanted.keys(), sorted(have.keys() ^ wanted.keys())
        different = [name for name in have if have[name] != wanted[name]]
        assert not different, different

    def remove(self) -> None:
        """Make room."""
        shutil.rmtree(self.home, ignore_errors=True)


def finish(process: "subprocess.Popen[str]", seconds: float = 120) -> Done:
    """Wait for a command's end."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"hangs: {err}") from None
    return Done(process.returncode, out, err)
