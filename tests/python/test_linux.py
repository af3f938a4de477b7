"""Hosts that are Linux kernels, from the command line to results."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pa_parquet
import pytest

import needs

SCENARIO = """
name = "two"

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "1Gbps", delay = "5us" }
fabric_link = { rate = "1Gbps", delay = "5us" }

[hosts]
congestion = "cubic"
kind = "model"

[[workload]]
kind = "long-flows"
sizes = { kind = "fixed", bytes = "1MB" }
count = 2

[[probe]]
kind = "window"
every = "1ms"
"""


CLEAN = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
"""With the real engine: conftest.py puts a fake one first."""


def leafspine(*arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "leafspine", *(str(argument) for argument in arguments)]
    environment = {**CLEAN, **more}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def kernels(scenario: Path) -> Path:
    """The scenario, where there is a kernel."""
    checked = leafspine("check", scenario, "--set", "hosts.kind=linux")
    if "make linux" in checked.stderr:
        needs.missing("linux", "no kernel: make linux builds it")
    assert checked.returncode == 0, checked.stderr
    return scenario


def test_a_missing_kernel_is_one_line(scenario: Path) -> None:
    """Breaks if one line does not say how to get a kernel, or other runs need one."""
    nowhere = {"LEAFSPINE_LINUX_FOLDER": "/nowhere", "LEAFSPINE_LINUX": ""}
    done = leafspine("run", scenario, "--set", "hosts.kind=linux", **nowhere)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    for word in ("hosts.kind", "/nowhere/kernel", "make linux", "LEAFSPINE_LINUX=path"):
        assert word in done.stderr
    assert leafspine("check", scenario, **nowhere).returncode == 0
    # With a kernel of one's own `make linux` alone would build another one.
    own = {**nowhere, "LEAFSPINE_LINUX": "/bin/sh"}
    done = leafspine("run", scenario, "--set", "hosts.kind=linux", **own)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "files are not there: /nowhere/guest.cpio" in done.stderr
    assert "after `LEAFSPINE_LINUX=/bin/sh make linux`" in done.stderr


@pytest.mark.parametrize(
    ("needed", "outcome"), [("tshark", "1 skipped"), ("tshark linux", "1 error")]
)
def test_no_kernel_is_a_failure_where_one_is_needed(needed: str, outcome: str) -> None:
    """Breaks if tests are skipped for want of a kernel where one has been built for them, or fail
    where nobody has built one."""
    nowhere = {"LEAFSPINE_LINUX_FOLDER": "/nowhere", "LEAFSPINE_LINUX": ""}
    test = f"{__file__}::{test_a_run_with_kernels.__name__}"
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test]
    environment = {**os.environ, **nowhere, "LEAFSPINE_NEEDS": needed}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert outcome in done.stdout
    assert "no kernel: make linux builds it" in done.stdout or "linux" not in needed


def test_a_run_with_kernels(kernels: Path, tmp_path: Path) -> None:
    """Breaks if kernels leave other files or columns, or what no kernel tells is a number."""
    for kind in ("model", "linux"):
        run = ("run", kernels, "--set", f"hosts.kind={kind}", "--out", tmp_path / kind, "--check")
        done = leafspine(*run)
        assert done.returncode == 0, done.stderr
    model, linux = (
        {file.name for file in (tmp_path / kind).iterdir()} for kind in ("model", "linux")
    )
    assert model == linux
    tables = [
        pa_parquet.read_table(tmp_path / kind / "flows.parquet") for kind in ("model", "linux")
    ]
    assert tables[0].schema == tables[1].schema
    nulls = {name for name in tables[1].column_names if tables[1][name].null_count}
    assert nulls == {"undos", "tail_probes", "mean_window"}
    assert tables[1]["fct_ps"].null_count == 0
    assert 'kernel = "' in (tmp_path / "linux" / "scenario.toml").read_text()


LEAVES = """
import os, sys, threading, time
from pathlib import Path
from leafspine import interrupts
place = Path(os.environ["TMPDIR"])
for owner in (os.getpid(), 1):
    (place / f"{interrupts.GUESTS}{owner}-abc" / "0").mkdir(parents=True)
