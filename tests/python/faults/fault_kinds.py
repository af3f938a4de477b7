"""What can happen to a comparison: one function a kind of fault, each at a point drawn by chance.

Each makes a fault happen to a fresh comparison, checks how the command took it, then has the
comparison recover. The tests take a few of each, ``soak.py`` hundreds.
"""

import contextlib
import errno
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from fault_lab import Done, Lab, Sweep, finish, own_mounts, without_override

Kind = Callable[["World", random.Random], bool]
KINDS: dict[str, tuple[str, Kind]] = {}
"""By name: what happens, in words, and the function, which says whether it struck in time."""


class Unavailable(Exception):
    """This machine cannot make such a fault happen; why."""


class World:
    """The lab, a finished comparison to damage, and the library that fails operations."""

    def __init__(self, lab: Lab, finished: Sweep, shim: Path | str) -> None:
        self.lab = lab
        self.finished = finished
        self.shim = shim

    def moment(self, rng: random.Random) -> float:
        """Seconds after the start, anywhere in the command's life."""
        return rng.uniform(0, self.lab.undisturbed)


def kind(words: str) -> Callable[[Kind], Kind]:
    def register(function: Kind) -> Kind:
        KINDS[function.__name__.replace("_", "-")] = (words, function)
        return function

    return register


def _kill(processes: list[int], number: int = signal.SIGKILL) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


@kind("a worker process is killed")
def worker_killed(world: World, rng: random.Random) -> bool:
    sweep = world.lab.sweep()
    process = sweep.start()
    deadline = time.monotonic() + 60
    while not sweep.processes("leafspine.worker") and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(rng.uniform(0, world.lab.undisturbed / 2))
    victims = sweep.processes("leafspine.worker")
    _kill(rng.sample(victims, min(1, len(victims))))
    done = finish(process)
    assert done.code == 0, done.err  # the case is tried once more
    done.line()
    sweep.is_as_undisturbed()
    sweep.recovers()
    sweep.remove()
    return bool(victims)


@kind("worker processes are killed one after the other")
def workers_killed(world: World, rng: random.Random) -> bool:
    sweep = world.lab.sweep()
    process = sweep.start()
    killed = 0
    pauses = iter([rng.uniform(0, world.lab.undisturbed / 4) for _ in range(8)])
    while process.poll() is None and (pause := next(pauses, None)) is not None:
        time.sleep(pause)
        victims = sweep.processes("leafspine.worker")[:1]
        _kill(victims)
        killed += len(victims)
    done = finish(process)
    if done.code:  # a case whose workers were killed twice has no result this time
        assert "2 times" in done.failed(1)
    sweep.is_left_alone()
    sweep.recovers()
    sweep.remove()
    return killed > 1


def _killed(world: World, rng: random.Random, *, everything: bool) -> bool:
    sweep = world.lab.sweep()
    process = sweep.start()
    time.sleep(world.moment(rng))
    _kill(sweep.processes() if everything else [process.pid])
    done = finish(process)
    assert done.code in (0, -signal.SIGKILL)
    sweep.is_left_alone()
    sweep.recovers()
    sweep.remove()
    return done.code != 0


@kind("the command is killed (SIGKILL), not its workers")
def command_killed(world: World, rng: random.Random) -> bool:
    return _killed(world, rng, everything=False)


@kind("the command and its workers are killed at once")
def everything_killed(world: World, rng: random.Random) -> bool:
    return _killed(world, rng, everything=True)


def _signalled(world: World, rng: random.Random, *numbers: int) -> bool:
    sweep = world.lab.sweep()
    process = sweep.start()
    time.sleep(world.moment(rng))
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        time.sleep(rng.uniform(0, 0.1))
    done = finish(process)
    # While Python itself starts, before our first line, a signal does what it does by default.
    if done.code < 0 or ("Traceback" in done.err and "leafspine/cli.py" not in done.err):
        assert not sweep.out.exists(), done.err
    elif done.code:
        assert "interrupted" in done.failed(1), done.err
    sweep.is_left_alone()
    sweep.recovers()
    sweep.remove()
    return done.code != 0


@kind("Ctrl-C (SIGINT)")
def interrupted(world: World, rng: random.Random) -> bool:
    return _signalled(world, rng, signal.SIGINT)


@kind("Ctrl-C twice")
def interrupted_twice(world: World, rng: random.Random) -> bool:
    return _signalled(world, rng, signal.SIGINT, signal.SIGINT)


@kind("SIGTERM, as a batch system ends a job")
def terminated(world: World, rng: random.Random) -> bool:
    return _signalled(world, rng, signal.SIGTERM)


