"""Breaks the RTL in one place after another (``mutants.toml``), and wants the tests to notice each.

Takes a folder for what is built, and parts of the names of files whose mutants are wanted (all if
there are none). Two mutants at a time. Prints what noticed each.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import current_process
from pathlib import Path

from registers import PARAMETERS
from simulate import HERE, RTL, run

COSIM = HERE.parent / "cosim"
WORKERS = 2
# Longer than any check takes, in seconds.
LONGEST = 300


@dataclass(frozen=True)
class Mutant:
    """What is broken, in which file, and how."""

    breaks: str
    file: str
    old: str
    new: str

    def make(self, rtl: Path) -> None:
        """A copy of the RTL with this mistake."""
        shutil.rmtree(rtl, ignore_errors=True)
        shutil.copytree(RTL, rtl)
        file = rtl / f"{self.file}.sv"
        text = file.read_text()
        found = text.count(self.old)
        assert found == 1, f"{self.file}: {self.old} is there {found} times"
        file.write_text(text.replace(self.old, self.new))


def vectors(rtl: Path, build: Path) -> str:
    """The decision vectors, with the assertions that hold meanwhile."""
    os.environ["ABQ_FIRST_ONLY"] = "1"
    parameters = {"PORTS": 8, "DATA_W": 64, "TIME_W": 64, "CAPACITY": 1024}
    _, failed = run("abq_input_queues", "replay", parameters, build / "replay", rtl)
    return "vectors" if failed else ""


def registers(rtl: Path, build: Path) -> str:
    """The tests of the registers."""
    _, failed = run("abq_switch", "registers", PARAMETERS, build / "registers", rtl)
    return "registers" if failed else ""


def compiled(rtl: Path, build: Path) -> Path:
    """The lockstep program with this RTL, one at a time, since they share compiled crates."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(build.parents[1] / "cosim")}
    # A mutant lives for seconds: it is rather compiled than run quickly.
    environment |= {"ABQ_RTL": str(rtl), "ABQ_OPTIMISE": "-O0"}
    own = build / "lockstep"
    with (build.parent / "compiling").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = ["cargo", "build", "--release", "--quiet", "--bin", "lockstep"]
        subprocess.run(words, cwd=COSIM, env=environment, check=True)
        shutil.copy(build.parents[1] / "cosim" / "release" / "lockstep", own)
    return own


def lockstep(rtl: Path, build: Path) -> str:
    """Random traffic in lockstep with the Rust scheme, with the assertions."""
    words = [compiled(rtl, build), "--seeds", "8", "--packets", "3000"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST)
    said = done.stdout + done.stderr
    if done.returncode == 0:
        return ""
    if "Assertion failed" in said:
        return "assertion"
    assert "lockstep: seed" in said, said
    return "lockstep"


Check = Callable[[Path, Path], str]
# What notices a mistake in a file soonest, and what is tried if it does not. The vectors have no
# output queues and no registers.
RTL_FIRST: list[Check] = [vectors, lockstep, registers]
FRAMES_FIRST: list[Check] = [lockstep, registers, vectors]
SWITCH_FIRST: list[Check] = [registers, lockstep]
CHECKS = {
    "abq_state": RTL_FIRST,
    "abq_engine": RTL_FIRST,
    "abq_output_queue": SWITCH_FIRST,
    "abq_registers": SWITCH_FIRST,
    "abq_switch": SWITCH_FIRST,
}


def notices(mutant: Mutant, build: Path) -> str:
    """The first check that does, or nothing."""
    own = build / current_process().name
    own.mkdir(exist_ok=True)
    mutant.make(own / "rtl")
    for check in CHECKS.get(mutant.file, FRAMES_FIRST):
        if said := check(own / "rtl", own):
            return said
    return ""


def main() -> int:
    build = Path(sys.argv[1])
    original = build / "original"
    original.mkdir(parents=True, exist_ok=True)
    for check in RTL_FIRST:
        said = check(RTL, original)
        assert not said, f"{said}: they notice something in the RTL as it is"
    listed = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    mutants = [
        mutant
        for mutant in (Mutant(**fields) for fields in listed)
        if not sys.argv[2:] or any(part in mutant.file for part in sys.argv[2:])
    ]
    survive = 0
    with ProcessPoolExecutor(WORKERS) as pool:
        found = pool.map(notices, mutants, [build] * len(mutants))
        for mutant, said in zip(mutants, found, strict=True):
            survive += not said
            print(f"{said or 'SURVIVES':9} {mutant.file}: {mutant.breaks}", flush=True)
    print(f"{len(mutants) - survive} passed, {survive} failed")
    return 1 if survive else 0


if __name__ == "__main__":
    sys.exit(main())