threading.Thread(target=time.sleep, args=(60,), name=interrupts.THREAD, daemon=True).start()
interrupts.leave(1)
"""


def test_a_command_that_ends_while_guests_boot_leaves_no_folder(tmp_path: Path) -> None:
    """Breaks if a command that does not wait for a cancelled engine leaves its folder of
    sockets and memory, or takes that of another process."""
    environment = {**CLEAN, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LEAVES], env=environment, check=False)
    assert done.returncode == 1
    assert [folder.name for folder in tmp_path.iterdir()] == ["leafspine-linux-1-abc"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("hosts.congestion=vegas2", ("hosts.congestion", '"vegas2"', "No such file")),
        (
            'hosts.sysctl={"net.ipv4.tcp_rto_min_us" = "soon"}',
            ("hosts.sysctl", '"net.ipv4.tcp_rto_min_us" = "soon"', "Invalid argument"),
        ),
    ],
)
def test_what_a_kernel_does_not_take_is_one_line(
    setting: str, words: tuple[str, ...], kernels: Path, tmp_path: Path
) -> None:
    """Breaks if what only a kernel can judge is not refused as any other bad input is."""
    run = ("run", kernels, "--set", "hosts.kind=linux", "--set", setting, "--out", tmp_path / "out")
    done = leafspine(*run)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    for word in (*words, "what the kernel of host0"):
        assert word in done.stderr
    assert not (tmp_path / "out").exists()


def test_model_and_kernels_side_by_side(kernels: Path, tmp_path: Path) -> None:
    """Breaks if hosts cannot be what a comparison compares, in its tables and in its plots."""
    text = kernels.read_text() + '\n[sweep]\n"hosts.kind" = ["model", "linux"]\n'
    kernels.write_text(text)
    done = leafspine("compare", kernels, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "out" / "tables.md").read_text()
    found = {kind: re.search(rf"^\| {kind} \|.*$", table, re.M) for kind in ("model", "linux")}
    for row in found.values():
        assert row is not None
        _, _, flows, unfinished, mean, *_ = row.group().split("|")
        assert (int(flows), int(unfinished)) == (2, 0)
        # Two flows of 1 MB, each over a link of its own: 8.3 ms and the headers.
        assert 8.3 < float(mean) < 9
    # Each figure is drawn of both.
    figures = json.loads((tmp_path / "out" / "plots" / "figures.json").read_text())["figures"]
    names = [figure["name"] for figure in figures]
    drawn = {
        kind: {name.removesuffix(f"-kind-{kind}") for name in names if name.endswith(kind)}
        for kind in ("model", "linux")
    }
    assert drawn["model"] == drawn["linux"] > {"fct-all", "cdf", "slowdown", "queue", "utilisation"}
    report = (tmp_path / "out" / "report.html").read_text()
    assert "fct-all-kind-linux" in report


def test_captures_have_the_kernels_frames(kernels: Path, tmp_path: Path) -> None:
    """Breaks if a capture of kernels is made up: it has a SYN as Linux writes it."""
    out = tmp_path / "out"
    run = ("run", kernels, "--set", "hosts.kind=linux", "--pcap", "host0", "--out", out)
    assert leafspine(*run).returncode == 0
    capture = (out / "pcap" / "host0.pcapng").read_bytes()
    # MSS 1460, SACK permitted, timestamps: the order of Linux (net/ipv4/tcp_output.c).
    assert bytes.fromhex("020405b40402080a") in capture


def test_an_interrupt_leaves_nothing(kernels: Path, tmp_path: Path) -> None:
    """Breaks if Ctrl-C in the middle of a run leaves a kernel running, or is no interrupt."""
    words = [sys.executable, "-m", "leafspine", "run", str(kernels)]
    words += [
        "--out",
        str(tmp_path / "out"),
        "--set",
        "hosts.kind=linux",
        "--set",
        "workload.0.sizes.bytes=10GB",
    ]
    run = subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=CLEAN,
        # What a shell has put into the background ignores it, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        guests = _wait_for_guests(run)
        own = _folders_of(guests)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=LONG) in (1, 130, -signal.SIGINT)
        _wait(lambda: not any(_alive(guest) for guest in guests), f"{guests} live on")
    finally:
        run.kill()
        run.wait()
    assert not (tmp_path / "out").exists()
    assert not (left := [path for path in own if path.exists()]), left


def _folders_of(guests: list[int]) -> set[Path]:
    """The folders of the runs of these kernels, each of which is in a folder of that."""
    return {Path(f"/proc/{guest}/cwd").resolve().parent for guest in guests}


@pytest.mark.parametrize("workers_too", [False, True])
def test_a_killed_comparison_leaves_nothing(
    kernels: Path, tmp_path: Path, workers_too: bool
) -> None:
    """Breaks if kernels live on when the comparison whose worker has started them is killed, if
    workers that outlive it leave their kernels' folders, or if the next run leaves those that were
    killed with it."""
    words = [sys.executable, "-m", "leafspine", "compare", str(kernels), "--no-plots"]
    words += ["--out", str(tmp_path / "out"), "--set", "hosts.kind=linux"]
    words += ["--seeds", "2", "--jobs", "2", "--set", "workload.0.sizes.bytes=10GB"]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=CLEAN)
    try:
        guests = _wait(lambda: len(found := _kernels_of(run.pid)) >= 8 and found, "no kernels")
        own = _folders_of(guests)
        workers = {_parent(guest) for guest in guests}
        assert run.pid not in workers
        # It starts none anew.
        run.send_signal(signal.SIGSTOP)
        if workers_too:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
    finally:
        run.kill()
        run.wait()
    _wait(lambda: not any(map(_alive, {*guests, *workers})), f"{guests} or {workers} live on")
    if workers_too:
        assert all(path.exists() for path in own), "nobody could remove them"
        next_run = ("run", kernels, "--set", "hosts.kind=linux", "--out", tmp_path / "next")
        assert leafspine(*next_run).returncode == 0
    assert not (left := [path for path in own if path.exists()]), left


def _parent(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[1])


def _kernels_of(process: int) -> list[int]:
    """The kernels among all that a process has started, directly or not."""
    found, rest = [], [process]
    while rest:
        for file in Path(f"/proc/{rest.pop()}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # a thread that has ended
                children = [int(child) for child in file.read_text().split()]
                found += [child for child in children if _is_kernel(child)]
                rest += [child for child in children if not _is_kernel(child)]
    return found


LONG = 600
"""Seconds after which something has failed that takes less than one where nothing else runs."""


def _wait(for_what: Callable[[], Any], otherwise: str) -> Any:
    """What is waited for, however long a loaded machine takes for it."""
    end = time.monotonic() + LONG
    while not (found := for_what()):
        assert time.monotonic() < end, otherwise
        time.sleep(0.05)
    return found


def _alive(process: int) -> bool:
    """Whether a process of this number does something: one whose parent has not yet asked for its
    end does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _processor_time(process: int) -> int:
    """In the system's ticks."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _wait_for_guests(run: subprocess.Popen[bytes]) -> list[int]:
    """The four kernels that a run has started, once the flow is under way: the first and the third,
    whose hosts have it, go on to compute when the fourth has booted."""

    def started() -> list[int]:
        assert run.poll() is None, "the run has ended before it began"
        files = Path(f"/proc/{run.pid}/task").glob("*/children")
        found = []
        for file in files:
            with contextlib.suppress(OSError):  # a thread that has ended
                found += [int(child) for child in file.read_text().split()]
        return sorted(child for child in found if _is_kernel(child))

    guests: list[int] = _wait(lambda: len(found := started()) >= 4 and found, "no kernels")
    before = [_processor_time(guest) for guest in guests]

    def goes_on() -> bool:
        assert run.poll() is None, "the run has ended before it began"
        gained = [
            _processor_time(guest) - first for guest, first in zip(guests, before, strict=True)
        ]
        # Booting takes the last one alone some tenths of a second.
        return sum(gain > 0 for gain in gained[:-1]) >= 2

    _wait(goes_on, "the kernels do nothing")
    return guests


def _is_kernel(process: int) -> bool:
    with contextlib.suppress(OSError):
        return b"umid=guest" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


PROGRAMS = (
    SCENARIO.split("[[workload]]")[0].replace('"model"', '"linux"')
    + """
