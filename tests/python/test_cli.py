"""The command line: exit codes, one line for an error, JSON for scripts."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import SCENARIO

Cli = Callable[..., tuple[int, str, str]]


def test_run_prints_tables_and_where_the_files_are(cli: Cli, scenario: Path) -> None:
    """Breaks if a run without --out leaves nothing, or does not say where."""
    code, out, err = cli("run", scenario)
    assert (code, err) == (0, "")
    directory = out.strip().splitlines()[-1].removeprefix("results: ")
    assert directory.startswith("out/single-")
    assert (Path(directory) / "summary.json").is_file()
    assert "unfinished" in out


def test_run_gives_json(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """Breaks if a script cannot parse standard output."""
    code, out, _ = cli("run", scenario, "--json", "--seed", 7, "--out", tmp_path / "r", "--csv")
    assert code == 0
    summary = json.loads(out)
    assert summary["seed"] == 7
    assert summary == json.loads((tmp_path / "r" / "summary.json").read_text())
    assert (tmp_path / "r" / "flows.csv").is_file()


def test_run_points_out_another_builds_result(cli: Cli, scenario: Path, tmp_path: Path) -> None:
    """Breaks if a result of yesterday's engine is shown as if it were today's."""
    assert cli("run", scenario, "--out", tmp_path / "r")[2] == ""
    (tmp_path / "r" / "timing.json").write_text('{"build": "0", "checked": true}')
    code, _, err = cli("run", scenario, "--out", tmp_path / "r")
    assert code == 0
    assert "another build of the same version" in err


def test_compare_leaves_tables_plots_and_report(cli: Cli, many: Path) -> None:
    """Breaks if a comparison's output is incomplete, or without --out nowhere."""
    code, out, err = cli("compare", many)
    assert code == 0
    assert "[12/12]" in err
    [directory] = Path("out").iterdir()
    assert re.fullmatch("many-[0-9a-f]{8}", directory.name)
    assert f"report: {directory}/report.html" in out
    for name in ("tables.md", "tables.csv", "report.html", "comparison.json"):
        assert (directory / name).is_file()


