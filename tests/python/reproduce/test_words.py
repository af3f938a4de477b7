"""What papers' words are worth: one bound a word, in one file, used by the tests of all claims."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leafspine.engine import Point
from leafspine.errors import InputError
from leafspine.reproduce import words
from leafspine.reproduce.claims import BOUNDS, SENSES, Check, Claim, read_claims
from leafspine.reproduce.data import Data
from leafspine.reproduce.judging import judge
from leafspine.reproduce.verdicts import Judged, Verdict

SHIPPED = Path(__file__).parents[3] / "papers" / words.FILE

CLAIM = """
[[claim]]
id = "C1"
place = "§1"
figure = "fig1"
type = "{kind}"
says = "so"
[[claim.test]]
metric = "m"
{keys}
word = "{word}"
"""

KEYS = {
    "similar": 'scheme = "A"\nagainst = "B"',
    "flat": 'scheme = "A"',
    "abs": 'scheme = "A"',
    "order": 'less = ["A", "B"]',
    "rise": 'scheme = "A"',
}


def test_of(tmp_path: Path, kind: str, word: str, more: str = "") -> Check:
    """The test of a claim with a word."""
    path = tmp_path / "claims.toml"
    path.write_text(CLAIM.format(kind=kind, keys=KEYS[kind] + more, word=word))
    (claim,) = read_claims(path, words.read(SHIPPED))
    return claim.tests[0]


test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "word", "bounds"),
    [
        ("similar", "comparable", {"bound": 20.0}),
        ("similar", "similar", {"bound": 10.0}),
        ("flat", "hardly changes", {"bound": 20.0}),
        ("abs", "few", {"below": 5.0}),
        ("abs", "close", {"below": 20.0}),
        ("abs", "almost fully", {"above": 90.0}),
        ("abs", "not stable", {"above": 20.0}),
        ("order", "greatly", {"by": 40.0}),
        ("rise", "much", {"by": 40.0}),
    ],
)
def test_a_word_sets_the_bound_of_its_test(
    tmp_path: Path, kind: str, word: str, bounds: dict[str, float]
) -> None:
    """Breaks if a word has two bounds, or sets another one than that of the test's type."""
    found = test_of(tmp_path, kind, word)
    for name in BOUNDS:
        assert (getattr(found, name) or None) == bounds.get(name), name


def test_a_share_may_be_of_another_whole(tmp_path: Path) -> None:
    """Breaks if a word's percent are taken for the unit of a metric whose whole is not 100."""
    assert test_of(tmp_path, "abs", "not stable", "\nwhole = 1").above == pytest.approx(0.2)
    assert test_of(tmp_path, "abs", "not full", "\nwhole = 50").below == pytest.approx(45)


@pytest.mark.parametrize(
    ("kind", "word", "more", "said"),
    [
        ("similar", "comparabel", "", 'did you mean "comparable"'),
        ("similar", "greatly", "", "no word for a test of type 'similar'"),
        ("similar", "comparable", "\nbound = 10", "bound would be another"),
        ("abs", "none", "\nbelow = 0", "below would be another"),
        ("similar", "comparable", "\nwhole = 1", "does not belong here"),
        ("rise", "much", '\nagainst = "B"', "rise of an advantage"),
    ],
)
def test_a_word_that_does_not_fit_is_refused(
    tmp_path: Path, kind: str, word: str, more: str, said: str
) -> None:
    """Breaks if a misspelt word passes without a bound, or a number, even zero, overrules a
    word's."""
    with pytest.raises(InputError) as caught:
        test_of(tmp_path, kind, word, more)
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", ["similar", "flat"])
def test_alike_is_not_said_without_how_much(tmp_path: Path, kind: str) -> None:
    """Breaks if a bound stands somewhere else for tests that give none."""
    text = CLAIM.format(kind=kind, keys=KEYS[kind], word="similar")
    path = tmp_path / "claims.toml"
    path.write_text(text.replace('word = "similar"', ""))
    with pytest.raises(InputError, match="lacks a key"):
        read_claims(path, words.read(SHIPPED))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[a]\nwithin = 1\nbelow = 2\nwhy = ""', "needs one of within"),
        ('[a]\nwhy = ""', "needs one of within"),
        ('[a]\nwithin = 1\nwhy = ""\n[b]\nalso = ["a"]\nbelow = 2\nwhy = ""', "bound already"),
        ("[a]\nwithin = 1", "a.why: found nothing"),
    ],
)
def test_one_bound_a_word(tmp_path: Path, text: str, said: str) -> None:
    """Breaks if a word can stand twice, with two bounds, with none, or without a reason."""
    (tmp_path / words.FILE).write_text(text)
    with pytest.raises(InputError) as caught:
        words.read(tmp_path / words.FILE)
    assert said in str(caught.value)


