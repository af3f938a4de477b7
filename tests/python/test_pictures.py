"""Figures as files: drawn again only if something has changed, and left out on request."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import leafspine
from conftest import SCENARIO, VARIANTS, child_path
from leafspine import files, pictures, plots, results
from leafspine.saved import Saved

Cli = Callable[..., tuple[int, str, str]]

FIGURES = 16


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[leafspine.Comparison]:
    """Two variants, two loads, three seeds, with everything written; not to be changed."""
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "many.toml").write_text(SCENARIO + VARIANTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", child_path())
        found = leafspine.compare(folder / "many.toml", out=folder / "out")
    found.write()
    yield found


@pytest.fixture
def copied(drawn: leafspine.Comparison, tmp_path: Path) -> Callable[..., leafspine.Comparison]:
    """Compares in a copy of that directory, with other arguments if need be."""
    shutil.copytree(drawn.directory, tmp_path / "out")
    (tmp_path / "many.toml").write_text(SCENARIO + VARIANTS)

    def again(**arguments: object) -> leafspine.Comparison:
        return leafspine.compare(tmp_path / "many.toml", out=tmp_path / "out", **arguments)

    return again


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the figures that are drawn from here on."""
    names: list[str] = []
    save = plots.save

    def noted(plot: plots.Plot, directory: Path) -> Saved:
        names.append(plot.name)
        return save(plot, directory)

    monkeypatch.setattr(plots, "save", noted)
    return names


def contents(comparison: leafspine.Comparison) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (comparison.directory / "plots").iterdir()}


def test_what_has_not_changed_is_not_drawn_again(
    drawn: leafspine.Comparison, copied: Callable[..., leafspine.Comparison], saved: list[str]
) -> None:
    """Breaks if a second look at a finished comparison draws all its figures once more."""
    comparison = copied()
    report = comparison.write().read_text()
    assert saved == []
    shown = re.findall("<figure.*?</figure>", report, re.DOTALL)
    assert len(shown) == FIGURES
    first = (drawn.directory / "report.html").read_text()
    assert shown == re.findall("<figure.*?</figure>", first, re.DOTALL)
    assert contents(comparison) == contents(drawn)


def test_matplotlib_is_not_loaded_for_nothing(
    copied: Callable[..., leafspine.Comparison], tmp_path: Path
) -> None:
    """Breaks if a second look at a finished comparison waits for the import alone."""
    copied()
    script = (
        "import leafspine, sys\n"
        "found = leafspine.compare('many.toml', out='out')\n"
        "found.write()\n"
        "found.write('elsewhere', plots=False)\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def cut(path: Path) -> None:
    os.truncate(path, 1000)


def link(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.symlink_to(path.with_suffix(".old"))


@pytest.mark.parametrize("name", ["queue.pdf", "queue.png"])
@pytest.mark.parametrize("damage", [cut, link, Path.unlink])
def test_a_figure_that_is_not_what_was_drawn_is_drawn_again(
    drawn: leafspine.Comparison,
    copied: Callable[..., leafspine.Comparison],
    saved: list[str],
    name: str,
    damage: Callable[[Path], None],
) -> None:
    """Breaks if a cut-off picture stays, goes into the report, or makes all others be drawn."""
    comparison = copied()
    damage(comparison.directory / "plots" / name)
    comparison.write()
    assert saved == ["queue"]
    assert not (comparison.directory / "plots" / name).is_symlink()
    assert contents(comparison).items() >= contents(drawn).items()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"figures": [], "drawn_from": "", "sum": ""}', '{"figures": [{"name": 1}]}'],
)
def test_a_record_that_is_none_is_not_believed(
    copied: Callable[..., leafspine.Comparison], saved: list[str], text: str
) -> None:
    """Breaks if a damaged list of figures ends the command, or the report has no figures."""
    comparison = copied()
    (comparison.directory / "plots" / "figures.json").write_text(text)
    comparison.write()
    assert len(saved) == FIGURES