[[workload]]
kind = "program"
command = ["sh", "talk.sh"]
environment = { WORD = "there" }
hosts = [1, 3]
"""
)


@pytest.fixture
def programs(kernels: Path) -> Path:
    path = kernels.with_name("programs.toml")
    path.write_text(PROGRAMS)
    path.with_name("talk.sh").write_text("echo hello $WORD $LEAFSPINE_RANK; echo oh >&2; exit 4\n")
    return path


def test_programs_leave_what_they_wrote(programs: Path, tmp_path: Path) -> None:
    """Breaks if what programs wrote, or how they ended, is not in files of the run, or is lost when
    these are read again."""
    done = leafspine("run", programs, "--out", tmp_path / "out", "--csv", "--check")
    assert done.returncode == 0, done.stderr
    assert "sh talk.sh on host1 with exit code 4" in done.stderr
    assert (tmp_path / "out" / "program0-host1.stdout").read_text() == "hello there 0\n"
    assert (tmp_path / "out" / "program1-host3.stdout").read_text() == "hello there 1\n"
    assert (tmp_path / "out" / "program1-host3.stderr").read_text() == "oh\n"
    table = pa_parquet.read_table(tmp_path / "out" / "programs.parquet").to_pydict()
    assert table["command"] == ["sh talk.sh"] * 2
    assert (table["host"], table["exit_code"], table["signal"]) == ([1, 3], [4, 4], [None, None])
    assert table["stderr"] == ["program0-host1.stderr", "program1-host3.stderr"]
    assert all(
        end > start == 0 for start, end in zip(table["start_ps"], table["end_ps"], strict=True)
    )
    assert "sh talk.sh" in (tmp_path / "out" / "programs.csv").read_text()
    again = leafspine("run", programs, "--out", tmp_path / "out")
    assert (again.returncode, done.stderr in again.stderr) == (0, True)


def test_settings_reach_every_kernel(programs: Path, tmp_path: Path) -> None:
    """Breaks if a sysctl or the congestion control of the scenario is not what a host's kernel
    has."""
    files = [f"/proc/sys/net/ipv4/{name}" for name in ("tcp_rto_min_us", "tcp_congestion_control")]
    programs.with_name("talk.sh").write_text(f"cat {' '.join(files)}\n")
    settings = ['hosts.sysctl={"net.ipv4.tcp_rto_min_us"=5000}', "hosts.congestion=dctcp"]
    words = [word for setting in settings for word in ("--set", setting)]
    done = leafspine("run", programs, "--out", tmp_path / "out", *words)
    assert done.returncode == 0, done.stderr
    for name in ("program0-host1.stdout", "program1-host3.stdout"):
        assert (tmp_path / "out" / name).read_text() == "5000\ndctcp\n"


def test_a_changed_program_is_another_run(programs: Path, tmp_path: Path) -> None:
    """Breaks if results of a program are taken for those of another of its name."""
    assert leafspine("run", programs, "--out", tmp_path / "out").returncode == 0
    programs.with_name("talk.sh").write_text("echo other\n")
    done = leafspine("run", programs, "--out", tmp_path / "out")
    assert done.returncode != 0
    assert "the result of another scenario" in done.stderr
    resolved = tmp_path / "out" / "scenario.toml"
    done = leafspine("run", resolved, "--out", tmp_path / "again")
    assert "a file of the command has changed since" in done.stderr


def test_programs_in_a_comparison(programs: Path, tmp_path: Path) -> None:
    """Breaks if a comparison has no place for what programs wrote, or cannot be made of runs
    without flows."""
    words = ("compare", programs, "--lb", "ecmp,rps", "--out", tmp_path / "out", "--no-plots")
    done = leafspine(*words)
    assert done.returncode == 0, done.stderr
    found = sorted((tmp_path / "out" / "runs").glob("*/program0-host1.stdout"))
    assert [path.read_text() for path in found] == ["hello there 0\n"] * 2


COMMAND = 'command = ["sh", "talk.sh"]'
ENVIRONMENT = 'environment = { WORD = "there" }'
WRONG = [
    ('kind = "linux"', 'kind = "model"', ("workload.0.kind", "linux")),
    ("hosts = [1, 3]", "hosts = [1, 4]", ("workload.0.hosts", "0 to 3")),
    (COMMAND, 'command = ["no-such-program"]', ("workload.0.command", "not there")),
    (COMMAND, 'command = ["./talk.sh"]', ("workload.0.command", "not there")),
    (COMMAND, "command = []", ("workload.0.command", "a list of words")),
    (COMMAND, 'command = "sh talk.sh"', ("workload.0.command", "a list of words")),
    (COMMAND, "background = true", ("workload.0", "nothing", "a list of words")),
    (ENVIRONMENT, 'environment = { "A B" = 1 }', ("workload.0.environment", "names and texts")),
    (ENVIRONMENT, 'folder = "nowhere"', ("workload.0.folder", "a folder that is there")),
    (ENVIRONMENT, 'sizes = "web-search"', ("workload.0.sizes", 'kind "program"')),
]


@pytest.mark.parametrize(("line", "other", "words"), WRONG, ids=[other for _, other, _ in WRONG])
def test_wrong_programs_are_one_line(
    line: str, other: str, words: tuple[str, ...], programs: Path
) -> None:
    """Breaks if a program that cannot be run is found out when the run has begun, or not by its
    key."""
    text = programs.read_text()
    assert line in text
    programs.write_text(text.replace(line, other))
    done = leafspine("check", programs)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_the_example_of_programs(kernels: Path, tmp_path: Path) -> None:
    """Breaks if the example does not run, or a client does not say how long its requests took."""
    example = Path(__file__).parents[2] / "examples" / "programs.toml"
    words = ("compare", example, "--seeds", "1", "--out", tmp_path / "out", "--no-plots")
    done = leafspine(*words)
    assert done.returncode == 0, done.stderr
    found = sorted((tmp_path / "out" / "runs").glob("*/program?-host4.stdout"))
    assert len(found) == 2
    for path in found:
        *times, last = path.read_text().splitlines()
        assert len(times) == 50
        assert last.startswith("mean ")


def test_iperf3_as_documented(kernels: Path, tmp_path: Path) -> None:
    """Breaks if what docs/linux.md tells users of iperf3 cannot be run, or iperf3 does not find the
    link's rate (1,448 of 1,500 bytes)."""
    needs.need("iperf3")
    page = (Path(__file__).parents[2] / "docs" / "linux.md").read_text()
    recipe = next(part for part in re.findall(r"```toml\n(.*?)```", page, re.S) if "iperf3" in part)
    fabric = SCENARIO.split("[hosts]")[0].split("[[workload]]")[0]
    kernels.write_text(fabric + recipe.replace("hosts = [4]", "hosts = [1]"))
    out = tmp_path / "out"
    done = leafspine("run", kernels, "--out", out, "--set", "topology.host_link.rate=100Mbps")
    assert done.returncode == 0, done.stderr
    (said,) = [json.loads((out / "program1-host1.stdout").read_text())]
    rate = said["end"]["sum_received"]["bits_per_second"]
    assert rate == pytest.approx(100e6 * 1448 / 1500, rel=0.01)


