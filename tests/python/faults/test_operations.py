"""Every file operation of everything that writes fails once, in every way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fault_lab import HERE, build_shim

from conftest import child_path

KINDS = "full/9,full-for-good/11,io/11,permission-for-good/11,killed/5,torn"
"""A part of them; ``make faults`` fails every operation in every way."""
FEWEST = {"result": 60, "manifest": 12, "tables": 20, "csv": 30, "fit": 30}
"""Fewer operations than these cannot be all that there are."""
FEWEST.update(checked=80, replaced=80)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = build_shim(tmp_path_factory.mktemp("shim"))
    if isinstance(library, str):
        pytest.skip(library)
    return library


@pytest.mark.parametrize("action", FEWEST)
def test_any_operation_may_fail(shim: Path, tmp_path: Path, action: str) -> None:
    """Breaks if an operation that fails, or a process that is killed there, leaves half a file
    under its name, an error that is not leafspine's own, or anything that a rerun does not mend."""
    words = [sys.executable, str(HERE / "fault_operations.py"), action, KINDS, str(tmp_path)]
    done = subprocess.run(
        words,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), child_path()]),
            "LD_PRELOAD": str(shim),
            "FAULT_UNDER": str(tmp_path.resolve() / "under"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    # Nor may a library add lines of its own to the one that says what is wrong.
    assert (done.returncode, done.stderr) == (0, "")
    counts = json.loads(done.stdout)
    assert 9 * counts["full"] >= FEWEST[action] <= 5 * counts["killed"], counts
    assert min(counts.values()) > 0, counts
