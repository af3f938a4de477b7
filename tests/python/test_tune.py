"""The search for a setting: it finds what is best, and claims no more than it knows."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import leafspine
from leafspine.errors import InputError
from leafspine.measures import PAUSE_METRICS
from leafspine.tuning import effects, pages, parameters
from leafspine.tuning.parameters import Parameter
from leafspine.tuning.searching import Goal, Request, Tried

Cli = Callable[..., tuple[int, str, str]]


def best(found: Any, key: str) -> str:
    return str(dict(found.best.setting)[key])


def test_a_known_optimum_is_found(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the search goes the wrong way, loses the best setting in a round, or its gain is
    no paired one. Completion times are shortest at 300, of twelve values 231 is the nearest, and
    with 3000, which is set, they are about twice as long."""
    found = leafspine.tune(
        scenario, ["run.fake_knob=10..10000"], run__fake_knob=3000, seeds=4, held_out=4,
        out=tmp_path / "out",
    )  # fmt: skip
    assert best(found, "run.fake_knob") == "231"
    assert found.is_better is True
    gain = found.best.difference
    assert gain is not None and gain.mean == pytest.approx(-49, abs=1.5)
    assert {entry.seeds for entry in found.tried} == {2, 4}
    values = found.request.parameters[0].values
    assert (values[0], values[-1], len(values)) == ("10", "10000", 12)
    parameter = found.request.parameters[0]
    assert "has an effect" in effects.in_words(parameter, effects.p_value(parameter, found.first))