LINUX = Path(__file__).parents[2] / "linux"


def build_kernel(
    folder: Path, script: Path = LINUX / "build", **more: str
) -> subprocess.CompletedProcess[str]:
    """`make linux` with an archive that is none, as far as it gets."""
    (archive := folder / "linux.tar.xz").write_bytes(b"no archive")
    environment = {**CLEAN, "LEAFSPINE_LINUX": "", "LEAFSPINE_LINUX_SOURCE": str(archive), **more}
    words = [script, folder / "built"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 3:
        needs.missing("linux", done.stderr)
    return done


def own_kernel(folder: Path, lines: list[str]) -> dict[str, str]:
    """A kernel of one's own as far as ``linux/build`` asks it: it says its configuration."""
    (kernel := folder / "kernel").write_text("#!/bin/sh\necho '" + "\n".join(lines) + "'\n")
    kernel.chmod(0o755)
    return {"LEAFSPINE_LINUX": str(kernel)}


def test_what_a_kernel_lacks_is_named(tmp_path: Path) -> None:
    """Breaks if a kernel of one's own passes that cannot run on virtual time or has what disturbs,
    or if a tick that timers follow is passed over in silence."""
    wanted = (LINUX / "kernel.config").read_text().splitlines()
    good = [line for line in wanted if line.startswith("CONFIG_")]
    hz = "CONFIG_HZ=1000"
    lacking = [line for line in good if "TIME_TRAVEL" not in line]
    done = build_kernel(tmp_path, **own_kernel(tmp_path, [*lacking, hz, "CONFIG_IPV6=y"]))
    assert done.returncode == 1
    assert "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in done.stderr
    assert "no CONFIG_IPV6" in done.stderr
    done = build_kernel(tmp_path, **own_kernel(tmp_path, [*good, hz]))
    assert done.returncode == 0, done.stderr
    assert "note:" not in done.stderr
    done = build_kernel(tmp_path, **own_kernel(tmp_path, [*good, "CONFIG_HZ=100"]))
    assert "another tick than 1000 Hz" in done.stderr


def test_what_a_machine_lacks_is_told_from_what_is_wrong(tmp_path: Path) -> None:
    """Breaks if who asks for a kernel (``.ci/run``) cannot tell a machine without its source from
    sources that do not compile; or if users without such a package are not told how to name an
    archive."""
    own = shutil.copytree(LINUX, tmp_path / "own")
    wanted = (own / "kernel.config").read_text().splitlines()
    lines = [line for line in wanted if line.startswith("CONFIG_")]
    kernel = own_kernel(tmp_path, [*lines, "CONFIG_HZ=1000"])
    assert build_kernel(tmp_path, own / "build", **kernel).returncode == 0
    guest = (own / "guest.c").read_text()
    (own / "guest.c").write_text(guest + "static int nobody_calls_it(void) { return 0; }\n")
    done = build_kernel(tmp_path, own / "build", **kernel)
    assert done.returncode == 1
    assert "nobody_calls_it" in done.stderr
    done = build_kernel(tmp_path, LEAFSPINE_LINUX_SOURCE="/nowhere/linux.tar.xz")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "LEAFSPINE_LINUX_SOURCE=/nowhere/linux.tar.xz" in done.stderr
    # Of this version nobody has a package.
    script = (own / "build").read_text()
    assert "\nversion=6.12\n" in script
    (own / "build").write_text(script.replace("\nversion=6.12\n", "\nversion=0.1\n"))
    words = [own / "build", tmp_path / "none"]
    environment = {**CLEAN, "LEAFSPINE_LINUX": "", "LEAFSPINE_LINUX_SOURCE": ""}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    for word in ("linux-source-0.1", "apt install", "LEAFSPINE_LINUX_SOURCE=path"):
        assert word in done.stderr


def test_a_kernel_that_dies_is_one_error(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a kernel's last words do not reach the user, the exit code is another than that of
    a run that failed, or if its folder stays."""
    (tmp_path / "guest.cpio").write_bytes(b"")
    (kernel := tmp_path / "kernel").write_text(
        f"#!/bin/sh\npwd >{tmp_path}/where\necho no room for this\nexit 3\n"
    )
    kernel.chmod(0o755)
    place = {"LEAFSPINE_LINUX_FOLDER": str(tmp_path), "LEAFSPINE_LINUX": ""}
    words = ("run", scenario, "--set", "hosts.kind=linux", "--out", tmp_path / "out")
    done = leafspine(*words, **place)
    assert done.returncode == 1, done.stderr
    assert "host0 (Linux) has ended (exit status: 3); its last lines: no room for this" in (
        " ".join(done.stderr.split())
    )
    assert "Traceback" not in done.stderr
    assert not Path((tmp_path / "where").read_text().strip()).parent.exists()


def test_another_kernel_is_refused(kernels: Path, tmp_path: Path) -> None:
    """Breaks if a resolved scenario of one kernel is run with another in silence."""
    text = kernels.read_text().replace(
        'kind = "model"\n\n', 'kind = "linux"\nkernel = "6.1.0-0123456789abcdef"\n\n'
    )
    kernels.write_text(text)
    done = leafspine("run", kernels, "--out", tmp_path / "out")
    assert done.returncode == 1, done.stderr
    assert "6.1.0-0123456789abcdef" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_error(tmp_path: Path) -> None:
    """Breaks if the kernel's build fills a disk instead of saying how much it needs."""
    (tmp_path / "bin").mkdir()
    (df := tmp_path / "bin" / "df").write_text(
        "#!/bin/sh\necho Filesystem 1024-blocks Used Available\necho /dev/x 100000 87712 12288\n"
    )
    df.chmod(0o755)
    done = build_kernel(tmp_path, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "needs 900 MB" in done.stderr
    assert "has 12 MB free" in done.stderr
    assert list((tmp_path / "built").iterdir()) == []


def test_a_build_that_fails_leaves_no_source(tmp_path: Path) -> None:
    """Breaks if what was unpacked stays when a build fails, or goes where it was to be kept."""
    assert build_kernel(tmp_path).returncode not in (0, 3)
    assert list((tmp_path / "built").iterdir()) == []
    assert build_kernel(tmp_path, LEAFSPINE_LINUX_KEEP="1").returncode != 0
    assert {path.name for path in (tmp_path / "built").iterdir()} == {"source", "build"}
