"""The walks of the documentation, and the README: all that they show is run, in its order, in an
empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leafspine
from test_docs import README, blocks
from test_engine import ROOT

WALKS = ROOT / "docs" / "walks"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a walk begins: beside leafspine's examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def walked(words: list[str], folder: Path) -> str:
    """What a walk's commands say, with the real engine."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        words,
        cwd=folder,
        env=inherited | {"PATH": path, "MPLBACKEND": "agg", "LEAFSPINE": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_figure_for_a_paper(folder: Path) -> None:
    """Breaks if a line of the walk fails, if it warns where it says that nothing is printed, or if
    it leaves no figures."""
    code = "\n".join(blocks(WALKS / "figure-for-a-paper.md", "python"))
    said = walked([sys.executable, "-c", code], folder)
    assert said.split()[:2] == ["variant", "mean"]
    for name in ("slowdown.pdf", "tail.pdf"):
        assert (folder / name).read_bytes().startswith(b"%PDF")


def test_your_fabric_and_your_trace(folder: Path) -> None:
    """Breaks if a command of the walk fails, or no longer shows what the text says of it."""
    page = WALKS / "your-fabric.md"
    [scenario] = blocks(page, "toml")
    (folder / "mine.toml").write_text(scenario)
    commands = "\n".join(["set -euo pipefail", "export COLUMNS=200", *blocks(page, "sh")])
    said = walked(["bash", "-c", commands], folder)
    assert "good: one run" in said
    assert "keep the default" in said
    code = (
        "import leafspine\n"
        "for row in leafspine.load('out/your-fabric/slow-link').rows:\n"
        "    if (row.group, row.metric) == ('all', 'fct_mean') and row.difference:\n"
        "        print(row.variant, round(row.difference.mean))\n"
    )
    found = walked([sys.executable, "-c", code], folder)
    assert found.splitlines() == ["wcmp -93", "rps 53"]


def test_the_readmes_commands_leave_what_it_says(folder: Path) -> None:
    """Breaks if a command of the README fails, or a number of which it tells is another now."""
    page = README.read_text()
    commands = [
        line
        for block in blocks(README, "sh")
        for line in block.splitlines()
        if line.startswith("leafspine ") and not line.startswith("leafspine reproduce")
    ]
    assert len(commands) == 5
    walked(["bash", "-c", "\n".join(["set -euo pipefail", *commands])], folder)
    said = " ".join(page.split())

    results = [leafspine.load(path.parent) for path in folder.glob("out/*/summary.json")]
    tails = sorted(float(found.summary["classes"]["short"]["fct_p99"]) for found in results)
    assert f"from {tails[0]:,.0f} to {tails[1]:,.0f} us" in said

    tables = {path.parent.name.split("-")[0]: path for path in folder.glob("out/*/tables.md")}
    assert set(tables) == {"quickstart", "slow", "lab"}
    short = tables["quickstart"].read_text().split("## ")[2]
    shown = re.findall(r"^\| 0\.[36] \| .*$", page, re.M)
    columns = (0, 1, 4, 5, 8, 9)
    assert shown == [
        f"| {' | '.join(cells[at] for at in columns)} |"
        for cells in (line.strip("| ").split(" | ") for line in short.splitlines())
        if cells[0].startswith("0.")
    ]
    every = tables["slow"].read_text().split("## ")[1]
    changes = re.findall(
        r"\| (\w+) \| \d+ \| 0 \| [^|]* \| \S([\d.]+) % \[\S([\d.]+), \S([\d.]+)\]", every
    )
    for scheme, mean, *ends in changes:
        low, high = sorted(ends, key=float)
        assert re.search(rf"{scheme}.*? {mean} % (below|above).*? \[{low}, {high}\]", said), scheme
    assert [scheme for scheme, *_ in changes] == ["LetFlow", "RPS"]


def test_each_walk_has_folders_of_its_own() -> None:
    """Breaks if a walk finds the results of another, of which `compare` and `tune` refuse to go on,
    and `run` shows what the other one ran."""
    where: dict[str, str] = {}
    for page in sorted(WALKS.glob("*.md")):
        text = "\n".join((*blocks(page, "sh"), *blocks(page, "python")))
        for folder in set(re.findall(r"\bout[ =]\"?(out/[\w/-]+)", text)):
            assert where.setdefault(folder, page.name) == page.name, folder
    assert len(where) > 8


def test_the_reference_has_every_public_name() -> None:
    """Breaks if a public name has no entry in the Python reference."""
    text = (ROOT / "docs" / "reference.md").read_text()
    missing = [name for name in leafspine.__all__ if f"leafspine.{name}\n" not in text]
    assert missing == []


COLUMNS = ("mean completion", "vs ", "bus bandwidth", "stragglers")


def collectives(tables: Path) -> list[str]:
    """The table of collectives as the walk has it: its first column and some others."""
    section = tables.read_text().split("## Collectives")[1].split("\n## ")[0]
    lines = [line[2:-2] for line in section.splitlines() if line.startswith("| ")]
    heads, _, *rows = ([cell.strip() for cell in line.split(" | ")] for line in lines)
    at = [0, *(next(i for i, h in enumerate(heads) if h.startswith(name)) for name in COLUMNS)]
    return [f"| {' | '.join(row[i] for i in at)} |" for row in (heads, *rows)]


def test_a_training_cluster(folder: Path) -> None:
    """Breaks if a command of the walk fails, if its figures have no collectives, or if a row of a
    table that the walk shows is another now."""
    page = WALKS / "training-cluster.md"
    for name, scenario in zip(("cluster", "roce"), blocks(page, "toml"), strict=True):
        (folder / f"{name}.toml").write_text(scenario)
    commands = "\n".join(["set -euo pipefail", "export COLUMNS=200", *blocks(page, "sh")])
    said = walked(["bash", "-c", commands], folder)
    assert "mean completion" in said
    assert "stragglers" in said
    out = folder / "out" / "training"
    assert (out / "one" / "plots" / "job-0.pdf").read_bytes().startswith(b"%PDF")
    for name in ("balancers", "channels", "roce", "bad-link", "roce-slow", "roce-lossy"):
        assert "## Collectives" in (out / name / "tables.md").read_text()
    shown = page.read_text().splitlines()
    for name in ("balancers", "roce", "bad-link", "roce-slow", "roce-lossy"):
        found = collectives(out / name / "tables.md")
        assert len(found) > 4
        assert [row for row in found if row not in shown] == []


def test_what_reps_saves_is_what_the_table_has() -> None:
    """Breaks if the walk says more of REPS over a lossy link than its table does."""
    text = (WALKS / "training-cluster.md").read_text()
    rows = {}
    for line in text.splitlines():
        if found := re.match(r"\| (\w+)[^|]* \| never \| ([\d.]+) GB \| ([\d.]+) ", line):
            rows[found[1]] = (float(found[2]), float(found[3]))
    sprays = [rows[name] for name in ("DRILL", "QDAPS", "QALL")]
    missed, took = zip(*sprays, strict=True)
    said = (
        f"misses two fifths less than the switches that spray ({rows['REPS'][0]} instead of "
        f"{min(missed)} to {max(missed)} GB), and its flows take {rows['REPS'][1]} instead of "
        f"{min(took)} to {max(took)} ms"
    )
    assert said in " ".join(text.split())
    assert all(abs(1 - rows["REPS"][0] / one - 0.4) < 0.05 for one in missed)
