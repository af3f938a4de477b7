"""Claims that the paper itself rules out, by arithmetic on what it states; and better results."""

from pathlib import Path

import pytest

from leafspine.engine import Point
from leafspine.errors import InputError
from leafspine.reproduce.claims import Claim, read_claims
from leafspine.reproduce.contradictions import condition, value_of
from leafspine.reproduce.data import Data
from leafspine.reproduce.judging import judge
from leafspine.reproduce.verdicts import Judged, Verdict

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
{test}
[[claim.contradiction]]
says = "the other figure has more"
stated = {{ a = [0.5, "§2"], b = [3, "Fig. 1"] }}
steps = ["c = a * b ** 2", "d = tolerance(30) + sqrt(c - a)"]
rules_out = "{rule}"
"""

SIMILAR = """
[[claim.test]]
type = "similar"
metric = "m"
scheme = "Ours"
against = "ECMP"
bound = 10
better = "less"
"""


def claim(tmp_path: Path, rule: str = "d > c", test: str = "", system: str = "Ours") -> Claim:
    """The claim of a file."""
    path = tmp_path / "claims.toml"
    path.write_text(CLAIM.format(rule=rule, test=test))
    (found,) = read_claims(path, {}, [system])
    return found


def judged(found: Claim, ours: list[float]) -> Judged:
    """Against an ECMP of 10."""
    data = Data()
    point: Point = ()
    for variant, values in (("Ours", ours), ("ECMP", [10.0] * len(ours))):
        for seed, value in enumerate(values, 1):
            data.put(("main", variant, point), "m", seed, value)
    return judge(found, data)


def test_a_contradiction_is_computed(tmp_path: Path) -> None:
    """Breaks if a reason counts although its numbers do not bear it out, or they are not shown."""
    found = judged(claim(tmp_path), [12.0, 12.1, 12.0])
    assert (found.tested, found.verdict) == (Verdict.NOT, Verdict.CONTRADICTS)
    assert found.verdict.words == "contradicts the paper"
    for words in ("a = 0.5 (§2)", "b = 3 (Fig. 1)", "c = a * b ** 2 = 4.5", "= 12; d > c"):
        assert words in found.found and words in found.brief, words
    assert "(not reproduced)" in found.found
    unborne = judged(claim(tmp_path, "d < c"), [12.0, 12.1, 12.0])
    assert unborne.verdict == Verdict.NOT and "Fig. 1" not in unborne.found


def test_what_is_reproduced_contradicts_nothing(tmp_path: Path) -> None:
    """Breaks if a claim that holds is said to be ruled out, or one without numbers."""
    assert judged(claim(tmp_path), [7.0, 7.1, 7.0]).verdict == Verdict.REPRODUCED
    assert judged(claim(tmp_path), [9.0, 9.1, 9.0]).verdict == Verdict.CONTRADICTS
    assert judge(claim(tmp_path), Data()).verdict == Verdict.MISSING


def test_better_than_claimed(tmp_path: Path) -> None:
    """Breaks if a system that does better than its paper says is one that fails, if another's does
    exceed, or if that is not certain."""
    assert judged(claim(tmp_path, "d < c"), [3.0, 3.1, 3.0]).verdict == Verdict.EXCEEDS
    other = claim(tmp_path, "d < c", system="Theirs")
    assert judged(other, [3.0, 3.1, 3.0]).verdict == Verdict.DIRECTION
    assert judged(claim(tmp_path, "d < c"), [3.0, 4.5, 6.0]).verdict == Verdict.DIRECTION
    # A claim has the worst of its tests: near, and better, is better; short, and better, is short.
    both = claim(tmp_path, "d < c", SIMILAR)
    assert [f.verdict for f in judged(both, [7.0, 7.1, 7.0]).findings] == [
        Verdict.REPRODUCED,
        Verdict.EXCEEDS,
    ]
    assert judged(both, [7.0, 7.1, 7.0]).verdict == Verdict.EXCEEDS
    assert judged(both, [14.0, 14.1, 14.0]).verdict == Verdict.NOT


VALUE = """
[[claim.test]]
type = "abs"
metric = "m"
scheme = "{scheme}"
{bound}
better = "less"
"""


def test_only_praise_of_an_own_system_has_a_better_side(tmp_path: Path) -> None:
    """Breaks if another scheme's value, or a bound, can be exceeded."""
    claim(tmp_path, "d < c", VALUE.format(scheme="Ours", bound="claimed = 4"))
    with pytest.raises(InputError, match="the paper's own systems"):
        claim(tmp_path, "d < c", VALUE.format(scheme="ECMP", bound="claimed = 4"))
    with pytest.raises(InputError, match="the paper's own systems"):
        claim(tmp_path, "d < c", SIMILAR, system="Theirs")
    with pytest.raises(InputError, match="abs with a claimed value"):
        claim(tmp_path, "d < c", VALUE.format(scheme="Ours", bound="below = 4"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('[3, "Fig. 1"]', "3", "[number, its place in the paper]"),
        ('[3, "Fig. 1"]', '[3, " "]', "[number, its place in the paper]"),
        ('"d > c"', '"1 < 2"', "d: of no use"),
        ('"d > c"', '"d"', "no comparison"),
        ('"d > c"', '"d > e"', "'e' is no number"),
        ("a * b ** 2", "a * open(b)", "is no number, name or formula"),
        ("a * b ** 2", "a.real * b", "is no number, name or formula"),
        ("a * b ** 2", "a / (b - 3)", "division by zero"),
        ("c = a", "a", "name = formula"),
        ("stated = {", "stated = {}\nsteps = []\nx = {", "a number or more of the paper"),
    ],
)
def test_what_is_no_arithmetic_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Breaks if a contradiction may go without the paper's numbers, or run anything but sums."""
    path = tmp_path / "claims.toml"
    text = CLAIM.format(rule="d > c", test="")
    assert old in text
    text = text.replace(old, new, 1)
    if new.startswith("stated"):
        text = text[: text.index("x = {")] + 'rules_out = "1 < 2"\n'
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_claims(path)
    assert said in str(caught.value), str(caught.value)


def test_arithmetic() -> None:
    """Breaks if an operator or a function is another."""
    numbers = {"a": 2.0, "b": -3.0}
    assert value_of("-a * (b + 1) ** 2 / 4 - max(a, b)", numbers) == -4.0
    assert value_of("log(exp(a)) + abs(b) + min(a, b)", numbers) == pytest.approx(2.0)
    assert condition("a >= 2", numbers) and not condition("a < b", numbers)