@kind("SIGHUP, as a closed terminal sends it")
def hung_up(world: World, rng: random.Random) -> bool:
    return _signalled(world, rng, signal.SIGHUP)


@kind("the command is started twice at once in one directory")
def two_at_once(world: World, rng: random.Random) -> bool:
    sweep = world.lab.sweep()
    one = sweep.start()
    time.sleep(world.moment(rng))
    both = one.poll() is None
    two = sweep.start()
    for done in (finish(one), finish(two)):
        assert done.code == 0, done.err
        done.line()
    sweep.recovers()
    sweep.remove()
    return both


@kind("the disk is full: a tmpfs of a random size, made larger for the second run")
def disk_full(world: World, rng: random.Random) -> bool:
    need = sum(len(data) + 4096 for data in world.lab.reference.values()) // 1024
    size = rng.randint(8, need)
    end = "mount -o remount,size=1g here"
    done = _mounted(world, f"size={size}k", 'wait "$child"', end)
    if done.code:
        assert "cannot write" in done.failed(1)
        assert "No space left on device; make room" in done.line()
    return done.code != 0


@kind("the file system becomes read-only while the command runs")
def read_only(world: World, rng: random.Random) -> bool:
    revoke = (
        f"sleep {world.moment(rng):.3f}; "
        'until mount -o remount,ro here 2>/dev/null; do :; done; wait "$child"'
    )
    done = _mounted(world, "size=1g", revoke, "mount -o remount,rw here")
    if done.code:
        assert "Read-only file system; allow writing there" in done.failed(1)
    return done.code != 0


def _mounted(world: World, options: str, during: str, mend: str) -> Done:
    """Run a sweep on a file system of its own, then repair it and let the sweep recover."""
    before = own_mounts()
    if isinstance(before, str):
        raise Unavailable(before)
    sweep = world.lab.sweep()
    (sweep.home / "here").mkdir()
    command = shlex.join(sweep.words)
    script = f"""
    set -u
    mount -t tmpfs -o {options} none here
    cp s.toml here
    (cd here && exec {command} >../first.out 2>../first.err) & child=$!
    {during}
    echo $? >first.code
    {mend}
    (cd here && {command}) >second.out 2>second.err
    echo $? >second.code
    cp -a here/out out
    """
    with (sweep.home / "script.err").open("w") as said:
        subprocess.run(
            [*before, "bash", "-c", script],
            cwd=sweep.home,
            env={**world.lab.environment},
            check=False,
            stderr=said,
        )
    first, second = (_done(sweep.home, name) for name in ("first", "second"))
    assert second.code == 0, second.err
    sweep.is_as_undisturbed()
    sweep.remove()
    return first


def _done(home: Path, name: str) -> Done:
    code, out, err = ((home / f"{name}.{part}").read_text() for part in ("code", "out", "err"))
    return Done(int(code), out, err)


@kind("permission to write is revoked while the command runs, and given back")
def permission_revoked(world: World, rng: random.Random) -> bool:
    before = without_override()
    if isinstance(before, str):
        raise Unavailable(before)
    sweep = world.lab.sweep()
    (sweep.out / "runs").mkdir(parents=True)
    place = rng.choice([sweep.out, sweep.out / "runs"])
    process = sweep.start(before)
    time.sleep(world.moment(rng))
    place.chmod(0o555)
    done = finish(process)
    place.chmod(0o755)
    if done.code:
        assert "Permission denied; allow writing there" in done.failed(1)
    sweep.is_left_alone()
    sweep.recovers()
    sweep.remove()
    return done.code != 0


@kind("files may not become larger than some size (ulimit -f)")
def file_limit(world: World, rng: random.Random) -> bool:
    largest = max(len(data) for data in world.lab.reference.values())
    size = int(largest ** rng.uniform(0.3, 1.05))
    sweep = world.lab.sweep()
    process = sweep.start()
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
    done = finish(process)
    if done.code:
        line = done.failed(1)
        assert "File too large; raise the limit" in line, line
    sweep.is_left_alone()
    sweep.recovers()
    sweep.remove()
    return done.code != 0


ERRORS = ("ENOSPC", "EDQUOT", "EIO", "EACCES", "EROFS", "ENOMEM", "EMFILE")
MOST = {"leafspine.worker": 180, "leafspine compare": 420}
"""About so many file operations under the directory has a process of this role."""


