"""The examples' notebook, executed with the real engine, and what notebooks show of progress."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import leafspine
from leafspine import notebook, progress
from test_engine import ROOT

NOTEBOOK = ROOT / "examples" / "results.ipynb"


def outputs(path: Path) -> list[list[dict[str, Any]]]:
    """What each cell shows, without what was shown for a moment."""
    cells = json.loads(path.read_text())["cells"]
    return [
        [one for one in cell.get("outputs", []) if one["output_type"] != "display_data"]
        for cell in cells
    ]


def texts(path: Path) -> list[list[str]]:
    """The same, in so far as it is text."""
    return [
        ["".join(one.get("text") or one["data"]["text/plain"]) for one in shown]
        for shown in outputs(path)
    ]


def test_the_notebook_gives_what_it_shows(tmp_path: Path) -> None:
    """Breaks if a cell of the example fails, or shows other numbers or no figure."""
    script = Path(__file__).parent / "execute_notebook.py"
    done = subprocess.run(
        [sys.executable, script, NOTEBOOK, tmp_path, tmp_path / "new.ipynb"],
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert texts(tmp_path / "new.ipynb") == texts(NOTEBOOK)
    pictures = [
        one for shown in outputs(tmp_path / "new.ipynb") for one in shown
        if "image/png" in one.get("data", {}) or "<img" in str(one.get("data", {}).get("text/html"))
    ]  # fmt: skip
    assert len(pictures) == 5


class Handle:
    """Of a display in a notebook."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, data: dict[str, str], raw: bool) -> None:
        self.shown.append(data["text/html"])


def test_a_notebook_has_a_bar(many: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Breaks if a comparison in a notebook shows nothing while it runs, or leaves a bar behind."""
    handle = Handle()

    def display(data: dict[str, str], **_how: object) -> Handle:
        handle.update(data, raw=True)
        return handle

    class Module:
        pass

    module: Any = Module()
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(notebook, "is_here", lambda: True)
    monkeypatch.setattr(notebook, "OFTEN", 0.0)
    leafspine.compare(many, out=tmp_path / "out")
    assert any('<progress value="0.' in shown for shown in handle.shown)
    assert any("/12 runs" in shown for shown in handle.shown)
    assert handle.shown[-1] == ""


def test_elsewhere_python_is_silent(
    scenario: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Breaks if a script that asks for nothing gets progress on its terminal."""
    assert not notebook.is_here()
    assert [progress.wanted(asked) for asked in (None, True, False)] == [False, True, False]
    leafspine.run(scenario, out=tmp_path / "out")
    assert capfd.readouterr() == ("", "")
