"""Hosts that are Linux kernels, from the command line to results."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pa_parquet
import pytest

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
        pytest.skip("no kernel: make linux builds it")
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


def test_model_and_kernels_side_by_side(kernels: Path, tmp_path: Path) -> None:
    """Breaks if hosts cannot be what a comparison compares."""
    text = kernels.read_text() + '\n[sweep]\n"hosts.kind" = ["model", "linux"]\n'
    kernels.write_text(text)
    done = leafspine("compare", kernels, "--out", tmp_path / "out", "--no-plots")
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "out" / "tables.md").read_text()
    assert "model" in table
    assert "linux" in table


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
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=CLEAN)
    guests = _wait_for_guests(run.pid)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) in (1, 130, -signal.SIGINT)
    begin = time.monotonic()
    while any(Path(f"/proc/{guest}").exists() for guest in guests):
        assert time.monotonic() < begin + 30
        time.sleep(0.05)
    assert not (tmp_path / "out").exists()


def _wait_for_guests(parent: int) -> list[int]:
    """The kernels that a process has started, once there are four and they run."""
    begin = time.monotonic()
    while time.monotonic() < begin + 60:
        children = Path(f"/proc/{parent}/task").glob("*/children")
        found = [int(child) for file in children for child in file.read_text().split()]
        if len(found) >= 4:
            time.sleep(1)
            return found
        time.sleep(0.02)
    raise AssertionError("no kernels")
