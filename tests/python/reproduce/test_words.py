"""What papers' words are worth: one bound a word, in one file, used by the tests of all claims."""

from pathlib import Path

import pytest

from leafspine.engine import Point
from leafspine.errors import InputError
from leafspine.reproduce import words
from leafspine.reproduce.claims import Check, Claim, read_claims
from leafspine.reproduce.data import Data
from leafspine.reproduce.judging import judge
from leafspine.reproduce.verdicts import Verdict

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
        ("order", "greatly", {"by": 40.0}),
    ],
)
def test_a_word_sets_the_bound_of_its_test(
    tmp_path: Path, kind: str, word: str, bounds: dict[str, float]
) -> None:
    """Breaks if a word has two bounds, or sets another one than that of the test's type."""
    found = test_of(tmp_path, kind, word)
    for name in ("bound", "below", "above", "by"):
        assert (getattr(found, name) or None) == bounds.get(name), name


@pytest.mark.parametrize(
    ("kind", "word", "more", "said"),
    [
        ("similar", "comparabel", "", 'did you mean "comparable"'),
        ("similar", "greatly", "", "no word for a test of type 'similar'"),
        ("similar", "comparable", "\nbound = 10", "bound would be another"),
    ],
)
def test_a_word_that_does_not_fit_is_refused(
    tmp_path: Path, kind: str, word: str, more: str, said: str
) -> None:
    """Breaks if a misspelt word passes without a bound, or a number overrules a word's."""
    with pytest.raises(InputError) as caught:
        test_of(tmp_path, kind, word, more)
    assert said in str(caught.value)


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


def test_no_claim_has_a_bound_of_its_own_for_a_word() -> None:
    """Breaks if a paper's claims write the bound of a comparison themselves."""
    for path in sorted(SHIPPED.parent.glob("*/claims.toml")):
        assert "\nbound = " not in path.read_text(), path


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
