"""Breaks the RTL in one place after another (``mutants.toml``), and wants the tests to notice each.

Random traffic in lockstep with the Rust scheme comes first, the decision vectors if that notices
nothing. Prints a line a mutant.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from simulate import HERE, RTL, run

COSIM = HERE.parent / "cosim"


@dataclass(frozen=True)
class Mutant:
    """What is broken, in which file, and how."""

    breaks: str
    file: str
    old: str
    new: str


def lockstep_notices(rtl: Path) -> bool:
    """Whether random traffic ends in an error, or the RTL's own assertions do."""
    words = ["cargo", "run", "--release", "--quiet", "--bin", "lockstep", "--"]
    words += ["--seeds", "6", "--packets", "2000"]
    environment = os.environ | {"ABQ_RTL": str(rtl)}
    done = subprocess.run(words, cwd=COSIM, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode == 0:
        return False
    assert "lockstep: seed" in said or "Assertion failed" in said, said
    return True


def vectors_notice(rtl: Path, build: Path) -> bool:
    parameters = {"PORTS": 8, "DATA_W": 64, "TIME_W": 64, "CAPACITY": 1024}
    _, failed = run("abq_input_queues", "replay", parameters, build, rtl, quiet=True)
    return failed > 0


def main() -> int:
    build = Path(sys.argv[1])
    survive = 0
    listed = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    mutants = [Mutant(**fields) for fields in listed]
    for mutant in mutants:
        rtl = build / "mutant"
        shutil.rmtree(rtl, ignore_errors=True)
        shutil.copytree(RTL, rtl)
        file = rtl / f"{mutant.file}.sv"
        text = file.read_text()
        found = text.count(mutant.old)
        assert found == 1, f"{mutant.file}: {mutant.old} is there {found} times"
        file.write_text(text.replace(mutant.old, mutant.new))
        if lockstep_notices(rtl):
            said = "lockstep"
        elif vectors_notice(rtl, build / "replay"):
            said = "vectors"
        else:
            said = "SURVIVES"
            survive += 1
        print(f"{said:9} {mutant.file}: {mutant.breaks}", flush=True)
    print(f"{len(mutants) - survive} passed, {survive} failed")
    return 1 if survive else 0


if __name__ == "__main__":
    sys.exit(main())
