"""Papers on real hosts, on the fake engine: what is run, kept and said.

The fake engine's kernels turn the order of schemes round.
"""

import sys
from pathlib import Path

import pytest
from test_reproducing import FIGURE, library  # noqa: F401  (a fixture)

from leafspine.errors import InputError
from leafspine.reproduce import figures, on_linux, reproducing
from leafspine.reproduce.verdicts import Verdict
from test_engine import ROOT

sys.path.append(str(ROOT / "validation"))

import papers_on_linux

ASKED = """
[[on_linux]]
size = "50 flows"
set = { "workload.0.flows" = 50 }
sweep = { "run.seed" = [1, 2] }
claims = ["C1"]
notes = ["Their own timeouts."]
"""


def on_real_hosts(folder: Path, *words: str) -> int:
    """The script, on a folder of papers."""
    out = folder.parent / "on-linux"
    return papers_on_linux.main(["--papers", str(folder), "--out", str(out), "--jobs", "1", *words])


@pytest.fixture
def asking(library: Path) -> Path:  # noqa: F811
    """A library whose first figure asks for real hosts."""
    (library / "some" / "fig1" / "figure.toml").write_text(FIGURE + ASKED)
    return library


def test_a_verdict_that_changes(
    asking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if kernels are judged otherwise than the model, at another size, or if what changes is
    not said."""
    assert on_real_hosts(asking) == 0
    words = "1 verdict changes of 1 claim: C1 (reproduced: with kernels not reproduced)."
    assert f"some/fig1: {words}" in capsys.readouterr().out
    (found,) = figures.papers(asking)
    (sides,) = on_linux.sides(found.figures[0], found.claims, on_linux.kept(found.figures[0]))
    (beside,) = sides.claims
    assert (beside.model.verdict, beside.kernels.verdict) == (Verdict.REPRODUCED, Verdict.NOT)
    assert sides.seeds == 2
    rows = (asking / "some" / "fig1" / "linux" / "data.csv").read_text().splitlines()
    assert (
        sorted(row.split(",")[0] for row in rows[1:])
        == ["main~Linux kernels"] * 8 + ["main~the model's hosts"] * 8
    )
    assert len(list((tmp_path / "on-linux" / "runs").iterdir())) == 16


def test_pages_need_no_kernel(
    asking: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if pages are not made of the kept numbers alone, or lack what came of real hosts."""
    chosen = reproducing.choose(["some"], asking)
    reproducing.reproduce(chosen, "paper", tmp_path / "one", keep_in=asking)
    reproducing.from_kept(chosen, tmp_path / "before")
    assert "There are no numbers yet." in (tmp_path / "before/some/fig1/page.md").read_text()
    assert on_real_hosts(asking) == 0

    def no_kernel(*_: object) -> None:
        raise AssertionError("a page asks for a kernel")

    monkeypatch.setattr(on_linux, "wanted", no_kernel)
    reproducing.from_kept(chosen, tmp_path / "two")
    page = (tmp_path / "two/some/fig1/page.md").read_text()
    assert "## With Linux kernels as hosts" in page
    assert "50 flows, 2 seeds, both alike. 1 verdict changes of 1 claim" in page
    assert "Their own timeouts." in page
    assert "| C1 | reproduced | not reproduced |" in page
    assert "with kernels not reproduced" in (tmp_path / "two/report.html").read_text()
    assert "Linux kernels" not in (tmp_path / "two/some/fig2/page.md").read_text()


def test_a_failed_run_loses_nothing(asking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if numbers that were kept go when a run fails, or if that is no error."""
    assert on_real_hosts(asking) == 0
    kept = asking / "some" / "fig1" / "linux" / "data.csv"
    before = kept.read_bytes()
    figure = asking / "some" / "fig1" / "figure.toml"
    failing = ASKED.replace("= 50 }", '= 60, "run.fake_fail" = "no kernel answers" }')
    figure.write_text(FIGURE + failing)
    assert on_real_hosts(asking) == 1
    said = capsys.readouterr().err
    assert "some/fig1: no numbers of main~Linux kernels" in said
    assert "what was kept stays" in said
    assert kept.read_bytes() == before


def test_kept_runs_are_not_made_again(asking: Path, tmp_path: Path) -> None:
    """Breaks if numbers that are kept cost a run, or those of another scenario are taken for
    them."""
    assert on_real_hosts(asking) == 0
    assert papers_on_linux.main(["--papers", str(asking), "--out", str(tmp_path / "again")]) == 0
    assert list((tmp_path / "again" / "runs").iterdir()) == []
    figure = asking / "some" / "fig1" / "figure.toml"
    figure.write_text(
        figure.read_text().replace(
            '"workload.0.flows" = 50 }\nsweep', '"workload.0.flows" = 60 }\nsweep'
        )
    )
    assert papers_on_linux.main(["--papers", str(asking), "--out", str(tmp_path / "again")]) == 0
    assert len(list((tmp_path / "again" / "runs").iterdir())) == 16


WRONG = [
    ('claims = ["C1"]', 'claims = ["C3"]', "no claim 'C3'"),
    ('size = "50 flows"\n', "", "size"),
    ('size = "50 flows"', 'size = "50 flows"\nextends = "mian"', "main"),
    ('size = "50 flows"', 'size = "50 flows"\nflows = 3', "does not belong here"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG)
def test_wrong_tables_are_one_error(asking: Path, old: str, new: str, words: str) -> None:
    """Breaks if a figure asks for what there is not and nobody says so."""
    path = asking / "some" / "fig1" / "figure.toml"
    path.write_text(FIGURE + ASKED.replace(old, new))
    with pytest.raises(InputError, match=words):
        figures.papers(asking)


def test_a_figure_that_asks_for_nothing(asking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if the name of such a figure is no error."""
    assert on_real_hosts(asking, "some/fig2") == 2
    assert "allowed: some/fig1" in capsys.readouterr().err
