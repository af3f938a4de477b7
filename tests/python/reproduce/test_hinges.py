"""``docs/hinges.py``: a setting that was tried is compared with the same runs."""

import importlib.util
import json
from types import SimpleNamespace
from typing import Any

import pytest

from leafspine.reproduce.claims import Check, Claim
from leafspine.reproduce.data import Data, Origin
from leafspine.reproduce.figures import Sensitivity
from leafspine.reproduce.judging import as_read, judge
from leafspine.reproduce.pages import Sensitive
from leafspine.reproduce.verdicts import Finding, Judged, Part, Verdict
from test_engine import ROOT, python

SPEC = importlib.util.spec_from_file_location("hinges", ROOT / "docs" / "hinges.py")
assert SPEC is not None and SPEC.loader is not None
hinges = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hinges)

FEW = (("load", 0.8),)
MORE = (("load", 0.2),)
ORIGIN = Origin("key", "0", 1, "hash")


def data(other: tuple[tuple[str, float], ...]) -> Data:
    """Two loads and three seeds as the paper is read, one load and one seed otherwise."""
    found = Data()
    for runs, point, seeds in (
        ("main", MORE, (1, 2, 3)),
        ("main", FEW, (1, 2, 3)),
        ("next", MORE, (1, 2)),
        ("main~x", other, (2,)),
    ):
        for seed in seeds:
            found.put((runs, "ECMP", point), "m", seed, 1.0)
            found.put_batches((runs, "ECMP", point), "m", seed, [1.0, 2.0])
            found.put_origin((runs, "ECMP", point), seed, ORIGIN)
    return found


def test_only_what_both_have_is_compared() -> None:
    """Breaks if a claim on a whole sweep is said to hinge on a setting tried at its end alone."""
    cut = data(FEW).alike("main", "main~x")
    assert cut.points("main") == (FEW,)
    assert list(cut.seeds(("main", "ECMP", FEW), "m")) == [2]
    assert list(cut.samples(("main", "ECMP", FEW), "m")) == [(2, 0), (2, 1)]
    assert list(cut.seeds(("next", "ECMP", MORE), "m")) == [1, 2]


def test_another_sweep_is_left_as_it_is() -> None:
    """Breaks if nothing is left of the paper's sweep, where the setting has another one."""
    other = data((("load", 0.5),))
    assert other.alike("main", "main~x") == other


def page_of(found: Any, claim: Claim, other: Sensitivity, after: Any) -> Any:
    """A figure's page with this sensitivity and its verdict."""
    return SimpleNamespace(
        judged=(SimpleNamespace(claim=claim),),
        figure=SimpleNamespace(sensitivities=(other,)),
        sensitive=(Sensitive("x", after, as_read(claim, other, found), ""),),
        data=found,
        on_linux=(),
    )


def test_a_setting_of_several_sets(monkeypatch: Any) -> None:
    """Breaks if one of the sets that a setting changes is compared at points where it was not
    tried, or left out of the verdict."""
    found = data(FEW)
    for seed in (1, 2):
        found.put(("next", "A", MORE), "m", seed, 2.0)
        found.put(("next", "A", FEW), "m", seed, 1.0)
        found.put(("next", "ECMP", FEW), "m", seed, 100.0)
        found.put(("next~x", "ECMP", MORE), "m", seed, 3.0 + seed)
        found.put(("next~x", "A", MORE), "m", seed, 2.0)
        found.put_origin(("next~x", "ECMP", MORE), seed, ORIGIN)
        found.put_origin(("next~x", "A", MORE), seed, ORIGIN)
    tests = (
        Check("abs", "m", runs="main", scheme="ECMP", at={"load": 0.8}, below=2),
        Check("order", "m", runs="next", less=("A", "ECMP")),
    )
    claim = Claim("L1", "§1", "fig", "abs", "", "", tests)
    after = SimpleNamespace(claim=claim, verdict=Verdict.DIRECTION)
    other = Sensitivity("x", ("main", "next"), (), ("L1",))
    page = page_of(found, claim, other, after)
    chapter = SimpleNamespace(pages=(page,))
    monkeypatch.setattr(hinges, "_shorter", lambda figure, runs, name: "")
    assert hinges.all_tried(chapter) == [hinges.Tried("x", "L1", Verdict.NOT, Verdict.DIRECTION)]


def test_a_point_of_its_own_is_beside_the_claims(monkeypatch: Any) -> None:
    """Breaks if a setting that is judged at another point than the claim is compared with nothing,
    or with the paper's reading at that point."""
    found = data(MORE)
    for seed in (1, 2, 3):
        found.put_batches(("main", "ECMP", FEW), "m", seed, [5.0, 6.0])
    test = Check("abs", "m", scheme="ECMP", at={"load": 0.8}, below=2)
    claim = Claim("L1", "§1", "fig", "abs", "", "", (test,))
    after = judge(claim.moved({"load": 0.2}), found, "~x")
    other = Sensitivity("x", ("main",), (), ("L1",), {"load": 0.2})
    page = page_of(found, claim, other, after)
    monkeypatch.setattr(hinges, "_shorter", lambda figure, runs, name: "")
    [tried] = hinges.all_tried(SimpleNamespace(pages=(page,)))
    assert (tried.before, tried.after) == (Verdict.NOT, after.verdict)
    assert after.verdict not in (Verdict.NOT, Verdict.MISSING)


