"""The format of the decision vectors is documented well enough to write a scheme again from it."""

from pathlib import Path

import pytest

import decision_vectors

VECTORS = Path(__file__).resolve().parents[2] / "crates" / "schemes" / "vectors"
LETFLOW = sorted((VECTORS / "load_balancer").glob("letflow*.txt"))


@pytest.mark.parametrize("path", LETFLOW, ids=lambda path: path.stem)
def test_letflow_from_the_documentation_decides_alike(path: Path) -> None:
    """Breaks if the documented formulas or the format are not those of the vectors."""
    assert decision_vectors.check(path) == []


def test_a_changed_decision_is_found(tmp_path: Path) -> None:
    """Breaks if the check passes whatever a vector says."""
    text = LETFLOW[0].read_text()
    line = next(line for line in text.splitlines() if " pick " in line)
    other = line.replace(" -> port=", " -> port=1")
    changed = tmp_path / "letflow.txt"
    changed.write_text(text.replace(line, other))
    assert len(decision_vectors.check(changed)) == 1
