"""What is typed nearly right: one line that says what to type instead, or taken as it is meant."""

import errno
import gzip
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import leafspine
from haste import at_once
from leafspine import engine, files, keywords, memory, quantities, scenario
from leafspine.errors import InputError, ScenarioError, WriteError, printable
from test_engine import SMALL, python
from test_engine import leafspine as real

Cli = Callable[..., tuple[int, str, str]]

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def refused(*arguments: object) -> str:
    """The one line that the real command line says of bad input."""
    said = real(*arguments, code=2).stderr
    assert said.count("\n") == 1
    assert not CONTROL.search(said), repr(said)
    return said.removeprefix("leafspine: ").rstrip("\n")


def in_python(small: Path, code: str) -> str:
    """What the real engine's Python API says, a line for each call that is refused."""
    program = (
        "import sys, leafspine as ls\nd = sys.argv[1]\n"
        "def said(call):\n"
        "    try:\n        found = call()\n"
        "    except ls.InputError as error:\n        print(error)\n"
        "    else:\n        print('ok', found)\n"
    )
    done = python("-c", program + code, small)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("exp--load-0.5.toml", ":15: found 2", "exp--load-0.5.toml:15: found 2"),
        ("my --load 5.toml", ": found 2", "my --load 5.toml: found 2"),
        ("a.toml", ': found "a --load 5"', 'a.toml: found "a --load 5"'),
        ("--load", ": found '--load 5'", "load: found '--load 5'"),
        ("--held-out", ": found 2", "held_out: found 2"),
    ],
)
def test_what_users_have_named_is_not_reworded(file: str, text: str, expected: str) -> None:
    """Breaks if Python's error has another path than the scenario's, or changes what a user has
    called something, for there is an option's name in it."""

    def refuses() -> None:
        raise InputError(f"{file}{text}", file=file)

    with pytest.raises(InputError) as caught:
        keywords.in_keywords(refuses)()
    assert str(caught.value) == expected
    named = {"--load": "load", "--held-out": "held_out"}.get(file, file)
    assert caught.value.file == named


# Loads


FRACTION = "a number above 0, at most 10: a fraction, so 30 % is 0.3"


def test_percentages_for_loads_are_refused(small: Path) -> None:
    """Breaks if a load of 3,000 % is run, from wherever it comes, or the error names no unit."""
    found = f"found 30.0; allowed: {FRACTION}"
    assert refused("compare", small, "--load", "30,60") == f"--load: {found}"
    set_load = ("--set", "workload.0.load=30")
    assert refused("run", small, *set_load) == (
        f"--set workload.0.load: found 30; allowed: {FRACTION}"
    )
    calls = (
        "said(lambda: ls.compare(d, load=[30]))\n"
        "said(lambda: ls.compare(d, load=[30.0], lb=['ecmp', 'rps']))\n"
        "said(lambda: ls.sweep(d, {'workload.0.load': [0.3, 30]}))\n"
        "said(lambda: ls.run(d, workload__0__load=30.0))\n"
    )
    assert in_python(small, calls).splitlines() == [
        f"load: found 30; allowed: {FRACTION}",
        f"load: {found}",
        f"the sweep: workload.0.load: found 30; allowed: {FRACTION}",
        f"workload__0__load: {found}",
    ]
    small.write_text(SMALL.replace("load = 0.5", "load = 30"))
    assert refused("run", small) == (f"{small}:12: workload.0.load: found 30; allowed: {FRACTION}")


# Files that are no text


