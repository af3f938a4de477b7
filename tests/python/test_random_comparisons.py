"""Random comparisons on the real engine: same bytes with any number of workers, and with probes."""

import re
from pathlib import Path

from test_engine import ROOT, python


def test_random_scenarios_do_not_depend_on_workers_or_probes(tmp_path: Path) -> None:
    """Breaks if any scenario gives other bytes over three workers than over one, or if looking at a
    run changes it."""
    done = python(ROOT / "tests" / "python" / "random_comparisons.py", tmp_path, 1)
    assert done.returncode == 0, done.stderr
    finished = re.search(r"(\d+) runs finished", done.stdout)
    assert finished is not None and int(finished[1]) >= 20, done.stdout