def test_comparisons_do_not_share_a_directory(
    cli: Cli, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if a second --lb replaces the tables of the first, or more seeds do not go on where
    fewer have been."""
    monkeypatch.setattr("leafspine.plots.write", lambda *_: [])

    def compare(*options: object) -> tuple[str, str]:
        code, out, err = cli("compare", scenario, *options)
        assert code == 0, err
        [report] = [line for line in out.splitlines() if line.startswith("report: ")]
        return report, err

    first, _ = compare("--lb", "ecmp,rps", "--load", "0.3")
    tables = Path(first.removeprefix("report: ")).with_name("tables.md").read_text()
    others = [
        compare("--lb", "ecmp,letflow", "--load", "0.3")[0],
        compare("--lb", "rps,ecmp", "--load", "0.3")[0],
        compare("--lb", "ecmp,rps", "--load", "0.5")[0],
        compare("--lb", "ecmp,rps", "--load", "0.3", "--set", "aqm.threshold=20pkt")[0],
    ]
    assert len({first, *others}) == 5
    assert Path(first.removeprefix("report: ")).with_name("tables.md").read_text() == tables
    more, err = compare("--lb", "ecmp,rps", "--load", "0.3", "--seeds", 3)
    assert more == first
    assert "[6/6]" in err
    assert "[2/6]" not in err


def test_another_comparisons_directory_is_bad_input(cli: Cli, scenario: Path) -> None:
    """Breaks if --out mixes two comparisons, or refuses one with another exit code."""
    assert cli("compare", scenario, "--lb", "ecmp", "--out", "o", "--json")[0] == 0
    code, out, err = cli("compare", scenario, "--lb", "rps", "--out", "o")
    assert (code, out) == (2, "")
    assert err.startswith("leafspine: o holds another comparison (ecmp; one seed; see o/compar")
    assert err.count("\n") == 1


def test_a_quick_comparison_from_the_command_line(cli: Cli, scenario: Path) -> None:
    """Breaks if --lb, --load or --seeds does not reach the cases."""
    options = ("--lb", "ecmp,rps", "--load", "0.3,0.6", "--seeds", 2, "--jobs", 1, "--json")
    code, out, _ = cli("compare", scenario, *options)
    assert code == 0
    found = json.loads(out)
    assert found["variants"] == ["ecmp", "rps"]
    assert found["seeds"] == [1, 2]
    assert {row["workload.0.load"] for row in found["rows"]} == {0.3, 0.6}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run", "missing.toml"], "missing.toml: no such file"),
        (["run", "."], "is a directory"),
        (["run", "SCENARIO", "--set", "nonsense"], "expected key=value"),
        (["run", "SCENARIO", "--seed", "x"], "'x' is not a valid integer"),
        (["run", "SCENARIO", "--out", "SCENARIO"], "is a file"),
        (["run", "SCENARIO", "--nonsense"], "No such option"),
        (["run"], "Missing argument"),
        (["nonsense"], "No such command"),
        (["compare", "SCENARIO", "--load", "0.2,much"], "expected numbers"),
        (["compare", "SCENARIO", "--load", "0.2,0.2"], "twice"),
        (["compare", "SCENARIO", "--lb", "ecmp,,rps"], "expected names"),
        (["compare", "SCENARIO", "--seeds", "0"], "at least 1"),
        (["compare", "SCENARIO", "--jobs", "0"], "at least 1"),
        (["run", "SCENARIO", "--threads", "0"], "at least 1"),
        (["compare", "SCENARIO", "--threads", "0"], "at least 1"),
        (["compare", "SCENARIO", "--threads", "2", "--on", "slurm"], "a run that is not done here"),
        (["compare", "SCENARIO", "--threads", "2", "--on", "slrm"], "--on: found 'slrm'; "),
        (["compare", "SCENARIO", "--jobs", "2", "--threads", "4"], "--threads 4: at most 2, "),
        (["compare", "SCENARIO", "--store", "x", "--on", "slrm"], "--on: found 'slrm'; "),
        (["schemes", "letflw"], 'did you mean "letflow"?'),
        (["workloads", "x"], "workload: found 'x'; allowed: "),
        (["bench", "--case", "x"], "bench case: found 'x'; allowed: "),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    cli: Cli, scenario: Path, arguments: list[str], part: str
) -> None:
    """Breaks if a mistake of the user ends in a traceback, in silence or in another code."""
    code, out, err = cli(*(str(scenario) if word == "SCENARIO" else word for word in arguments))
    assert code == 2
    assert out == ""
    assert part in err
    assert err.startswith("leafspine: ")
    assert err.count("\n") == 1


def test_an_error_in_the_scenario_names_file_and_line(cli: Cli, scenario: Path) -> None:
    """Breaks if the engine's message is wrapped, cut or has another exit code."""
    scenario.write_text(SCENARIO + "\n[switsh]\n")
    line = len(scenario.read_text().splitlines())
    code, _, err = cli("run", scenario)
    assert code == 2
    assert err == f"leafspine: {scenario}:{line}: unknown table 'switsh'\n"


def test_several_runs_in_one_file_name_compare(cli: Cli, many: Path) -> None:
    """Breaks if the message does not name the command that does it."""
    code, _, err = cli("run", many)
    assert code == 2
    assert f"use `leafspine compare {many}`" in err


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_a_failed_run_is_exit_code_1(cli: Cli, scenario: Path, verb: str) -> None:
    """Breaks if an engine error is a traceback, or a success."""
    code, out, err = cli(verb, scenario, "--set", "run.fake_fail=true")
    assert (code, out) == (1, "")
    assert "the engine broke" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_a_panic_of_the_engine_is_one_line(cli: Cli, scenario: Path, verb: str) -> None:
    """Breaks if a Rust panic, which is no Exception, passes by every handler."""
    code, _, err = cli(verb, scenario, "--set", "run.fake_panic=true")
    assert code == 3
    assert "the engine failed, which is a bug: index out of bounds" in err.splitlines()[-1]


def test_a_comparison_with_a_failed_case_shows_the_rest_and_ends_with_1(
    cli: Cli, scenario: Path, tmp_path: Path
) -> None:
    """Breaks if one bad case hides the good ones, or goes unnoticed by a script."""
    variants = '\n[[variant]]\nname = "good"\nset = {}\n[[variant]]\nname = "bad"\n'
    scenario.write_text(SCENARIO + variants + 'set = { "run.fake_fail" = true }\n')
    code, out, err = cli("compare", scenario)
    assert code == 1
    assert "report: " in out
    assert "1 of 2 runs failed" in err.splitlines()[-1]


def test_a_traceback_comes_on_demand(
    cli: Cli, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if LEAFSPINE_DEBUG does nothing."""
    monkeypatch.setenv("LEAFSPINE_DEBUG", "1")
    code, _, err = cli("run", scenario, "--set", "run.fake_fail=true")
    assert code == 1
    assert "Traceback" in err


def test_version_and_help(cli: Cli) -> None:
    """Breaks if the version is not the engine's, or help needs an argument."""
    assert cli("--version") == (0, "leafspine 0.0.1\n", "")
    code, out, _ = cli()
    assert code == 0
    assert "compare" in out
    assert cli("run", "--help")[0] == 0


def test_catalogues(cli: Cli) -> None:
    """Breaks if a scheme's parameters or a workload's mean are not shown."""
    assert "letflow" in cli("schemes")[1]
    page = cli("schemes", "letflow")[1]
    assert "gap" in page
    assert "500us" in page
    assert "1.7 MB" in cli("workloads")[1]
    assert json.loads(cli("workloads", "--json")[1])[0]["name"] == "web-search"


def test_bench(cli: Cli) -> None:
    """Breaks if the bench prints no trace hash, or the smoke run runs everything."""
    assert "0a" in cli("bench")[1]
    [entry] = json.loads(cli("bench", "--smoke", "--json")[1])
    assert entry["case"] == "smoke"


def command(*arguments: object, **how: Any) -> "subprocess.Popen[str]":
    words = [sys.executable, "-m", "leafspine", *(str(argument) for argument in arguments)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True, **how)


def test_a_full_disk_under_standard_output_is_a_failure(scenario: Path, tmp_path: Path) -> None:
    """Breaks if a table that could not be written ends with 0, or with Python's own words."""
    with Path("/dev/full").open("w") as full:
        child = command("run", scenario, "--out", tmp_path / "out", stdout=full)
        said = child.communicate(timeout=60)[1]
    wanted = "leafspine: cannot write standard output: No space left on device\n"
    assert (child.returncode, said) == (1, wanted)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_batch_systems_signals_are_received(many: Path, tmp_path: Path, name: str) -> None:
    """Breaks if the end of a job leaves half results, or says nothing of how to go on."""
    out = tmp_path / "out"
    options = ("--out", out, "--jobs", 1, "--set", "run.fake_seconds=0.3")
    default = lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)  # noqa: E731
    child = command("compare", many, *options, stdout=subprocess.DEVNULL, preexec_fn=default)
    deadline = time.monotonic() + 60
    while not list(out.glob("runs/[!.]*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(getattr(signal, name))
    said = child.communicate(timeout=60)[1].splitlines()[-1]
    assert child.returncode == 1
    assert "of 12 runs are finished and kept" in said
    assert not list(out.glob("runs/.*"))


SLOW_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "leafspine.cli":
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                pass
sys.meta_path.insert(0, Interrupt())
signal.signal(signal.SIGINT, signal.default_int_handler)
from leafspine.__main__ import main
main()
"""


def test_an_interruption_while_starting_is_one_line() -> None:
    """Breaks if Ctrl-C in the first second, while libraries load, is a traceback, or is taken by
    an import for an error of its own. (A second one found the first one's message unfinished.)"""
    words = [sys.executable, "-c", SLOW_IMPORT]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "leafspine: interrupted\n")


def test_a_second_interruption_ends_at_once(many: Path, tmp_path: Path) -> None:
    """Breaks if Ctrl-C cannot end a command that hangs while it tidies up."""
    code = (
        "import os, signal, time\n"
        "from leafspine.interrupts import interruptible\n"
        "with interruptible():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\n"
        "    except KeyboardInterrupt:\n"
        "        os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stderr) == (1, "leafspine: interrupted again: ended at once\n")


LOST = """
import os, signal, time, weakref
from leafspine.interrupts import interruptible
signal.signal(signal.SIGINT, signal.default_int_handler)
class Thing:
    pass
def interrupt(_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0)
with interruptible():
    try:
        thing = Thing()
        watched = weakref.ref(thing, interrupt)
        del thing
        time.sleep(9)
    except KeyboardInterrupt:
        print("received")
"""


THROUGH_EXEC = """
import os, signal, time
from leafspine.interrupts import interruptible
signal.signal(signal.SIGINT, signal.default_int_handler)
with interruptible():
    try:
        exec("os.kill(os.getpid(), signal.SIGINT); time.sleep(9)")
    except KeyboardInterrupt:
        print("received")
"""


def test_an_interruption_while_a_class_is_made_has_its_exit_code() -> None:
    """Breaks if Python, which remembers that a KeyboardInterrupt left exec, ends by SIGINT."""
    words = [sys.executable, "-c", THROUGH_EXEC]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "received\n")


HALF_IMPORTED = """
import os, signal, sys
from leafspine import cli, engine
signal.signal(signal.SIGINT, signal.default_int_handler)
def schemes():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ValueError("Option 'compute.use_bottleneck' has already been registered")
engine.schemes = schemes
sys.exit(cli.invoke(["schemes"]))
"""


def test_an_error_that_an_interruption_has_caused_is_no_error() -> None:
    """Breaks if Ctrl-C while a library is imported, which that library takes for something else,
    ends with that library's complaint about its second import."""
    words = [sys.executable, "-c", HALF_IMPORTED]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    wanted = "leafspine: interrupted; results of runs that had finished are kept\n"
    assert (done.returncode, done.stderr) == (1, wanted)


def test_an_interruption_is_not_lost_where_nothing_can_be_raised() -> None:
    """Breaks if Ctrl-C at the moment that an object is taken down prints a traceback and the run
    goes on for hours."""
    words = [sys.executable, "-c", LOST]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "received\n", "")


def test_a_run_says_what_did_not_finish(scenario: Path, cli: Cli) -> None:
    """Breaks if a run's means look like those of all flows on a terminal."""
    code, _, error = cli("run", scenario, "--set", "run.fake_unfinished=3", "--out", "out")
    assert code == 0
    assert "warning: 3 of 200 flows unfinished; means and percentiles are of the finished" in error
    assert "unfinished" not in cli("run", scenario, "--out", "other")[2]


LEFT = """
import sys, threading, time
from leafspine import engine, interrupts
def look():
    raise KeyboardInterrupt
try:
    engine._aside(lambda: time.sleep(9), engine.native.Progress(), look)
except KeyboardInterrupt:
    print("interrupted")
interrupts.leave(5)
"""


def test_what_is_being_built_does_not_hold_up_an_interruption() -> None:
    """Breaks if Ctrl-C waits for a step of the engine that takes seconds, such as a trace that is
    read or a job's messages, or if the end of the process does."""
    begin = time.monotonic()
    words = [sys.executable, "-c", LEFT]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (5, "interrupted\n", "")
    assert time.monotonic() - begin < 6