def test_packed_files_are_named(small: Path, tmp_path: Path) -> None:
    """Breaks if a compressed scenario or table prints its bytes. (A trace may be compressed.)"""
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(b"start_ps,src,dst,bytes\n0,0,5,1000\n"))
    assert refused("run", packed) == (
        f"{packed}: found a gzip file; allowed: text: decompress it first"
    )
    sizes = refused("run", small, "--set", "workload.sizes=packed.csv.gz")
    assert sizes == "packed.csv.gz:1: found a gzip file; allowed: a CSV file: decompress it first"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x7fELF\x02\0\x80", "not UTF-8 text (byte 6)"),
        (b"a = 1\n\0", "not text (byte 6 is zero)"),
        ("a = 1".encode("utf-16"), "found UTF-16 text; allowed: UTF-8"),
        (b"PK\x03\x04", "found a zip file; allowed: text: decompress it first"),
    ],
)
def test_binary_scenarios_say_what_they_are(tmp_path: Path, data: bytes, said: str) -> None:
    """Breaks if a file that is no text is parsed, or refused without a word about what it is."""
    path = tmp_path / "binary.toml"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        scenario.read(path)
    assert str(caught.value) == f"{path}: {said}"


def test_nothing_acts_on_the_terminal(cli: Cli, small: Path) -> None:
    """Breaks if any part of a message can clear a screen or begin another line: a file's name, an
    option, a key, a value, a variant."""
    evil = "\x1b[2J\x9b\u202e\x07"
    shown = r"\u{1b}[2J\u{9b}\u{202e}\u{7}"
    assert printable(evil) == shown
    assert str(InputError(evil)) == str(WriteError(evil)) == str(ScenarioError(evil)) == shown
    code, _, said = cli("run", f"a{evil}.toml")
    assert (code, said) == (2, f"leafspine: a{shown}.toml: no such file\n")
    for words in (
        ("run", small, f"--n{evil}"),
        ("run", small, "--set", f"{evil}=1"),
        ("run", small, "--set", f"run.s{evil}=1"),
        ("run", small, "--set", f"load_balancer.scheme={evil}"),
        ("run", small, "--set", f'topology={{ "{evil}" = 1 }}'),
        ("compare", small, "--lb", f"ecmp,{evil}"),
        ("compare", small, "--load", f"0.3,{evil}"),
        ("schemes", evil),
    ):
        refused(*words)


# Options


def test_options_are_blamed_under_their_names(small: Path) -> None:
    """Breaks if --lb, --seed or --seeds is reported as --set, or capitals are not suggested."""
    said = refused("compare", small, "--lb", "ecmp,LetFlow")
    assert said.startswith('--lb: found "LetFlow"; allowed: "ecmp", ')
    assert said.endswith('did you mean "letflow"?')
    said = refused("compare", small, "--lb", "ECMP")
    assert said.endswith('did you mean "ecmp"?')
    said = refused("compare", small, "--lb", "CLOVE-ECN")
    assert said.startswith('--lb: found "CLOVE-ECN"; allowed: "ecmp", ')
    assert said.endswith('did you mean "clove-ecn"?')
    assert refused("compare", small, "--lb", "pinned").startswith('--lb: found "pinned", and ')
    assert refused("run", small, "--seed", "-1") == (
        "--seed: found -1 (int); allowed: a whole number, at least 0"
    )
    assert refused("fit-qall", "--seed", "-1").startswith("--seed: found -1")
    assert refused("compare", small, "--seeds", "2000000") == "--seeds 2000000: at most 100000 runs"
    assert refused("compare", small, "--seeds", "60000", "--lb", "ecmp,rps") == (
        "--seeds: found 120000 cases; allowed: at most 100000 cases"
    )


def test_arguments_of_another_function_are_explained(scenario: Path) -> None:
    """Breaks if run(seed=3) does not work, or another function's option gets no hint."""
    assert leafspine.run(scenario, seed=3).summary["seed"] == 3
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
        ("run", (), {"load": 0.5}, "workload__load=0.5"),
        ("run", (), {"lb": "letflow"}, 'load_balancer__scheme="letflow"'),
        ("run", (), {"seeds": 5}, "seed=3, or compare(..., seeds=5)"),
        ("compare", (), {"seed": 3}, "seeds=5 for five seeds from run.seed on, or run__seed=3"),
        ("sweep", ({"run.until": ["1s"]},), {"seed": 3}, "run__seed=3"),
        ("sweep", ({"run.until": ["1s"]},), {"lb": ["rps"]}, "compare(..., lb="),
        ("sweep", ({"run.until": ["1s"]},), {"load": [0.5]}, '{"workload.load": [0.3, 0.5]}'),
    ]
    for verb, more, wrong, hint in calls:
        with pytest.raises(InputError) as caught:
            getattr(leafspine, verb)(scenario, *more, **wrong)
        [name] = wrong
        said = f"{name}: found an argument that {verb} does not have; allowed: "
        assert str(caught.value).startswith(said)
        assert hint in str(caught.value)


