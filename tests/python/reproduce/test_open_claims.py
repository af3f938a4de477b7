"""What claims that are not reproduced say of themselves, and where it is shown."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from leafspine.errors import InputError
from leafspine.reproduce import data, figures, pages
from leafspine.reproduce.claims import Claim, Open, read_claims
from leafspine.reproduce.figures import Figure
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
    said = [("C1", "More seeds. It hinges on nothing known. Would settle it: The script.")]
    assert pages.open_claims(judged(tmp_path, Verdict.NOT)) == said
    for verdict in (Verdict.REPRODUCED, Verdict.DIRECTION, Verdict.MISSING):
        assert pages.open_claims(judged(tmp_path, verdict)) == []


@pytest.mark.parametrize(
    ("hinges", "said"),
    [
        ("On 10 senders.", "It hinges on 10 senders."),
        ("In its sign on the gap.", "It hinges in its sign on the gap."),
        ("It hinges on SACK.", "It hinges on SACK."),
        ("Nothing tried brings it there.", "Nothing tried brings it there."),
    ],
)
def test_what_it_hinges_on_is_a_sentence(hinges: str, said: str) -> None:
    """Breaks if the scorecard says "Hinges: On"."""
    assert Open("More seeds.", hinges, "The script.").text == (
        f"More seeds. {said} Would settle it: The script."
    )


def test_a_sentence_may_not_be_missing(tmp_path: Path) -> None:
    """Breaks if two of the three do, or another key is taken."""
    path = tmp_path / "claims.toml"
    for text in (CLAIM.replace('hinges = "On nothing known."\n', ""), CLAIM + 'more = "no"\n'):
        path.write_text(text)
        with pytest.raises(InputError):
            read_claims(path)


def both(tmp_path: Path, more: str) -> tuple[Claim, ...]:
    """The claim, and another that says this of what it hinges on and what would settle it."""
    path = tmp_path / "claims.toml"
    other = CLAIM.partition("hinges = ")[0].replace('"C1"', '"C2"')
    path.write_text(CLAIM + other + more)
    return read_claims(path)


def test_what_is_referred_to_stands_beside_the_claim(tmp_path: Path) -> None:
    """Breaks if a reader of the scorecard has to look up what would settle a claim, or if its own
    sentence is lost."""
    _, claim = both(tmp_path, 'hinges_as = "C1"\nsettles = "The traces."\nsettles_as = "C1"\n')
    assert claim.open is not None
    assert claim.open.text == (
        "More seeds. It hinges on nothing known. (As C1.) "
        "Would settle it: The traces. The script. (As C1.)"
    )


@pytest.mark.parametrize("other", ["C3", "C2"])
def test_who_says_nothing_is_not_referred_to(tmp_path: Path, other: str) -> None:
    """Breaks if a claim may refer to one that there is not, or to itself."""
    with pytest.raises(InputError) as found:
        both(tmp_path, f'hinges = "On SACK."\nsettles_as = "{other}"\n')
    expected = f"C2.open: settles_as: {other} has no such sentence of its own"
    assert expected in str(found.value)


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


UNTRIED = re.compile(r"\bnothing (else )?(was )?(tried )?beyond\b", re.IGNORECASE)
NOT_RUN = re.compile(r"\b(not|never) (been )?run\b", re.IGNORECASE)
SMALL = {"and", "the", "with", "that", "for", "its"}


def words(text: str) -> set[str]:
    """Those that say which setting is meant, cut so that "sends" and "sender" are one."""
    found = re.findall(r"[\w/]+", text.lower())
    return {w[:4] for w in found if w not in SMALL and (len(w) > 2 or w.isdigit())}


def denied(text: str, names: list[str]) -> list[str]:
    """Which of these settings, all of which have runs, a text says were not tried: all if nothing
    was, and one that is named, by half of its words or more, where something was not run."""
    parts = re.split(r"[;.](?=\s|$)", text)
    missing = [words(part) for part in parts if NOT_RUN.search(part)]
    return [
        name
        for name in names
        if UNTRIED.search(text)
        or any(2 * len(words(name) & part) >= len(words(name)) for part in missing)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nothing beyond the main reading: 0.3 % [0.0, 0.6].", ["gap of 500 us", "slow ports"]),
        ("Five hold; nothing was tried beyond the main reading.", ["gap of 500 us", "slow ports"]),
        ("It is 3 % with a gap of 500 us; with slow ports it was not run here.", ["slow ports"]),
        ("With gaps of 500 us it has not been run.", ["gap of 500 us"]),
        ("With slow ports 3 %, with a gap of 500 us 2 %. A third was not run.", []),
        ("Nothing tried is nearer; the queue is not run dry.", []),
    ],
)
def test_what_a_text_denies(text: str, expected: list[str]) -> None:
    """Breaks if a text may say of a setting that was run that it was not, or of none."""
    assert denied(text, ["gap of 500 us", "slow ports"]) == expected


def tried(figure: Figure, claim: Claim, kept: data.Data) -> list[str]:
    """The settings under which a claim is judged and that have numbers."""
    run = {place[0] for place in kept.origins}
    return [
        other.name
        for other in figure.sensitivities
        if run.intersection(map(other.run_set, other.runs))
        and (claim.id in other.claims or not other.claims)
    ]


def test_what_was_tried_is_not_said_to_be_untried() -> None:
    """Breaks if a text says that nothing was tried, or that a setting was not run, and the kept
    numbers have it."""
    wrong = []
    for paper in figures.papers():
        for figure in paper.figures:
            kept = data.read(figure.folder)
            for claim in paper.claims_of(figure.name):
                text = claim.open.text if claim.open else ""
                for name in denied(text, tried(figure, claim, kept)):
                    wrong.append(f"{claim.id}: {name}")
    assert wrong == []


def test_who_is_referred_to_says_something() -> None:
    """Breaks if a text is "As L74." and L74 has none."""
    claims = [claim for paper in figures.papers() for claim in paper.claims]
    said = {claim.id: claim.open.text for claim in claims if claim.open}
    named = [
        (claim, other)
        for claim, text in said.items()
        for other in re.findall(r"\b(?:[Aa]s|settles) ([ABLQT]\d+)\b", text)
    ]
    assert named
    assert [pair for pair in named if pair[1] not in said] == []