def _operation(world: World, rng: random.Random, how: int, *, lasting: bool = False) -> Done | None:
    """One file operation of a worker or of the command goes wrong, unless it has fewer."""
    if isinstance(world.shim, str):
        raise Unavailable(world.shim)
    role, most = rng.choice(list(MOST.items()))
    sweep = world.lab.sweep()
    mark = sweep.home / "mark"
    fault = {
        "LD_PRELOAD": str(world.shim),
        "FAULT_UNDER": str(sweep.out.resolve()),
        "FAULT_ROLE": role,
        "FAULT_AT": str(rng.randint(1, most)),
        "FAULT_KIND": str(how),
        "FAULT_MARK": str(mark),
        **({"FAULT_LASTING": "1"} if lasting else {}),
    }
    done = sweep.run(more=fault)
    done.line()
    struck = mark.exists()
    assert struck or done.code == 0, done.err
    sweep.is_left_alone()
    sweep.recovers()
    sweep.remove()
    return done if struck else None


@kind("a file operation fails once: disk full, quota, I/O error, permission, memory, files")
def operation_fails(world: World, rng: random.Random) -> bool:
    name = rng.choice(ERRORS)
    done = _operation(world, rng, getattr(errno, name))
    if done is not None and done.code:
        assert os.strerror(getattr(errno, name)) in done.failed(1, 2)
    return done is not None


@kind("from some file operation on all fail")
def operations_fail(world: World, rng: random.Random) -> bool:
    name = rng.choice(ERRORS)
    done = _operation(world, rng, getattr(errno, name), lasting=True)
    if done is not None and done.code:
        assert os.strerror(getattr(errno, name)) in done.failed(1, 2)
    return done is not None


@kind("the process is killed at a file operation")
def killed_at_operation(world: World, rng: random.Random) -> bool:
    done = _operation(world, rng, 0)
    assert done is None or done.code in (0, -signal.SIGKILL), done.err
    return done is not None


@kind("the process is killed after half a write")
def torn_write(world: World, rng: random.Random) -> bool:
    done = _operation(world, rng, -2)
    assert done is None or done.code in (0, -signal.SIGKILL), done.err
    return done is not None


@kind("writes take only a part of what they are given")
def short_writes(world: World, rng: random.Random) -> bool:
    done = _operation(world, rng, -1, lasting=True)
    assert done is None or done.code == 0, done.err
    return done is not None


def _damaged(world: World, harm: Callable[[Sweep], Path]) -> bool:
    """Something happens to a finished result: the command names it, and what to do.

    What it says is done as it stands; then the command has to complete.
    """
    sweep = world.lab.copy(world.finished)
    path = harm(sweep)
    before = tree_of_all(sweep.home)
    done = sweep.call()
    line = done.failed(2)
    assert str(path.relative_to(sweep.home)) in line, (path, line)
    assert tree_of_all(sweep.home) == before, "a refusal changed something"
    advice = line.partition("rm -r ")[2].split(" (")[0]
    assert advice, f"does not say what to do: {line}"
    subprocess.run(f"rm -r {advice}", shell=True, cwd=sweep.home, check=True)
    sweep.recovers()
    sweep.remove()
    return True


def tree_of_all(directory: Path) -> dict[str, object]:
    """Everything in it, links as links, times too."""
    found: dict[str, object] = {}
    for path in directory.rglob("*"):
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
    return found


def _some_run(sweep: Sweep, rng: random.Random) -> Path:
    return rng.choice(sorted((sweep.out / "runs").iterdir()))


def _some_file(sweep: Sweep, rng: random.Random) -> Path:
    """A file that is read as a part of a result."""
    chosen = sorted(path for path in _some_run(sweep, rng).iterdir() if path.suffix != ".csv")
    return rng.choice(chosen)


@kind("a result's file is cut off somewhere, or empty")
def file_truncated(world: World, rng: random.Random) -> bool:
    def harm(sweep: Sweep) -> Path:
        path = _some_file(sweep, rng)
        os.truncate(path, rng.choice([0, rng.randrange(path.stat().st_size)]))
        return path if path.name != "SHA256SUMS" else path.parent

    return _damaged(world, harm)


@kind("one bit of a result's file is another")
def bit_flipped(world: World, rng: random.Random) -> bool:
    def harm(sweep: Sweep) -> Path:
        path = _some_file(sweep, rng)
        while path.name == "timing.json":  # has no sum: it differs from run to run
            path = _some_file(sweep, rng)
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        return path.parent

    return _damaged(world, harm)


@kind("a foreign file has the name of a result's file")
def file_foreign(world: World, rng: random.Random) -> bool:
    def harm(sweep: Sweep) -> Path:
        path = _some_file(sweep, rng)
        path.write_bytes(rng.choice([b"my notes\n", rng.randbytes(500), b"PAR1 not PAR1"]))
        return path.parent

    return _damaged(world, harm)