def test_settings_of_linux_are_tried_beside_kernels() -> None:
    """Breaks if a verdict that changes with Linux's settings seems to hinge on kernels alone."""
    claim = SimpleNamespace(id="B2")
    verdicts = (Verdict.REPRODUCED, Verdict.DIRECTION, Verdict.NOT)
    model, profile, kernels = (SimpleNamespace(claim=claim, verdict=each) for each in verdicts)
    sides = SimpleNamespace(known=[SimpleNamespace(model=model, profile=profile, kernels=kernels)])
    figure = SimpleNamespace(sensitivities=())
    page = SimpleNamespace(judged=(), figure=figure, sensitive=(), on_linux=(sides,))
    assert hinges.all_tried(SimpleNamespace(pages=(page,))) == [
        hinges.Tried(hinges.KERNELS, "B2", Verdict.REPRODUCED, Verdict.NOT),
        hinges.Tried(hinges.PROFILE, "B2", Verdict.REPRODUCED, Verdict.DIRECTION),
    ]


SHORTER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import hinges
from leafspine.reproduce import reproducing
found = {}
names = ["tam/fig07", "tam/fig10", "tam/fig12", "qdaps/fig12", "qdaps/fig16"]
for chosen in reproducing.choose(names):
    for figure in chosen.figures:
        for other in figure.sensitivities:
            found[figure.path + ": " + other.name] = hinges._shorter(figure, other.runs, other.name)
print(json.dumps(found))
"""


def test_shorter_runs_say_so() -> None:
    """Breaks if runs of fewer flows pass for those of the paper's size, as one setting's of TAM's
    Fig. 10; or if as many flows from several sources, or a swept number, seem fewer."""
    done = python("-c", SHORTER, ROOT / "docs")
    assert done.returncode == 0, done.stderr
    found = {name: words for name, words in json.loads(done.stdout).items() if words}
    assert found == {"tam/fig10: the library's distributions, load 0.6": ", 2,000 flows for 10,000"}


def judged(name: str, verdict: Verdict, *more: Check) -> Judged:
    """A claim with a verdict."""
    test = Check("abs", "m", scheme="A", below=1)
    claim = Claim(name, "", "fig", "abs", "", "", (test, *more))
    return Judged(claim, (Finding((Part(verdict, ""),)),))


def beside(name: str) -> Sensitive:
    """A claim that is reproduced as read, and not under another setting."""
    return Sensitive("x", judged(name, Verdict.NOT), judged(name, Verdict.REPRODUCED), "")


def test_a_shorter_row_is_one_of_its_own(monkeypatch: Any) -> None:
    """Breaks if a setting that two figures try, one of them with fewer flows, is one row for both,
    or if nothing marks the shorter one."""
    sensitive = (SimpleNamespace(name="x", runs=("main",), at={}),)
    pages = [
        SimpleNamespace(
            judged=(judged(name, Verdict.REPRODUCED),),
            figure=SimpleNamespace(sensitivities=sensitive, words=words),
            sensitive=(beside(name),),
            data=Data(),
            on_linux=(),
        )
        for name, words in (("T1", ""), ("T2", ", 10 flows for 20"))
    ]
    monkeypatch.setattr(hinges, "_shorter", lambda figure, runs, name: figure.words)
    assert hinges.all_tried(SimpleNamespace(pages=pages)) == [
        hinges.Tried("x", "T1", Verdict.REPRODUCED, Verdict.NOT, False),
        hinges.Tried("x, 10 flows for 20", "T2", Verdict.REPRODUCED, Verdict.NOT, True),
    ]


def test_a_part_of_a_claim_is_no_whole_one() -> None:
    """Breaks if a claim on two workloads holds as a whole where one of them was tried."""
    both = judged("A1", Verdict.NOT, Check("abs", "m", "next", scheme="A", below=1))
    page = SimpleNamespace(
        judged=(both, judged("A2", Verdict.NOT)),
        figure=SimpleNamespace(sensitivities=(SimpleNamespace(name="x", runs="main", at={}),)),
        sensitive=(beside("A1"), beside("A2")),
        data=Data(),
        on_linux=(),
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hinges, "_shorter", lambda figure, runs, name: "")
        found = hinges.all_tried(SimpleNamespace(pages=[page]))
    assert [entry.whole for entry in found] == [False, True]


def test_a_setting_whose_runs_are_not_all_made_says_so() -> None:
    """Breaks if a verdict seems not to change under a setting of which runs are missing."""
    found = Data()
    for variant, seeds in (("A", (1, 2)), ("B", (1, 2))):
        for seed in seeds:
            found.put_origin(("main~x", variant, ()), seed, Origin("", "", 1, ""))
    assert hinges._unmade(found, ["main~x"]) == ""
    found.put_origin(("main~x", "A", ()), 3, Origin("", "", 1, ""))
    assert hinges._unmade(found, ["main~x"]) == ", not all runs made"
    assert hinges._unmade(found, ["main"]) == ""