def test_more_is_better_for_some_metrics(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the lowest goodput is taken for the best."""
    found = leafspine.tune(
        scenario, ["run.fake_knob=30,300,3000"], metric="goodput_mean", run__fake_knob=3000,
        seeds=2, held_out=3, out=tmp_path / "out",
    )  # fmt: skip
    assert best(found, "run.fake_knob") == "300"
    assert found.is_better is True


def test_who_leaves_flows_unfinished_does_not_win(scenario: Path, cli: Cli) -> None:
    """Breaks if the best setting is the one whose slow flows never end, so that they are in no
    mean; if the counts are in neither file, or if runs' warnings are not told."""
    words = ["--param", "run.fake_give_up=300,20000,1000000", "--metric", "fct_mean"]
    more = ["--set", "run.fake_give_up=1000000", "--seeds", 2, "--held-out", 3, "--out", "out"]
    code, _, error = cli("tune", scenario, *words, *more)
    assert code == 0, error
    kept = json.loads(Path("out/tuning.json").read_text())
    short, middle, default = kept["tried"]
    assert short["difference_percent"][2] < middle["difference_percent"][2] < 0
    assert 300 < short["unfinished"][0] <= short["unfinished"][1] == 400
    assert default["unfinished"] == [0, 400]
    # What left none behind was searched for, and differs by nothing.
    assert (kept["best"], kept["better"]) == ({"run.fake_give_up": "1000000"}, None)
    assert "unfinished |" in Path("out/tuning.md").read_text()
    assert "flows unfinished; means and percentiles are of the finished" in error
    assert "runs, such as fake_give_up=300 seed=1: " in error


def test_the_only_candidates_may_not_be_comparable(scenario: Path, cli: Cli) -> None:
    """Breaks if a setting that leaves flows unfinished is recommended since no other is there, or
    the verdict does not say why it is not."""
    words = ["--param", "run.fake_give_up=300,400", "--metric", "fct_mean"]
    more = ["--set", "run.fake_give_up=1000000", "--seeds", 2, "--held-out", 3, "--out", "out"]
    code, said, error = cli("tune", scenario, *words, *more)
    assert code == 0, error
    assert "cannot be compared with it: " in said.replace("\n", " ")
    assert "unfinished against 0 of 600, which are in no mean" in said.replace("\n", " ")
    assert json.loads(Path("out/tuning.json").read_text())["better"] is None


def test_seeds_that_change_nothing_prove_nothing(scenario: Path, tmp_path: Path) -> None:
    """Breaks if one run that is made several times is a gain without any chance in it."""
    found = leafspine.tune(
        scenario, ["run.fake_knob=300,3000"], run__fake_knob=1000, run__fake_still=True,
        seeds=2, held_out=3, out=tmp_path / "out",
    )  # fmt: skip
    assert best(found, "run.fake_knob") == "300"
    assert found.best.difference is not None and found.best.difference.n == 1
    assert found.is_better is None
    assert "the seed changes nothing" in pages.verdict(found)[-1]


def test_a_parameter_without_effect_is_reported_as_such(scenario: Path, cli: Cli) -> None:
    """Breaks if a search over nothing ends with a recommendation."""
    words = ["--param", "aqm.threshold=10pkt..100pkt", "--trials", 5, "--seeds", 2]
    code, said, error = cli("tune", scenario, *words, "--held-out", 3, "--out", "out")
    assert code == 0, error
    assert "threshold has no effect: no value changes the metric at all" in said
    assert "keep the default" in said
    kept = json.loads(Path("out/tuning.json").read_text())
    assert kept["better"] is None
    assert "no value changes the metric" in kept["effects"]["aqm.threshold"]


def test_chance_is_not_taken_for_an_effect(scenario: Path, tmp_path: Path) -> None:
    """Breaks if the luckiest of many equal settings passes for better: every one differs by chance,
    the best looks better in the search, and only seeds that it has not seen can tell."""
    found = leafspine.tune(
        scenario, ["aqm.threshold=10pkt..100pkt"], run__fake_noise=0.1, seeds=4,
        out=tmp_path / "out",
    )  # fmt: skip
    luck = min(entry.difference.mean for entry in found.tried if entry.difference)
    assert luck < -4
    assert found.is_better is None
    assert "its gain is not significant" in pages.verdict(found)[-1]
    assert "no significant effect" in pages.verdict(found)[0]


def test_of_two_parameters_the_one_with_an_effect_is_named(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a parameter shares the credit of another."""
    found = leafspine.tune(
        scenario, ["run.fake_knob=10..10000", "aqm.threshold=10pkt..100pkt"],
        run__fake_knob=3000, seeds=2, held_out=3, trials=16, out=tmp_path / "out",
    )  # fmt: skip
    knob, threshold = pages.verdict(found)[:2]
    assert "fake_knob has an effect" in knob
    assert "threshold: no significant effect" in threshold
    assert sorted((tmp_path / "out" / "plots").glob("*.png"))


def test_an_effect_on_what_is_zero_by_default_is_seen() -> None:
    """Breaks if settings are judged by percentages, which there are none of the default's zero."""
    parameter = Parameter("x.y", tuple(map(str, range(12))), ordered=True)
    tried = [
        Tried((("x.y", str(place)),), 2, leafspine.Estimate(float(place), 1.0, 2), None)
        for place in range(12)
    ]
    p = effects.p_value(parameter, tried)
    assert p is not None and p < effects.LEVEL


def test_the_permutation_test_holds_its_level() -> None:
    """Breaks if more than about one search in twenty sees an effect where there is none: 400 of
    noise alone, binomial with mean 20 and standard deviation 4.4; four of them."""
    import random

    stream = random.Random(5)
    parameter = Parameter("x.y", tuple(map(str, range(12))), ordered=True)
    seen = 0
    for _ in range(400):
        results = [stream.gauss(0, 1) for _ in range(12)]
        tried = [
            Tried((("x.y", str(place)),), 2, leafspine.Estimate(result, 1.0, 2), None)
            for place, result in enumerate(results)
        ]
        p = effects.p_value(parameter, tried)
        assert p is not None
        seen += p < effects.LEVEL
    assert seen <= 38, seen


def test_rounds_halve_the_settings_and_double_the_seeds() -> None:
    """Breaks if a search costs more than it says, or ends before its best had all seeds."""

    def rounds(count: int, seeds: int) -> list[tuple[int, int]]:
        tried = tuple((("a.b", str(number)),) for number in range(count))
        source = leafspine.scenario.read({})  # type: ignore[attr-defined]
        return Request(source, (), (), (), tried, Goal("all", "fct_p99"), seeds, 5).rounds

    assert rounds(12, 8) == [(12, 2), (6, 4), (3, 8)]
    assert rounds(5, 2) == [(5, 2)]
    assert rounds(16, 20) == [(16, 5), (8, 10), (4, 20)]


def test_values_of_a_range() -> None:
    """Breaks if a range loses an end or its unit, has fractions of packets, or a wide one is
    divided by steps."""

    def values(text: str, count: int = 4) -> tuple[str, ...]:
        return parameters.parse(text, "load_balancer", count).values

    assert values("idle_time=64us..2ms") == ("64us", "202us", "635us", "2ms")
    assert values("weight=1..16", 5) == ("1", "2", "4", "8", "16")
    assert values("n=1..3", 9) == ("1", "2", "3")
    assert values("threshold=20pkt..50pkt") == ("20pkt", "30pkt", "40pkt", "50pkt")
    assert values("g=0.0..1.0", 3) == ("0", "0.5", "1.0")
    assert parameters.parse("aqm.threshold=1pkt,2pkt", "x", 4).key == "aqm.threshold"


@pytest.mark.parametrize("others", [[], ["z=1..9"]])
def test_every_value_of_a_list_is_tried(others: list[str]) -> None:
    """Breaks if values of a list are silently left out because there are more than trials."""
    chosen = [parameters.parse(text, "x", 2) for text in ["y=1,2,3,4,5", *others]]
    tried = parameters.settings(chosen, 2, seed=1)
    assert {dict(setting)["x.y"] for setting in tried} == set("12345")


def test_bad_requests_are_refused(scenario: Path, cli: Cli) -> None:
    """Breaks if a wrong option runs anything, or its error does not name it."""
    one = ("--param", "idle_time=64us..2ms")
    cases = {
        ("--param", "idle_time"): "--param: found 'idle_time'",
        ("--param", "x=2ms..64us"): "FROM below TO",
        ("--param", "x=2ms..64KB"): "units of one kind",
        ("--param", "x=3"): "at least two",
        (*one, "--metric", "p99_fct"): 'did you mean "fct_p99"?',
        (*one, "--metric", "short.drops"): "which is the network's",
        (*one, "--trials", 1): "--trials 1: at least 2 are needed",
        (*one, "--held-out", 2): "--held-out 2: at least 3 are needed",
    }
    for words, text in cases.items():
        code, _, said = cli("tune", scenario, *words)
        assert (code, text in said, said.count("\n")) == (2, True, 1), (words, said)
    assert not Path("out").exists()
    words = ("--param", "aqm.threshold=1pkt,2pkt", "--metric", "shrt.fct_p99")
    code, _, said = cli("tune", scenario, *words, "--seeds", 2, "--out", "x")
    assert (code, 'did you mean "short"?' in said) == (2, True), said
    assert not list(Path("x").glob("runs/*"))


def test_a_metric_that_the_scenario_lacks_is_refused(scenario: Path, cli: Cli) -> None:
    """Breaks if a metric of flow control, of collectives or of recovery is a traceback where there
    is none of it, if the error speaks of classes of flows, or if what the scenario tells is only
    said after runs."""
    words = ("--param", "run.fake_knob=30,300", "--seeds", 2, "--held-out", 3, "--out", "x")
    before = {metric.name: "no switch has flow control (switch.pfc)" for metric in PAUSE_METRICS}
    before["recovery_max"] = "recovery from faults is not measured (measure.recovery)"
    after = {"bus_bandwidth": "there are no collectives"}
    for metric, why in {**before, **after}.items():
        code, _, said = cli("tune", scenario, *words, "--metric", metric)
        expected = f"--metric: found '{metric}'; allowed: other metrics, since {why}"
        assert (code, said.splitlines()[-1].removeprefix("leafspine: ")) == (2, expected), said
        assert any(Path("x").glob("runs/*")) is (metric in after)
    some = ("--param", "switch.pfc=off,dynamic", *words[2:], "--metric", "paused")
    code, _, said = cli("tune", scenario, *some)
    assert code == 2
    assert "(switch.pfc) in some runs, such as default seed=1" in said


def test_a_search_goes_on_and_keeps_to_its_directory(scenario: Path, tmp_path: Path) -> None:
    """Breaks if Ctrl-C loses runs, the same command makes them again, or a second search mixes
    with the first."""
    out = tmp_path / "out"
    words = [
        sys.executable, "-m", "leafspine", "tune", str(scenario), "--param",
        "run.fake_knob=100,300,1000", "--seeds", "2", "--held-out", "3", "--out", str(out),
        "--set", "run.fake_seconds=0.3", "--jobs", "2",
    ]  # fmt: skip
    child = subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(list(out.glob("runs/[!.]*/summary.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=30)[1].splitlines()[-1]
    assert child.returncode == 1
    assert "runs are finished and kept" in said and "the same command goes on" in said
    before = {path: path.stat().st_mtime_ns for path in out.glob("runs/[!.]*/summary.json")}
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "best: fake_knob=300" in done.stdout or "did best" in done.stdout
    after = {path: path.stat().st_mtime_ns for path in out.glob("runs/[!.]*/summary.json")}
    assert {path: after[path] for path in before} == before
    with pytest.raises(InputError, match="holds another search"):
        leafspine.tune(scenario, ["aqm.threshold=1pkt,2pkt"], seeds=2, held_out=3, out=out)
