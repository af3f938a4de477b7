"""Kept runs made again: what is compared, and that leafspine still makes the papers'."""

from pathlib import Path

import pytest
from small_paper import library_of_one  # noqa: F401  (the fixture library)
from test_papers import real

from leafspine import cli
from leafspine.reproduce import again, reproducing
from leafspine.reproduce import data as numbers

CHEAP = [
    # Some 450 runs of under a second each.
    (("abq", "qdaps", "tam"), "1e6"),
    # The cheapest of QALL. AQ-CAR has none below 2.4e8, a minute each.
    (("qall/fig03",), "4.1e6"),
]


@pytest.mark.parametrize(("names", "most"), CHEAP, ids=["three papers", "qall"])
def test_kept_runs_are_those_of_today(names: tuple[str, ...], most: str) -> None:
    """Breaks if a run of a paper has other packets or metrics than when its numbers were kept: its
    claims are then judged by what leafspine no longer does, though the scenario is the same."""
    said = real("-m", "leafspine", "reproduce", *names, "--verify", most, "--jobs", 1)
    assert "no differences" in said and not said.startswith("0 ")


@pytest.fixture(name="kept")
def kept_numbers(library: Path, tmp_path: Path) -> Path:
    """The table of a figure whose runs are kept."""
    chosen = reproducing.choose(["some/fig1"], library)
    reproducing.reproduce(chosen, "paper", tmp_path / "out", keep_in=library)
    return library / "some" / "fig1" / numbers.FILE


def verify(library: Path, most: str = "12345") -> int:
    """The exit code of the command."""
    return cli.invoke(["reproduce", "some", "--papers", str(library), "--verify", most])


def test_the_cheapest_of_each_kind_is_made_again(
    library: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if a kind of runs is left out, a run is dearer than was asked for, not the cheapest of
    its kind or counted twice, or one without kept numbers is made."""
    assert verify(library) == 0
    # Two schemes, as the paper is read and with more flows; the other figure keeps nothing.
    words = "4 kept runs made again, the trace hash compared of 4: no differences"
    assert words in capsys.readouterr().out
    assert verify(library, "12344") == 0
    assert "0 kept runs" in capsys.readouterr().out
    rows = kept.read_text().splitlines()
    kept.write_text("\n".join([*rows[:-1], rows[-1].replace("12345", "12344")]) + "\n")
    assert verify(library) == 1
    said = capsys.readouterr().out
    assert "packet-hops 12345, kept 12344" in said and "4 kept runs" in said


@pytest.mark.parametrize("version", ["", "0.1.0+0ba39d3"])
def test_what_is_another_is_named(
    version: str, library: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if another metric or trace hash passes, a difference is not named with its run, or a
    hash of the kind of before is compared."""
    found = numbers.read(kept.parent)
    place, seeds = next(iter(found.origins.items()))
    origin = seeds[1]
    value = found.values[place]["all.fct_mean"][1]
    kept.write_text(
        kept.read_text()
        .replace(f",{value:.9g},", ",1,", 1)
        .replace(f",{origin.trace_hash}\n", ",0123456789abcdef\n", 1)
        .replace(f",{origin.version},", f",{version or origin.version},", 1)
    )
    assert verify(library) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"all.fct_mean {value:.9g}, kept 1.0" in "".join(lines)
    assert lines[0].startswith("some/fig1, main, ECMP")
    assert any("trace hash" in line and "0123456789abcdef" in line for line in lines) == (
        version not in again.OTHER_HASHES
    )