def test_python_is_told_of_its_own_words(small: Path, cli: Cli) -> None:
    """Breaks if an error names an option of the command line where a keyword was given, or the
    command line a keyword."""
    calls = (
        "said(lambda: ls.run(d, seed=-1))\n"
        "said(lambda: ls.run(d, seed=1, run__seed=2))\n"
        "said(lambda: ls.compare(d, lb=['LetFlow'], seeds=2))\n"
        "said(lambda: ls.compare(d, load=[30.0]))\n"
        "said(lambda: ls.compare(d, store='x'))\n"
        "said(lambda: ls.run(d, aqm__treshold='9pkt'))\n"
        "said(lambda: ls.run(d, load_balancer__scheme='flex'))\n"
    )
    said = in_python(small, calls).splitlines()
    for line, start in zip(
        said,
        (
            "seed: found -1 (int); allowed: a whole number, at least 0",
            "seed: found run.seed beside it; allowed: one of the two",
            'lb: found "LetFlow"; allowed: ',
            "load: found 30.0; allowed: ",
            "store=x: only the place dask://HOST:PORT has a store",
            'aqm__treshold: found a key that "ecn-threshold" does not have; ',
            'load_balancer__scheme: found "flex", which belongs in scheme or ',
        ),
        strict=True,
    ):
        assert line.startswith(start), line
        assert "--" not in line
    assert refused("compare", small, "--seeds", "0").startswith("--seeds: found 0 (int); ")
    # The fake engine is in this process: both may ask in turn.
    assert "--seed: found -1" in cli("run", small, "--seed", "-1")[2]
    with pytest.raises(InputError, match=r"^seed: found -1"):
        leafspine.run(small, seed=-1)


def test_the_only_workload_needs_no_number(small: Path) -> None:
    """Breaks if workload__load is refused where there is one workload, or taken where there are
    more, or if the message does not say how a workload is numbered."""
    calls = (
        "a = ls.run(d, workload__load=0.3, seed=2).scenario\n"
        "b = ls.run(d, workload__0__load=0.3, run__seed=2).scenario\n"
        "print(a == b and 'load = 0.3' in a)\n"
        "text = open(d).read() + '''[[workload]]\nsizes = \"hadoop\"\nload = 0.1\nflows = 9\n'''\n"
        "said(lambda: ls.run(text, workload__load=0.3))\n"
        "print(len(ls.sweep(d, {'workload.load': [0.3, 0.4]}, workload__flows=9).points))\n"
    )
    assert in_python(small, calls).splitlines() == [
        "True",
        "workload__load: found no number after workload, which is a list of 2; allowed: "
        "0 to 1 there, such as workload.0.load (workload__0__load in Python)",
        "2",
    ]


# Spellings


def test_one_thing_has_several_spellings(small: Path) -> None:
    """Breaks if what can mean one thing only is refused, or is another run."""
    other = (
        SMALL.replace('"1Gbps"', '"1 Gb/s"')
        .replace('"5us"', '"5 µs"')
        .replace('"200KB"', '"2_00 KB"')
        .replace("flows = 60", 'flows = "6e1"')
    )
    calls = (
        "a = ls.run(d).scenario\n"
        f"print(a == ls.run({other!r}).scenario)\n"
        "more = dict(workload__flows=1e2, topology__leaves=2.0, switch__buffer='256 pkt')\n"
        "print('flows = 100\\n' in ls.run(d, **more).scenario)\n"
        "said(lambda: ls.run(d, workload__flows=1.5))\n"
    )
    assert in_python(small, calls).splitlines() == [
        "True",
        "True",
        "workload__0__flows: found 1.5; allowed: a whole number, at least 1",
    ]