@kind("a file of one result lies in another")
def file_of_another_run(world: World, rng: random.Random) -> bool:
    def harm(sweep: Sweep) -> Path:
        one, two = rng.sample(sorted((sweep.out / "runs").iterdir()), 2)
        names = ("flows.parquet", "ports.parquet", "up.parquet", "summary.json", "scenario.toml")
        name = rng.choice([n for n in names if (one / n).exists()])
        if (one / name).read_bytes() == (two / name).read_bytes():
            name = "scenario.toml"
        shutil.copy(one / name, two / name)
        return two

    return _damaged(world, harm)


@kind("a result's file is a directory, a link, a pipe, or missing")
def file_of_another_kind(world: World, rng: random.Random) -> bool:
    def harm(sweep: Sweep) -> Path:
        path = _some_file(sweep, rng)
        way = rng.choice(["directory", "link", "dangling", "pipe", "missing"])
        if way == "missing" and path.name == "timing.json":
            way = "directory"
        elsewhere = sweep.home / "elsewhere"
        path.rename(elsewhere)
        if way == "directory":
            path.mkdir()
        elif way == "link":
            path.symlink_to(elsewhere)
        elif way == "dangling":
            path.symlink_to("nowhere")
        elif way == "pipe":
            os.mkfifo(path)
        return path

    return _damaged(world, harm)


@kind("a result is that of another run, a link, a file, or a foreign directory")
def place_taken(world: World, rng: random.Random) -> bool:
    def harm(sweep: Sweep) -> Path:
        one, two = rng.sample(sorted((sweep.out / "runs").iterdir()), 2)
        two.rename(sweep.home / "elsewhere")
        way = rng.choice(["other run", "link", "file", "foreign", "version"])
        if way == "other run":
            shutil.copytree(one, two)
        elif way == "link":
            two.symlink_to(sweep.home / "elsewhere")
        elif way == "file":
            two.write_text("not a directory")
        elif way == "foreign":
            two.mkdir()
            (two / "thesis.tex").write_text("mine")
        else:
            shutil.copytree(sweep.home / "elsewhere", two)
            _of_another_version(two)
        return two

    return _damaged(world, harm)


def _of_another_version(run: Path) -> None:
    """A result that is whole, and made by another version."""
    scenario = run / "scenario.toml"
    first, rest = scenario.read_text().split("\n", 1)
    scenario.write_text(first.replace("# leafspine ", "# leafspine 9.") + "\n" + rest)
    names = [line.split("  ")[1] for line in (run / "SHA256SUMS").read_text().splitlines()]
    sums = subprocess.run(["sha256sum", *names], cwd=run, capture_output=True, check=True)
    (run / "SHA256SUMS").write_bytes(sums.stdout)


@kind("comparison.json is cut off, foreign, a directory or a link")
def manifest_damaged(world: World, rng: random.Random) -> bool:
    def harm(sweep: Sweep) -> Path:
        path = sweep.out / "comparison.json"
        way = rng.choice(["cut", "foreign", "directory", "link"])
        if way == "cut":
            os.truncate(path, rng.randrange(path.stat().st_size - 2))
        else:
            path.rename(sweep.home / "elsewhere")
        if way == "foreign":
            path.write_text('{"mine": true}')
        elif way == "directory":
            path.mkdir()
        elif way == "link":
            path.symlink_to(sweep.home / "elsewhere")
        return path

    return _damaged(world, harm)


@kind("foreign files lie among the results: left alone, named, not read")
def foreign_files(world: World, rng: random.Random) -> bool:
    sweep = world.lab.copy(world.finished)
    run = _some_run(sweep, rng)
    places = {
        "notes.txt": sweep.out,
        "evil.parquet": run,
        "flows.parquet.bak": run,
        "0123": sweep.out / "runs",
    }
    name = rng.choice(list(places))
    path = places[name] / name
    path.write_bytes((run / "flows.parquet").read_bytes())
    done = sweep.call()
    assert done.code == 0, done.err
    assert f"{path.relative_to(sweep.home)} was not written by leafspine" in done.err
    path.unlink()
    sweep.is_as_undisturbed()
    sweep.remove()
    return True


@kind("what is rebuilt from the results is cut off, foreign or missing")
def output_damaged(world: World, rng: random.Random) -> bool:
    sweep = world.lab.copy(world.finished)
    files = [path for path in sweep.out.iterdir() if path.is_file()]
    files += (sweep.out / "plots").iterdir()
    path = rng.choice(sorted(path for path in files if path.name != "comparison.json"))
    way = rng.choice(["cut", "foreign", "missing"])
    if way == "cut":
        os.truncate(path, rng.randrange(path.stat().st_size))
    elif way == "foreign":
        path.write_text("mine")
    else:
        path.unlink()
    sweep.recovers()
    sweep.remove()
    return True
