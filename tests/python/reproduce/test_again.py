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
    (("abq", "qdaps", "tam"), "1e6", 637),
    # The cheapest of QALL, a few seconds each, and of AQ-CAR, half a minute each on a fast core.
    (("qall/fig03", "qall/fig10", "qall/fig19", "qall/tab02"), "1.78e7", 19),
    (("aq-car/fig06",), "2.42652e8", 2),
]


@pytest.mark.parametrize(("names", "most", "kinds"), CHEAP, ids=["three papers", "qall", "aq-car"])
def test_kept_runs_are_those_of_today(names: tuple[str, ...], most: str, kinds: int) -> None:
    """Breaks if a run of a paper has other packets or metrics than when its numbers were kept: its
    claims are then judged by what leafspine no longer does, though the scenario is the same."""
    said = real("-m", "leafspine", "reproduce", *names, "--verify", most, "--jobs", 1)
    assert "no differences" in said
    # More may be kept one day; fewer would mean that some are no longer looked at.
    assert int(said.split()[0]) >= kinds


def test_what_is_kept_is_of_the_present_scenarios() -> None:
    """Breaks if a scenario, a figure or a default has changed in a paper without its kept numbers:
    claims would be judged by runs of another scenario, or by none."""
    assert real("-c", STALE) == ""


STALE = """
from leafspine.reproduce import again, reproducing
chosen = reproducing.choose(["all"])
kept = reproducing.kept(chosen)
for plan in reproducing.plans(chosen, "paper"):
    print(*again.kinds(plan, kept[plan.figure.path]).stale, sep="\\n", end="")
"""


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
    said = capsys.readouterr().out
    assert words in said and "no run is kept" in said
    assert verify(library, "12344") == 1
    said, error = capsys.readouterr()
    assert "0 kept runs" in said and "4 kinds of runs have more packet-hops" in said
    assert "no kept run was made again" in error
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


def test_what_is_no_longer_the_scenarios_is_named(
    library: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if kept rows of another scenario, or without a number, are left out without a word:
    nothing would be compared of them."""
    key = next(iter(numbers.read(kept.parent).origins.values()))[1].key
    whole = kept.read_text()
    kept.write_text(whole.replace(key, "0" * len(key), 1))
    assert verify(library) == 1
    assert "what is kept is of another scenario" in capsys.readouterr().out
    found = numbers.read(kept.parent)
    value = next(iter(found.values.values()))["all.fct_mean"][1]
    kept.write_text(whole.replace(f",{value:.9g},", ",,", 1))
    assert verify(library) == 1
    assert "what is kept lacks a number" in capsys.readouterr().out


def test_curves_are_compared(library: Path, kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if a curve that figures draw may be another one than what is kept."""
    curves = kept.with_name("series.csv")
    rows = curves.read_text().splitlines()
    rows[1] = rows[1].rsplit(",", 1)[0] + ",0.123"
    curves.write_text("\n".join(rows) + "\n")
    assert verify(library) == 1
    assert "series fct:short other values" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["--verify", "nan"], ["--verify", "-5"], ["--verify", "5", "--out", "x"]]
)
def test_what_would_compare_nothing_is_refused(options: list[str], library: Path) -> None:
    """Breaks if a check that looks at nothing ends well."""
    assert cli.invoke(["reproduce", "some", "--papers", str(library), *options]) == 2
    assert cli.invoke(["reproduce", *options]) == 2