def test_spellings_of_the_package_are_the_engines() -> None:
    """Breaks if an axis or an option reads a quantity otherwise than the engine."""
    rates = ["800 Mb/s", "1Gbps", "1_200 Mbit/s"]
    assert quantities.axis(rates) == ([800.0, 1000.0, 1200.0], "Mbps")
    assert quantities.axis(["2µs", "2000 ns", "2 \u03bcs"]) == ([2000.0] * 3, "ns")
    assert memory.parse("64 GB") == memory.parse("64_000MB") == 64 * 10**9


# Overrides that only some variants have a use for


def test_an_override_goes_where_there_is_such_a_parameter(small: Path, tmp_path: Path) -> None:
    """Breaks if a gap for LetFlow is refused because ECMP has none, gets lost, or ECMP is left
    alone without a word."""
    options = ("--lb", "ecmp,letflow", "--seeds", 1, "--out", tmp_path / "out")
    done = real("compare", small, *options, "--set", "load_balancer.gap=5 us")
    said = "warning: load_balancer.gap: ecmp has none, and was left unchanged\n"
    assert done.stderr.count(said) == 1
    texts = [path.read_text() for path in (tmp_path / "out").glob("runs/*/scenario.toml")]
    assert sorted('gap = "5us"' in text for text in texts) == [False, True]
    assert refused("compare", small, *options, "--set", "load_balancer.gpa=5us") == (
        '--set load_balancer.gpa: found a key that none of "ecmp", "letflow" has; allowed: scheme, '
        'gap, entries; did you mean "gap"?'
    )
    calls = (
        "c = ls.compare(d, lb=['ecmp', 'rps', 'letflow'], seeds=1, load_balancer__gap='5us')\n"
        "print(c.warnings()[0])\n"
    )
    assert in_python(small, calls) == (
        "load_balancer.gap: ecmp, rps have none, and were left unchanged\n"
    )


# Where nothing can be written


@pytest.mark.parametrize("verb", ["run", "compare", "fit-qall", "reproduce"])
@pytest.mark.parametrize("place", ["/proc/nowhere/out", "FILE/out", "DENIED", "READ-ONLY"])
def test_nothing_is_simulated_for_nowhere(
    cli: Cli, scenario: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str, place: str
) -> None:
    """Breaks if a run is made whose result cannot be written: hours for nothing."""
    codes = {"DENIED": errno.EACCES, "READ-ONLY": errno.EROFS}
    out = Path(place.replace("FILE", str(scenario)))
    if place in codes:
        out = tmp_path / "closed" / "out"
        out.parent.mkdir()
        before = os.open

        def closed(path: Any, flags: int, *more: Any, **options: Any) -> int:
            if flags & os.O_CREAT and str(path).startswith(str(out.parent)):
                raise OSError(codes[place], os.strerror(codes[place]), str(path))
            return before(path, flags, *more, **options)

        monkeypatch.setattr(os, "open", closed)

    def simulate(*_: object, **__: object) -> None:
        raise AssertionError("it simulates")

    monkeypatch.setattr(engine, "simulate", simulate)
    monkeypatch.setattr("leafspine.workers.Pool.run", simulate)
    words: list[Any] = {"fit-qall": ["--scenario", scenario], "reproduce": []}.get(verb, [scenario])
    if verb == "reproduce":
        from leafspine.reproduce import reproducing

        with pytest.raises((InputError, WriteError)) as caught:
            reproducing.claim(out)
        said, code = str(caught.value), 1 if isinstance(caught.value, WriteError) else 2
    else:
        code, printed, said = cli(verb, *words, "--out", out)
        assert printed == ""
        assert said.count("\n") == 1
    assert str(out) in said or str(out / "runs") in said
    if place in codes:
        assert (code, os.strerror(codes[place]) in said) == (1, True)
    else:
        assert (code, "choose another directory with " in said) == (2, True)