def test_a_record_that_somebody_changed_is_not_believed(
    copied: Callable[..., leafspine.Comparison], saved: list[str]
) -> None:
    """Breaks if a title, or a name that leads to another directory, is taken from it."""
    comparison = copied()
    path = comparison.directory / "plots" / "figures.json"
    record = json.loads(path.read_text())
    record["figures"][0]["title"] = "Mine"
    path.write_text(results.to_json(record))
    assert ">Mine<" not in comparison.write().read_text()
    assert len(saved) == FIGURES


def test_other_numbers_are_drawn(
    copied: Callable[..., leafspine.Comparison], saved: list[str]
) -> None:
    """Breaks if runs that were repeated by another build are shown with figures of the old ones."""
    comparison = copied()
    first, other = (comparison.directory / "runs" / case.key for case in comparison.cases[:2])
    (first / "flows.parquet").write_bytes((other / "flows.parquet").read_bytes())
    files._write_sums(first, {path.name for path in first.iterdir()})
    leafspine.compare(comparison.source.text, out=comparison.directory).write()
    assert len(saved) == FIGURES


@pytest.mark.parametrize(
    "arguments",
    [
        {"seeds": 2},
        {"load": [0.2, 0.6, 0.8]},
        {"run.seed": 5},
    ],
)
def test_another_comparison_is_drawn(
    copied: Callable[..., leafspine.Comparison], saved: list[str], arguments: dict[str, object]
) -> None:
    """Breaks if other seeds or more loads are shown by the figures of before."""
    comparison = copied(**arguments)
    comparison.write()
    assert len(saved) == len(list(plots.figures(comparison)))
    have = set(contents(comparison))
    assert have == {
        "figures.json",
        *(f"{name}{kind}" for name in saved for kind in (".pdf", ".png", "-dark.png")),
    }


def test_another_name_is_drawn(
    copied: Callable[..., leafspine.Comparison], saved: list[str], tmp_path: Path
) -> None:
    """Breaks if a variant that only changed its name keeps the old one in its figures."""
    copied()
    (tmp_path / "many.toml").write_text((SCENARIO + VARIANTS).replace('"LetFlow"', '"Ours"'))
    leafspine.compare(tmp_path / "many.toml", out=tmp_path / "out").write()
    assert len(saved) == FIGURES


