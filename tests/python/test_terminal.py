"""Tables in terminals of several widths, through real pseudo-terminals."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from conftest import SCENARIO
from leafspine import measures, progress
from leafspine.engine import Case
from leafspine.tasks import Event
from leafspine.terminal import Table, show_table

ROOT = Path(__file__).parent.parent.parent
WIDTHS = (80, 100, 120, 200)

VARIANTS = """
[[variant]]
name = "ECMP + DCTCP"
set = { "load_balancer.scheme" = "ecmp" }

[[variant]]
name = "LetFlow, gap 100 us"
set = { "load_balancer.scheme" = "letflow" }

[[variant]]
name = "RPS"
set = { "load_balancer.scheme" = "rps" }

[sweep]
"workload.0.load" = [0.2, 0.6, 0.8]
"run.seed" = [1, 2, 3]
"""

Through = Callable[..., list[str]]


def through_terminal(width: int, words: Sequence[object], folder: Path) -> list[str]:
    """What a command says in a terminal of that width, line by line, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    done = subprocess.Popen(
        [sys.executable, "-m", "leafspine", *map(str, words)],
        cwd=folder,
        env={**kept, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        said += chunk
    os.close(ours)
    errors = done.communicate()[1]
    assert done.returncode == 0, errors.decode()
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).replace("\r", "").splitlines()
    too_long = [line for line in lines if len(line) > width]
    assert not too_long, "\n".join(too_long)
    return lines


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands have the real engine."""
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.delenv("LEAFSPINE_CHECK")


def tables_in(lines: Sequence[str]) -> list[tuple[list[str], list[list[str]], list[str]]]:
    """The framed tables: heads, cells and the heads that were left out."""
    found: list[tuple[list[str], list[list[str]], list[str]]] = []
    for number, line in enumerate(lines):
        if line.startswith("┏"):
            found.append(([""] * line.count("┳") + [""], [], []))
        elif line.startswith("┃"):
            heads = found[-1][0]
            parts = [part.strip() for part in line.strip("┃").split("┃")]
            heads[:] = [f"{head} {part}".strip() for head, part in zip(heads, parts, strict=True)]
        elif line.startswith("│"):
            found[-1][1].append([part.strip() for part in line.strip("│").split("│")])
        elif line.startswith("left out: "):
            rest = lines[number:]
            whole = " ".join(" ".join(rest[: rest.index("")]).split())
            found[-1][2][:] = whole.removeprefix("left out: ").partition(";")[0].split(", ")
    return found


NAMES = [
    [load, name]
    for load in ("0.2", "0.6", "0.8")
    for name in ("ECMP + DCTCP", "LetFlow, gap 100 us", "RPS")
]
BASE = "vs ECMP + DCTCP"
FLOWS = [
    "load", "variant", "flows", "unfinished", "mean FCT", BASE, "p50", "p95", "p99 FCT",
    f"p99 FCT {BASE}", "slowdown", "goodput", "offered", "carried",
]  # fmt: skip
NETWORK = [
    "load", "variant", "offered", "carried", "reordered", "drops", "lost", "marked", "retransmits",
    "timeouts",
    "uplink use min", "uplink use mean", "uplink use max", "queue mean", "queue p99", "queue max",
]  # fmt: skip


def plain(heads: Sequence[str]) -> list[str]:
    """Heads without units; the second difference as the line about it calls it."""
    found: list[str] = []
    for head in heads:
        name = re.sub(r" \([^)]*\)", "", head)
        found.append(f"p99 FCT {BASE}" if name == BASE and name in found else name)
    return found


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a comparison was made, so that others find its runs."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "many.toml").write_text(SCENARIO + VARIANTS)
    return folder


@pytest.mark.parametrize("width", WIDTHS)
def test_compare_keeps_its_names_and_says_what_it_left_out(
    compared: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if names give way to numbers, a column goes without a word, or a more important one
    before a less important one."""
    monkeypatch.setenv("LEAFSPINE_FAKE_PLOTS", "1")
    lines = through_terminal(width, ["compare", "many.toml", "--out", "out"], compared)
    *classes, network = tables_in(lines)
    assert len(classes) == 3
    for heads, rows, left in classes:
        assert [row[:2] for row in rows] == NAMES
        assert sorted([*plain(heads), *plain(left)]) == sorted(FLOWS)
        assert plain(heads)[2:] == [head for head in FLOWS[2:] if head in plain(heads)]
        assert "mean FCT" in plain(heads)
    assert [row[:2] for row in network[1]] == NAMES
    assert sorted([*plain(network[0]), *plain(network[2])]) == sorted(NETWORK)
    said = " ".join(" ".join(lines).split())
    assert ("left out" in said) == ("all columns: out/tables.md, or --json" in said)
    assert "left out" in said or width == 200
    markdown = (compared / "out" / "tables.md").read_text()
    assert markdown.count(f"p50 (ms) | p95 (ms) | p99 FCT (ms) | {BASE}") >= 1


@pytest.mark.parametrize("width", WIDTHS)
def test_run_keeps_its_classes_and_metrics(compared: Path, width: int) -> None:
    """Breaks if the column of classes has no width, as it had in 120 columns."""
    (compared / "single.toml").write_text(SCENARIO)
    lines = through_terminal(width, ["run", "single.toml", "--out", "run"], compared)
    flows, network = tables_in(lines)
    assert [row[0] for row in flows[1]] == ["all", "short", "long"]
    assert plain(flows[0])[0] == "class"
    shown = {"flows", "unfinished", "mean FCT", "p99 FCT"}
    assert shown <= set(plain(flows[0]))
    assert len(flows[0]) + len(flows[2]) == 10
    said = " ".join(" ".join(lines).split())
    assert ("left out" in said) == (width < 100)
    assert ("all columns: run/summary.json, or --json" in said) == (width < 100)
    first = [row[0] for row in network[1] if row[0]]
    assert first[:3] == ["offered", "carried", "reordered"]
    assert "uplink use, mean" in first
    assert network[0] == ["metric", "meaning", "unit", "value"]


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("width", WIDTHS)
def test_lists_keep_their_names(tmp_path: Path, width: int) -> None:
    """Breaks if a scheme or a workload cannot be read off its list, or its numbers go silently."""
    lines = through_terminal(width, ["schemes"], tmp_path)
    starts = {tuple(line.split()[:2]) for line in lines}
    assert {
        ("letflow", "load_balancer"),
        ("ecn-threshold", "aqm"),
        ("flowbender", "host_edge"),
    } <= (starts)
    lines = through_terminal(width, ["workloads"], tmp_path)
    heads = lines[0].split()
    assert (heads[0], heads[-1]) == ("name", "source")
    assert "cache-follower-tam" in {line.split()[0] for line in lines}
    missing = [name for name in ("mean", "p10", "p50", "p90", "p99", "max") if name not in heads]
    assert bool(missing) == (width == 80)
    left = [line for line in lines if line.startswith("left out")]
    assert left == [f"left out: {', '.join(missing)}; all columns: `leafspine workloads NAME`, or "
        "--json"][: bool(missing)]  # fmt: skip


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("width", WIDTHS)
def test_a_schemes_page_keeps_its_parameters_names(tmp_path: Path, width: int) -> None:
    """Breaks if the table of parameters squeezes names and defaults for their explanation."""
    lines = through_terminal(width, ["schemes", "abq"], tmp_path)
    starts = [line.split()[:2] for line in lines if line]
    for pair in (["capacity", "1024"], ["max_hold", "50rtt"], ["transport.scheme", '"dctcp"']):
        assert pair in starts


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_of_claims_keeps_the_papers(tmp_path: Path, width: int) -> None:
    """Breaks if a verdict's count loses its paper, or more is left out than the one column that has
    no room beside the others in 80 columns: what cannot be tested."""
    words = ["reproduce", "qdaps/tab01", "--from-kept", "--out", "out"]
    [(heads, rows, left)] = tables_in(through_terminal(width, words, tmp_path))
    assert heads[:3] == ["paper", "claims", "reproduced"]
    assert [row[0] for row in rows] == ["qdaps", "all"]
    assert left == (["not testable"] if width == 80 else [])


WIDE = Table(
    "Title",
    "a note",
    ("name", "first", "second figure", "third", "words"),
    (("some-scheme", "1.00 ± 0.10", "12345678", "3", "a sentence of some words"),) * 2,
    importance=(0, 3, 2, 1, 0),
    sentences=(4,),
)


@pytest.mark.parametrize(
    ("width", "left"),
    [
        (90, []),
        (70, ["words"]),
        (50, ["words"]),
        (45, ["words", "third"][::-1]),
        (32, ["second figure", "third", "words"]),
        (24, ["second figure", "third", "words"]),
        (14, ["second figure", "third", "words"]),
    ],
)
def test_columns_go_by_importance(
    capsys: pytest.CaptureFixture[str], width: int, left: list[str]
) -> None:
    """Breaks if another column goes than the least important, or none where it has to; or if in a
    terminal that is too narrow for anything the cells are cut instead of folded."""
    show_table(WIDE, Console(force_terminal=True, width=width, color_system=None), "the file")
    said = capsys.readouterr().out
    assert all(len(line) <= width for line in said.splitlines())
    line = " ".join(said.partition("left out: ")[2].split())
    assert line == (f"{', '.join(left)}; all columns: the file" if left else "")
    [(_, rows, _)] = tables_in([*said.splitlines(), ""])
    assert width < 24 or rows[0][0] == "some-scheme"
    assert "".join(row[0] for row in rows) == "some-scheme" * 2
    assert "".join("".join(row[1].split()) for row in rows) == "1.00±0.10" * 2


def test_off_a_terminal_everything_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if what a script reads depends on a width."""
    show_table(WIDE, Console(force_terminal=False, width=20), "the file")
    said = capsys.readouterr().out
    assert "second figure" in said
    assert "a sentence of some words" in said
    assert "left out" not in said


def test_text_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if a variant called [bold] or :smile: becomes markup."""
    table = Table("[red]x", ":smile:", ("[b]head",), (("[bold]:smile:",),))
    show_table(table, Console(force_terminal=True, width=80, color_system=None), "")
    said = capsys.readouterr().out
    for text in ("[red]x", "[b]head", "[bold]:smile:"):
        assert text in said
    assert said.splitlines()[-2].strip() == ":smile:"


def test_progress_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if what progress shows wraps in a terminal of 80 columns: a line that has wrapped
    cannot be drawn over."""
    monkeypatch.setenv("TERM", "xterm")
    label = "two-choices workload.0.load=0.35 switch.buffer=200KB seed=12"
    case = Case(label, (), 1, "", (), "")
    shown: list[str] = []

    def lines(console: Console) -> None:
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", console.file.getvalue())  # type: ignore[attr-defined]
        shown.extend(line for line in re.split(r"[\r\n]+", text) if line.strip())

    def terminal(**_: object) -> Console:
        consoles.append(Console(file=io.StringIO(), force_terminal=True, width=80))
        return consoles[-1]

    consoles: list[Console] = []
    monkeypatch.setattr(progress, "Console", terminal)
    with progress.of_checks() as tell:
        assert tell is not None
        tell("building the fabric: ideal times 30 %" * 3)
    with progress.of_run(label) as watch:
        assert watch is not None
        watch(0, None, 0, 0, "building the fabric: ideal times 30 %")
        watch(123_456, 1_234_567, 10**9, 123_456_789, "")
    with progress.of_comparison(1200, 0) as event:
        event(Event("progress", case, 0.5, "building the fabric: ideal times 30 %"))
    with progress.of_fit(100_000) as report:
        report(12_345, label)(1, 2, 3, 4_000_000, "")
    for console in consoles:
        lines(console)
    assert len(shown) >= 5
    # What goes on after a wrap has no spinner.
    assert all("\u2800" <= line[0] <= "\u28ff" for line in shown), shown
    assert any("building the fabric: ideal times" in line for line in shown), shown


def test_meanings_of_collectives_fit() -> None:
    """Breaks if the table of a run's collectives has two lines a row in 80 columns."""
    metrics = measures.COLLECTIVE_METRICS
    rows = tuple((m.label, m.meaning, m.unit, "12345") for m in metrics)
    table = Table("", "", ("metric", "meaning", "unit", "value"), rows, (), 3, 1, sentences=(1,))
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    show_table(table, console, "")
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert len([line for line in said.splitlines() if "12345" in line]) == len(metrics)
    assert len([line for line in said.splitlines() if "│" in line]) == len(metrics)