def all_tests_written() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each claim of the five papers, and of the public ones, with each of its tests as written."""
    public = SHIPPED.parents[1] / "validation" / "public"
    for path in sorted([*SHIPPED.parent.glob("*/claims.toml"), *public.glob("*/claims.toml")]):
        for claim in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]:
            yield from ((claim, test) for test in claim.get("test", []))


def own_bounds(claim: dict[str, Any], test: dict[str, Any]) -> list[float]:
    """The bounds of a test that neither a word nor a number in the claim's sentence gives. Zero is
    none: it is a sign; nor is one, where a metric is in units of what the sentence names."""
    said = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", claim["says"])} | {0.0, 1.0}
    return [test[name] for name in BOUNDS if name in test and abs(test[name]) not in said]


def test_no_claim_has_a_bound_of_its_own_for_a_word() -> None:
    """Breaks if a claim writes a bound, by whatever key, that its sentence does not state."""
    assert set(SENSES.values()) <= set(BOUNDS)
    found = {
        claim["id"]: own for claim, test in all_tests_written() if (own := own_bounds(claim, test))
    }
    assert not found
    for name in BOUNDS:
        assert own_bounds({"says": "by little"}, {name: 0.5}) == [0.5]
        assert not own_bounds({"says": "by 0.5 of it"}, {name: 0.5})


def test_no_word_is_there_for_no_claim() -> None:
    """Breaks if the dictionary gives a bound to a word that no claim uses."""
    known = words.read(SHIPPED)
    used = {known[test["word"]].name for _, test in all_tests_written() if "word" in test}
    assert used == {word.name for word in known.values()}


def far(ours: list[float], theirs: list[float]) -> Verdict:
    """The verdict on "greatly less"."""
    data = Data()
    point: Point = ()
    for variant, values in (("A", ours), ("B", theirs)):
        for seed, value in enumerate(values, 1):
            data.put(("main", variant, point), "m", seed, value)
    test = Check("order", "m", less=("A", "B"), by=40.0)
    return judge(Claim("X", "", "fig", "order", "", "", (test,)), data).verdict


def test_greatly_wants_more_than_the_sign() -> None:
    """Breaks if a small difference, or one that may be small, passes for a great one."""
    assert far([10, 11, 10], [20, 21, 19]) == Verdict.REPRODUCED
    assert far([10, 11, 10], [14, 15, 14]) == Verdict.DIRECTION  # 30 % of the mean of both
    assert far([10, 11, 10], [13, 22, 19]) == Verdict.DIRECTION  # the interval holds 40 %
    assert far([20, 21, 19], [10, 11, 10]) == Verdict.NOT


def rising(first: list[float], last: list[float]) -> Judged:
    """The claim that something becomes "much larger" over a sweep."""
    data = Data()
    for load, values in ((0.4, first), (0.8, last)):
        for seed, value in enumerate(values, 1):
            data.put(("main", "A", (("load", load),)), "m", seed, value)
    test = Check("rise", "m", scheme="A", by=40.0)
    return judge(Claim("X", "", "fig", "rise", "", "", (test,)), data)


def test_a_rise_by_much_is_by_the_same_factor() -> None:
    """Breaks if a rise needs less or more than the factor of 1.5 that two schemes need."""
    assert rising([10, 11, 10], [20, 21, 19]).verdict == Verdict.REPRODUCED
    assert rising([100, 100, 100], [150.4, 150.2, 150.3]).verdict == Verdict.REPRODUCED
    assert rising([100, 100, 100], [149.8, 149.6, 149.7]).verdict == Verdict.DIRECTION
    assert rising([10, 11, 10], [9, 10, 9]).verdict == Verdict.NOT
    assert "bound: 50 %" in rising([10, 11, 10], [20, 21, 19]).found