@pytest.mark.parametrize(
    "name", ["style.py", "plots.py", "graphics.py", "measures.py", "data/letters/letters.ttf"]
)
def test_another_style_is_drawn(
    copied: Callable[..., leafspine.Comparison],
    saved: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """Breaks if figures stay as they are when the code that draws them, or a font, changes."""
    package = tmp_path / "leafspine"
    shutil.copytree(pictures.PACKAGE, package, symlinks=True, ignore=shutil.ignore_patterns("*.so"))
    monkeypatch.setattr(pictures, "PACKAGE", package)
    pictures._drawn_by.cache_clear()
    copied().write()
    assert saved == []
    with (package / name).open("ab") as stream:
        stream.write(b"\n")
    pictures._drawn_by.cache_clear()
    copied().write()
    assert len(saved) == FIGURES
    pictures._drawn_by.cache_clear()


def test_another_matplotlib_draws(
    copied: Callable[..., leafspine.Comparison], saved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if figures of two versions of Matplotlib stand in one report."""
    pictures._drawn_by.cache_clear()
    monkeypatch.setattr(pictures.metadata, "version", lambda _name: "99")
    copied().write()
    assert len(saved) == FIGURES
    pictures._drawn_by.cache_clear()


def test_an_unknown_file_is_left_unchanged(
    copied: Callable[..., leafspine.Comparison],
) -> None:
    """Breaks if what leafspine did not draw is deleted, or kept without a word."""
    comparison = copied(seeds=2)
    mine = comparison.directory / "plots" / "mine.png"
    mine.write_text("mine")
    comparison.write()
    assert mine.read_text() == "mine"
    assert comparison.unknown_files() == [mine]


def test_a_picture_that_was_edited_is_not_removed(many: Path, tmp_path: Path) -> None:
    """Breaks if a figure stays beside tables that it is no part of any more, or one that was edited
    by hand goes: with one load its name says none."""

    def compared(*loads: float) -> leafspine.Comparison:
        return leafspine.compare(many, load=loads, out=tmp_path / "out")

    compared(0.2).write()
    edited = tmp_path / "out" / "plots" / "cdf.pdf"
    edited.write_text("better")
    comparison = compared(0.2, 0.8)
    comparison.write()
    assert edited.read_text() == "better"
    assert not edited.with_suffix(".png").exists()
    assert comparison.unknown_files() == [edited]


def test_plots_can_be_left_out(cli: Cli, many: Path) -> None:
    """Breaks if --no-plots draws, or a report without pictures does not say why."""
    code, out, err = cli("compare", many, "--no-plots")
    assert code == 0, err
    assert "drawing" not in err
    assert "plots:  left out (--no-plots)" in out
    [directory] = Path("out").glob("many-*")
    assert not (directory / "plots").exists()
    report = (directory / "report.html").read_text()
    assert "<code>--no-plots</code>" in report
    assert "<image" not in report
    code, out, err = cli("compare", many)
    assert f"drawing {FIGURES} figures" in err
    report = (directory / "report.html").read_text()
    assert report.count("<figure") == FIGURES
    assert "--no-plots" not in report


def test_plots_that_are_left_out_leave_none_of_other_numbers(
    copied: Callable[..., leafspine.Comparison],
) -> None:
    """Breaks if tables of this comparison stand beside the figures of the last one."""
    comparison = copied()
    comparison.write(plots=False)
    assert len(contents(comparison)) == 3 * FIGURES + 1
    comparison = copied(seeds=2)
    comparison.write(plots=False)
    assert contents(comparison) == {}
    with pytest.raises(leafspine.InputError, match="plots"):
        comparison.write(plots="no")  # type: ignore[arg-type]


def _in_terminal(folder: Path) -> tuple["subprocess.Popen[bytes]", int]:
    """The command with standard error in a terminal, and that terminal's other end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "leafspine", "compare", "many.toml", "--out", "out"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        # Background jobs ignore it, and what they start does so, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(theirs)
    return process, ours


def _said(terminal: int, until: str = "") -> str:
    """What the terminal shows until that comes, or until the end."""
    text = ""
    while not until or not re.search(until, text):
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        text += chunk.decode(errors="replace")
    return text


def test_a_terminal_shows_how_far_drawing_is(many: Path, tmp_path: Path) -> None:
    """Breaks if a comparison with many figures seems to hang after its last run."""
    process, terminal = _in_terminal(tmp_path)
    said = _said(terminal)
    assert process.wait() == 0
    os.close(terminal)
    steps = re.findall(rf"drawing (\d+)/{FIGURES}", said)
    assert [int(step) for step in dict.fromkeys(steps)] == list(range(FIGURES))


def test_drawing_can_be_interrupted(many: Path, tmp_path: Path) -> None:
    """Breaks if Ctrl-C waits until all figures are drawn, or what is drawn is half written."""
    process, terminal = _in_terminal(tmp_path)
    _said(terminal, until=f"drawing 2/{FIGURES}")
    process.send_signal(signal.SIGINT)
    said = _said(terminal)
    assert process.wait() == 1
    os.close(terminal)
    assert "interrupted while tables and plots were written" in said
    assert 2 <= len(list((tmp_path / "out" / "plots").glob("*.pdf"))) < FIGURES - 1
    leafspine.compare(many, out=tmp_path / "out").write()
    assert len(list((tmp_path / "out" / "plots").iterdir())) == 3 * FIGURES + 1
