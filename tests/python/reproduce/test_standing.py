"""``docs/standing.py``: the picture of how many claims stand."""

import importlib.util
import re
import sys
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from leafspine.reproduce.verdicts import Verdict
from test_engine import ROOT

SPEC = importlib.util.spec_from_file_location("standing", ROOT / "docs" / "standing.py")
assert SPEC is not None and SPEC.loader is not None
standing = importlib.util.module_from_spec(SPEC)
sys.path.insert(0, str(ROOT / "docs"))
try:
    sys.modules["standing"] = standing
    SPEC.loader.exec_module(standing)
finally:
    sys.path.remove(str(ROOT / "docs"))
    del sys.modules["standing"]

Tried = standing.Tried
NOT, HOLDS = Verdict.NOT, Verdict.REPRODUCED


def chapter(name: str, *verdicts: Verdict) -> Any:
    """A paper with a claim of each of these verdicts: X1, X2 and so on."""
    judged = [
        SimpleNamespace(claim=SimpleNamespace(id=f"X{at}", tests=(test,)), verdict=verdict)
        for at, verdict in enumerate(verdicts, 1)
        for test in (SimpleNamespace(type="order" if at % 2 else "at"),)
    ]
    return SimpleNamespace(paper=SimpleNamespace(name=name), judged=judged)


@pytest.mark.parametrize(
    ("tried", "more"),
    [
        (Tried("x", "X2", NOT, HOLDS), {"X2"}),
        (Tried("x", "X2", NOT, Verdict.EXCEEDS), {"X2"}),
        (Tried("x", "X2", NOT, Verdict.DIRECTION), set()),
        (Tried("x", "X1", NOT, HOLDS), set()),  # holds as the paper is read
        (Tried("x", "X2", HOLDS, HOLDS), set()),  # at the points that were tried
        (Tried("x", "X2", NOT, HOLDS, shorter=True), set()),
        (Tried("x", "X2", NOT, HOLDS, whole=False), set()),
        (Tried(standing.KERNELS, "X2", NOT, HOLDS), set()),
    ],
)
def test_more_hold_where_the_setting_makes_them(tried: Any, more: set[str]) -> None:
    """Breaks if a claim counts that holds anyway, in part, in shorter runs or in smaller ones."""
    assert standing.more(chapter("abq", HOLDS, NOT), [tried]) == more


def drawn(monkeypatch: Any) -> ElementTree.Element:
    """The picture of two papers, the first with one of 90 claims that is reproduced."""
    monkeypatch.setattr(standing, "all_tried", lambda of: [Tried("x", "X2", NOT, HOLDS)])
    made = [chapter("abq", HOLDS, *[NOT] * 89), chapter("tam", *standing.ORDER)]
    return ElementTree.fromstring(standing.picture(made))


def test_a_picture_has_every_count(monkeypatch: Any) -> None:
    """Breaks if a verdict or a number is left out, a bar is not as long as all of its claims, or a
    part is too narrow for its number and hides it."""
    root = drawn(monkeypatch)
    texts = ["".join(entry.itertext()) for entry in root if entry.tag.endswith("text")]
    for name in ("ABQ", "TAM", "all", "90 claims", "6 claims", "96 claims", "1 more", "89", "90"):
        assert name in texts, name
    for verdict in standing.ORDER:
        assert standing.WORDS.get(verdict, verdict.words) in texts
    assert texts.count("1") == 1 + 6 + 4  # of all: 2 reproduced, 90 not, the others 1
    bars = [entry for entry in root if entry.get("height") == str(standing.HEIGHT)]
    widths: dict[str, float] = {}
    for bar in bars:
        widths[bar.attrib["y"]] = widths.get(bar.attrib["y"], 0) + float(bar.attrib["width"])
    assert list(widths.values()) == pytest.approx([standing.BAR] * 3, abs=1)
    narrow = next(e for e in root if e.get("font-size") == "13" and e.text == "1")
    assert float(narrow.attrib["y"]) < standing.TOP


def test_a_picture_is_readable_without_colours(monkeypatch: Any) -> None:
    """Breaks if a fill is no grey or pattern of greys, if two verdicts look alike, if it is wider
    than 800 pixels, or its letters smaller than 13."""
    root = drawn(monkeypatch)
    text = ElementTree.tostring(root, encoding="unicode")
    greys = {"".join(sorted(set(colour))) for colour in re.findall(r'"#(\w+)"', text)}
    assert all(len(grey) == 1 for grey in greys)
    assert len(set(standing.FILLS.values())) == len(standing.ORDER)
    assert root.attrib["viewBox"].split()[2] == "800"
    assert min(int(size) for size in re.findall(r'font-size="(\d+)"', text)) >= 13
    rights = [
        float(e.attrib["x"]) + float(e.attrib["width"])
        for e in root
        if e.get("x") and e.get("width")
    ]
    assert max(rights) <= 800


def test_the_words_have_the_picture_s_numbers(monkeypatch: Any) -> None:
    """Breaks if the sentence under the picture gives other numbers, or its place is lost."""
    monkeypatch.setattr(standing, "all_tried", lambda of: [Tried("x", "X4", NOT, HOLDS)])
    text = f"a\n{standing.BEGIN}\nbefore\n{standing.END}\nb"
    words = standing.with_standing(text, [chapter("tam", *standing.ORDER, NOT)])
    assert words.startswith("a\n") and words.endswith("\nb") and "before" not in words
    assert standing.PICTURE in words and "Of 7 claims 1 are reproduced" in words
    assert "2 are not reproduced" in words and "1 of those that do not hold" in words
    # X1 to X7 in turn, the first two of which hold; X6 cannot be tested.
    assert "Of 4 that state an order alone 1 hold, of 2 that say by how much" in words
    with pytest.raises(AssertionError):
        standing.with_standing("no place", [])