def test_asking_leaves_nothing_behind(tmp_path: Path) -> None:
    """Breaks if the question whether something can be written is answered by a file that stays."""
    files.refuse_unwritable(tmp_path / "a" / "b")
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]


# A large fabric

# 65,536 hosts under 8,192 switches: seconds of work.
LARGE = SMALL.replace("leaves = 2", "leaves = 8192").replace("_leaf = 4", "_leaf = 8")


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_a_large_fabric_shows_progress_and_can_be_interrupted(tmp_path: Path, verb: str) -> None:
    """Breaks if the check before the runs says nothing for a minute, or does not handle Ctrl-C.

    A second is what it may take; the rest of the bound is for a machine with other work.
    """
    path = tmp_path / "large.toml"
    path.write_text(LARGE)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # The first line at once, not only after a while: a fast machine may be done by then.
    code = (
        "import runpy; from leafspine import progress; progress._Delayed.FIRST = 0; "
        "runpy.run_module('leafspine', run_name='__main__')"
    )
    words = [sys.executable, "-c", code, verb, str(path), "--out", str(tmp_path / "out")]
    child = subprocess.Popen(
        [*words, "--memory", "unlimited"],
        stderr=subprocess.PIPE,
        text=True,
        env=clean,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stderr is not None
    first = child.stderr.readline()
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    took = time.monotonic() - start
    assert re.fullmatch(r"building the fabric: [a-z ]+ \d+ %\n", first)
    assert took < at_once(), f"{took} s"
    assert child.returncode == 1
    assert said.splitlines()[-1].startswith("leafspine: interrupted")


def test_what_has_no_end_is_not_read(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if a device, or a file larger than any scenario, is read into memory; a pipe is not
    refused, as a shell's `<(...)` is one."""
    with pytest.raises(InputError, match=r"^/dev/zero: found a device or a socket; allowed: "):
        scenario.read(Path("/dev/zero"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(SMALL,))
    writer.start()
    assert scenario.read(pipe).text == SMALL
    writer.join()
    monkeypatch.setattr(scenario, "LARGEST", small.stat().st_size)
    assert scenario.read(small).text == SMALL
    monkeypatch.setattr(scenario, "LARGEST", small.stat().st_size - 1)
    with pytest.raises(InputError, match=r"found more than 0 MiB; allowed: a file of text of at"):
        scenario.read(small)


BOTH = "allowed: one of the two"
CONTRADICTIONS = {
    "run --seed 3 --set run.seed=4": f"--seed: found run.seed beside it; {BOTH}",
    "run --set run.seed=3 --set run.seed=4": "--set run.seed: found 3 and 4; allowed: one value",
    "check --set workload.load=0.3 --set workload.0.load=0.4": "--set workload.0.load: found 0.3",
    "compare --lb ecmp --set load_balancer.scheme=rps": (
        f"--lb: found load_balancer.scheme beside it; {BOTH}"
    ),
    "compare --load 0.2 --set workload.load=0.3": (
        f"--load: found workload.load beside it; {BOTH}"
    ),
    "compare --seeds 2 --set sweep.run.seed=[1]": (
        f"--seeds: found sweep.run.seed beside it; {BOTH}"
    ),
    'compare --seeds 2 --set sweep={"run.seed"=[1]}': (f"--seeds: found sweep beside it; {BOTH}"),
    "run --seed 3 --set run={seed=4}": f"--seed: found run beside it; {BOTH}",
    "compare --shard 1/2 --json --out x": "--shard: found --json; allowed: without it",
    "tune --lb letflow --param gap=1us..2us --param load_balancer.gap=1us..3us": (
        "--param: found load_balancer.gap more than once; allowed: each key once"
    ),
    "tune --lb letflow --param gap=1us..2us --set load_balancer.scheme=ecmp": (
        f"--lb: found load_balancer.scheme beside it; {BOTH}"
    ),
    "tune --lb letflow --param load_balancer.scheme=ecmp,letflow": (
        f"--lb: found load_balancer.scheme beside it; {BOTH}"
    ),
    "new --example demo --lb ecmp": "--example: found --lb; allowed: an example as it is",
    "bench --case web-search --smoke": "--case and --smoke: one of the two",
    "reproduce qdaps --from-kept --keep --scale paper": f"--from-kept: found --keep; {BOTH}",
    "reproduce qdaps --from-kept --scale quick": "--from-kept: found --scale quick; allowed: paper",
    "reproduce qdaps --cost 4 --no-run --scale paper": f"--cost: found --no-run; {BOTH}",
    "reproduce --keep": "--keep: found no figure; allowed: all, PAPER or PAPER/FIGURE",
    "reproduce --no-plots": "--no-plots: found no figure; allowed: all, PAPER or PAPER/FIGURE",
    "reproduce --jobs 2": "--jobs: found no figure; allowed: all, PAPER or PAPER/FIGURE",
    "reproduce qdaps --cost 4 --no-plots": f"--cost: found --no-plots; {BOTH}",
    "reproduce qdaps --cost 4 --jobs 2": f"--cost: found --jobs; {BOTH}",
    "reproduce qdaps --verify 5 --no-plots": f"--verify: found --no-plots; {BOTH}",
    "reproduce qdaps --from-kept --jobs 2": f"--from-kept: found --jobs; {BOTH}",
    "reproduce qdaps --no-run --jobs 2": f"--no-run: found --jobs; {BOTH}",
    "reproduce qdaps --shard 1/2 --no-plots": f"--shard: found --no-plots; {BOTH}",
}


@pytest.mark.parametrize("words", CONTRADICTIONS)
def test_options_that_contradict_each_other(cli: Cli, small: Path, words: str) -> None:
    """Breaks if one of two options silently wins, or is refused only after runs."""
    verb, *options = words.split()
    file = [] if verb in ("new", "bench", "reproduce") else [small]
    code, _, said = cli(verb, *file, *options)
    assert code == 2
    assert CONTRADICTIONS[words] in said


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.3", '"0.3"', True),
        ("0.2", "0.20", True),
        ("rps", '"rps"', True),
        ("[1, 2]", "[1,2]", True),
        ("40pkt", '"40pkt"', True),
        ("1", "true", False),
        ("0.3", '"0.4"', False),
        ("rps", '"ecmp"', False),
        ("[1, 2]", "[2, 1]", False),
    ],
)
def test_a_value_given_twice_is_one_value(one: str, other: str, same: bool) -> None:
    """Breaks if one value in two spellings is refused, or two values pass for one."""
    given = [f"a={one}", f"a={other}"]
    if same:
        assert scenario.parse_settings(given) == [("a", one)]
    else:
        with pytest.raises(InputError, match="allowed: one value"):
            scenario.parse_settings(given)


def test_what_nobody_has_written_is_not_named(small: Path) -> None:
    """Breaks if an error names the resolved scenario, which no one has written, or an option that
    was not given."""
    change = 'at = "1ms"\nrate = "500Mbps"\nlink = "leaf0-spine1"\n'
    small.write_text(f"{SMALL}\n[[topology.change]]\n{change}")
    links = 'sweep."topology.change.0.link"=["leaf0-spine1", "leaf9-spine1"]'
    done = real("compare", small, "--set", links, "--no-plots", "--out", small.parent / "c", code=2)
    said = done.stderr.splitlines()[-1].removeprefix("leafspine: ")
    assert said.startswith(f'{small}: topology.change.0.link: found "leaf9-spine1"; allowed: ')
    said = refused("run", small, "--set", "load_balancer.scheme=aq-car")
    assert said.startswith("--set load_balancer.scheme=aq-car: switch.queues: found 1; allowed: ")
    said = refused("tune", small, "--lb", "reps", "--param", "gap=1us..2us")
    assert said.startswith('--lb: found "reps", which belongs in host_edge.scheme (host_edge')
    said = refused("compare", small, "--lb", "ecmp,abq")
    assert said.startswith('--lb: found "abq", which belongs in scheme or hold.scheme (scheme =')
