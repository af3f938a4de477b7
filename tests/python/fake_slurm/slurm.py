"""Stands in for ``sbatch``, ``squeue`` and ``scancel``: elements are processes of this machine.

``FAKE_SLURM`` is a folder in which each element's process number lies, as ``<job>_<element>``. With
``FAKE_SLURM_LOSES`` the first job's last element is never started, as on a node that dies.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

FOLDER = Path(os.environ["FAKE_SLURM"])


def sbatch(script: Path) -> None:
    job = len(list(FOLDER.glob("*_0")))
    found = re.search(r"--array=0-(\d+)", script.read_text())
    assert found
    last = int(found[1])
    for element in range(last + 1):
        pid = "0"
        if not (os.environ.get("FAKE_SLURM_LOSES") and (job, element) == (0, last)):
            with (script.parent / f"{element}.log").open("ab") as log:
                child = subprocess.Popen(
                    ["sh", str(script)], stdout=log, stderr=log, start_new_session=True,
                    env={**os.environ, "SLURM_ARRAY_TASK_ID": str(element)},
                )  # fmt: skip
            pid = str(child.pid)
        (FOLDER / f"{job}_{element}").write_text(pid)
    print(job)


def alive(path: Path) -> bool:
    try:
        state = Path(f"/proc/{int(path.read_text())}/stat").read_text()
    except (OSError, ValueError):
        return False
    return "Z" not in state.rpartition(")")[2].split()[0]


def squeue(job: str) -> None:
    for path in FOLDER.glob(f"{job}_*"):
        if alive(path):
            print(path.name.partition("_")[2])


def scancel(job: str) -> None:
    for path in FOLDER.glob(f"{job}_*"):
        with contextlib.suppress(OSError):
            if alive(path):
                os.killpg(int(path.read_text()), signal.SIGTERM)


if __name__ == "__main__":
    name, words = sys.argv[1], sys.argv[2:]
    if name == "sbatch":
        sbatch(Path(words[-1]))
    elif name == "squeue":
        squeue(words[-1].partition("=")[2])
    else:
        scancel(words[-1])
