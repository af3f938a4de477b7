"""What claims that are not reproduced say of themselves, and where it is shown."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from leafspine.errors import InputError
from leafspine.reproduce import pages
from leafspine.reproduce.claims import read_claims
from leafspine.reproduce.verdicts import Finding, Judged, Part, Verdict
from test_engine import ROOT

CLAIM = """
[[claim]]
id = "C1"
place = "§1"
figure = "fig1"
type = "at"
says = "a third less"
[[claim.test]]
metric = "m"
scheme = "Ours"
against = "ECMP"
claimed = -30
[claim.open]
tried = "More seeds."
hinges = "On nothing known."
settles = "The script."
"""


def judged(tmp_path: Path, verdict: Verdict) -> list[Judged]:
    """The claim of a file with a verdict."""
    path = tmp_path / "claims.toml"
    path.write_text(CLAIM)
    (claim,) = read_claims(path)
    return [Judged(claim, (Finding((Part(verdict, "found"),)),))]


def test_only_claims_that_are_not_reproduced_show_it(tmp_path: Path) -> None:
    """Breaks if a sentence is lost, or stands beside a claim that has been reproduced since."""
    said = [("C1", "More seeds. On nothing known. The script.")]
    assert pages.open_claims(judged(tmp_path, Verdict.NOT)) == said
    for verdict in (Verdict.REPRODUCED, Verdict.DIRECTION, Verdict.MISSING):
        assert pages.open_claims(judged(tmp_path, verdict)) == []


def test_a_sentence_may_not_be_missing(tmp_path: Path) -> None:
    """Breaks if two of the three do, or another key is taken."""
    path = tmp_path / "claims.toml"
    for text in (CLAIM.replace('hinges = "On nothing known."\n', ""), CLAIM + 'more = "no"\n'):
        path.write_text(text)
        with pytest.raises(InputError):
            read_claims(path)


def not_reproduced(paper: str) -> set[str]:
    """Those of the scorecard."""
    rows = (ROOT / "docs" / "scorecard.md").read_text(encoding="utf-8").splitlines()
    cells = [re.split(r" (?<!\\)\| ", row) for row in rows]
    found = {row[0].removeprefix("| ") for row in cells if len(row) > 3 and row[3] == NOT}
    return {claim for claim in found if claim.startswith(paper)}


NOT = "not reproduced"


@pytest.mark.parametrize(
    ("paper", "letter"),
    [("abq", "B"), ("aq-car", "A"), ("qall", "L"), ("qdaps", "Q"), ("tam", "T")],
)
def test_all_that_are_not_reproduced_have_one(paper: str, letter: str) -> None:
    """Breaks if a claim of these papers fails and nothing says what was tried."""
    text = (ROOT / "papers" / paper / "claims.toml").read_text(encoding="utf-8")
    claims: list[dict[str, Any]] = tomllib.loads(text)["claim"]
    missing = not_reproduced(letter) - {claim["id"] for claim in claims if "open" in claim}
    assert not_reproduced(letter)
    assert missing == set()
