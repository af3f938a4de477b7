"""``leafspine new`` and ``leafspine check``: a scenario to start from, and what it would run."""

import json
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from leafspine import schema, starting
from test_docs import catalogue, expand, real
from test_engine import ROOT

CHECK = Draft7Validator(json.loads(schema.PACKAGED.read_text(encoding="utf-8")))

LOSSLESS = """\
[topology]
kind = "{kind}"
{counts}
host_link = {{ rate = "10Gbps", delay = "2us" }}
{fabric}
[switch]
buffer = "100000pkt"
[aqm]
scheme = "droptail"
[transport]
scheme = "newreno"
{transport}
[[workload]]
kind = "permutation"
sizes = {{ kind = "uniform", low = "1B", high = "40KB" }}
"""
FABRIC_LINK = 'fabric_link = { rate = "10Gbps", delay = "2us" }'
FABRICS = {
    "star": "hosts = 6",
    "leaf-spine": "leaves = 3\nspines = 2\nhosts_per_leaf = 3",
    "fat-tree": "k = 4",
    "tree": "tors = 3\nhosts_per_tor = 2",
}


def leafspine(*words: object, code: int = 0) -> str:
    done = real("-m", "leafspine", *words)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.mark.parametrize("kind", FABRICS)
@pytest.mark.parametrize("transport", ["", "handshake_ack = true", "handshake = false"])
def test_work_is_what_the_run_does(kind: str, transport: str, tmp_path: Path) -> None:
    """Breaks if flows are counted that do not run, a way has another length, or a packet is
    forgotten: where nothing is lost, the estimate is the count."""
    fabric = "" if kind == "star" else FABRIC_LINK
    text = LOSSLESS.format(kind=kind, counts=FABRICS[kind], fabric=fabric, transport=transport)
    (file := tmp_path / "s.toml").write_text(text)
    found = json.loads(leafspine("check", file, "--json"))
    ran = json.loads(leafspine("run", file, "--json", "--out", tmp_path / "out"))
    assert (found["flows"], found["packet_hops"]) == (ran["flows"], ran["packet_hops"])


def test_what_an_end_cuts_off_is_said(tmp_path: Path) -> None:
    """Breaks if `check` promises the work of flows that `run.until` cuts off, and says nothing."""
    text = LOSSLESS.format(kind="star", counts=FABRICS["star"], fabric="", transport="")
    (file := tmp_path / "s.toml").write_text(text)
    assert "an upper bound" not in leafspine("check", file)
    file.write_text(text + '[run]\nuntil = "10us"\n')
    assert "an upper bound: run.until cuts off" in leafspine("check", file)
    found = json.loads(leafspine("check", file, "--json"))
    ran = json.loads(leafspine("run", file, "--json", "--out", tmp_path / "out"))
    assert found["at_most"] and ran["packet_hops"] < found["packet_hops"]


JOB = """
[topology]
kind = "star"
hosts = 6
host_link = { rate = "10Gbps", delay = "2us" }
[[workload]]
kind = "collective"
collective = "all-to-all"
bytes = "60KB"
iterations = 3
"""


def test_a_jobs_messages_are_counted(tmp_path: Path) -> None:
    """Breaks if the messages of a job are not said, or are others than the run has."""
    (file := tmp_path / "job.toml").write_text(JOB)
    found = json.loads(leafspine("check", file, "--json"))
    ran = json.loads(leafspine("run", file, "--json", "--out", tmp_path / "out"))
    assert found["messages"] == found["flows"] == ran["flows"] == ran["messages"] == 6 * 5 * 3
    assert leafspine("check", file).split()[:3] == ["variant", "runs", "messages"]
    flows = '[[workload]]\nkind = "permutation"\nsizes = { kind = "fixed", bytes = "1KB" }\n'
    file.write_text(JOB + flows)
    assert "of the flows 90 are messages of jobs" in leafspine("check", file)


def test_a_comparison_is_added_up() -> None:
    """Breaks if variants, points or seeds are left out, or the advice is the wrong verb."""
    found = json.loads(leafspine("check", ROOT / "examples" / "demo.toml", "--json"))
    assert (found["verb"], found["runs"]) == ("compare", 100)
    assert [row["runs"] for row in found["variants"]] == [20] * 5
    assert found["packet_hops"] == sum(row["packet_hops"] for row in found["variants"])
    assert 1 < found["seconds"] < 10_000


def test_python_says_the_same() -> None:
    """Breaks if `leafspine.check` counts other runs than the command, or overrides are lost."""
    code = (
        "import dataclasses, json, leafspine\n"
        "found = leafspine.check('examples/quickstart.toml', workload__load=0.3)\n"
        "print(json.dumps([dataclasses.asdict(cost) for cost in found]))\n"
    )
    done = real("-c", code)
    assert done.returncode == 0, done.stderr
    word = ["check", "examples/quickstart.toml", "--set", "workload.load=0.3", "--json"]
    told = json.loads(leafspine(*word))["variants"]
    keys = ("variant", "runs", "flows", "packet_hops", "memory")
    assert [[row[key] for key in keys] for row in told] == [
        [row[key] for key in keys] for row in json.loads(done.stdout)
    ]


def test_the_command_that_is_named_runs_what_was_checked(tmp_path: Path) -> None:
    """Breaks if the command leaves out a setting, or a shell would cut it at a blank."""
    file = tmp_path / "two words.toml"
    file.write_text((ROOT / "examples" / "quickstart.toml").read_text())
    shown = leafspine("check", file, "--set", "run.seed=7")
    [line] = [line for line in shown.splitlines() if line.startswith("run it: ")]
    words = shlex.split(line.removeprefix("run it: "))
    assert words[2:] == [str(file), "--set", "run.seed=7"]


def test_what_is_shown_fits_eighty_columns(tmp_path: Path) -> None:
    """Breaks if the table of a common comparison is wider than a terminal."""
    shown = leafspine("check", "examples/demo.toml")
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "leafspine compare examples/demo.toml" in shown
    assert list(tmp_path.iterdir()) == []


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    """Breaks if `check` takes what `run` refuses, or says it otherwise."""
    (file := tmp_path / "s.toml").write_text('[topology]\nkind = "ring"\n')
    said = leafspine("check", file, code=2)
    assert said == leafspine("run", file, code=2)
    assert f"{file}:2: topology.kind" in said


def starts() -> list[tuple[str, str, str]]:
    """Every choice of `new` with the defaults of the others."""
    systems = [e["name"] for e in catalogue() if e["place"] in ("load_balancer", "scheme")]
    return [
        *((kind, what, "ecmp") for kind in starting.TOPOLOGIES for what in starting.WORKLOADS),
        *(("leaf-spine", "poisson", name) for name in dict.fromkeys(systems)),
    ]


def written(chosen: list[tuple[str, str, str]]) -> list[str]:
    """What the real engine's `new` writes."""
    code = (
        "import json, sys\nfrom leafspine import starting\n"
        "print(json.dumps([starting.text('s.toml', *each) for each in json.load(sys.stdin)]))\n"
    )
    done = real("-c", code, queries=chosen)
    assert done.returncode == 0, done.stderr
    texts: list[str] = json.loads(done.stdout)
    return texts


def test_every_start_runs() -> None:
    """Breaks if what `new` writes is no good scenario, or an editor would underline it."""
    chosen = [found for found in starts() if found[2] != starting.REPLAY]
    texts = written(chosen)
    for found, text, answer in zip(
        chosen, texts, expand(*((text, ()) for text in texts)), strict=True
    ):
        assert "toml" in answer, (found, answer)
        assert [error.message for error in CHECK.iter_errors(tomllib.loads(text))] == [], found
        assert max(len(line) for line in text.splitlines()[1:]) <= 100, found


def test_what_is_commented_out_can_be_set() -> None:
    """Breaks if a line that `new` offers is refused once its # is gone."""
    (text,) = written([("leaf-spine", "poisson", "letflow")])
    lines = text.splitlines()
    keys = ("[", "link ", "at ", "rate ", "gap ", "entries ", "buffer ", "scheme ", "threshold ")
    more = ("until ", "kind ", "ports ", "every ", "name ", "set ", '"run.seed"', "profile ")
    bare = [
        line[2:] if line.startswith(tuple(f"# {key}" for key in (*keys, *more))) else line
        for line in lines
    ]
    assert sum(old != new for old, new in zip(lines, bare, strict=True)) > 15
    (answer,) = expand(("\n".join(bare), ()))
    assert "toml" in answer, answer


@pytest.mark.parametrize("workload", starting.WORKLOADS)
def test_a_start_with_a_list_of_links(workload: str, tmp_path: Path) -> None:
    """Breaks if what `new --topology file` writes does not run, or one of its two files is lost on
    somebody's own."""
    file, links = tmp_path / "my own.toml", tmp_path / "my own-links.csv"
    done = leafspine("new", file, "--topology", "file", "--workload", workload)
    assert str(links) in done
    text = file.read_text()
    assert [error.message for error in CHECK.iter_errors(tomllib.loads(text))] == []
    commented = ("# [[topology.change]]", "# link ", "# at ", "# rate ", "# host_", "# fabric_")
    bare = [line[2:] if line.startswith(commented) else line for line in text.splitlines()]
    (tmp_path / "bare.toml").write_text("\n".join(bare))
    leafspine("check", tmp_path / "bare.toml", "--json")
    leafspine("check", file, "--json")
    file.unlink()
    links.write_text("mine")
    said = leafspine("new", file, "--topology", "file", code=2)
    assert "links.csv: is there already" in said
    assert links.read_text() == "mine" and not file.exists()
    assert "give it a name" in leafspine("new", "-", "--topology", "file", code=2)


def test_a_file_is_not_replaced(tmp_path: Path) -> None:
    """Breaks if somebody's scenario is overwritten."""
    (file := tmp_path / "s.toml").write_text("mine")
    assert "is there already" in leafspine("new", file, code=2)
    assert file.read_text() == "mine"
    leafspine("new", file, "--force", "--lb", "presto")
    assert 'scheme = "presto"' in file.read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem)
def test_examples_are_shipped(path: Path, tmp_path: Path) -> None:
    """Breaks if an example is not in the package, loses a line, or its schema is not there."""
    leafspine("new", tmp_path / "s.toml", "--example", path.stem)
    first, rest = (tmp_path / "s.toml").read_text().split("\n", 1)
    assert first == f"#:schema {schema.PACKAGED.as_uri()}"
    assert rest == path.read_text().split("\n", 1)[1]


def test_an_examples_files_are_beside_it(tmp_path: Path) -> None:
    """Breaks if an example comes without the files that it reads, or if somebody's own of these
    names are replaced."""
    done = leafspine("new", tmp_path / "s.toml", "--example", "lab")
    assert f"{tmp_path / 'lab.csv'}: what it needs" in done
    for name in ("lab.csv", "lab-flows.csv"):
        assert (tmp_path / name).read_bytes() == (ROOT / "examples" / name).read_bytes()
    leafspine("check", tmp_path / "s.toml", "--json")
    assert "lab.csv: is there already" in leafspine(
        "new", tmp_path / "t.toml", "--example", "lab", code=2
    )
    leafspine("new", tmp_path / "p.toml", "--example", "programs")
    assert (tmp_path / "programs" / "server.py").is_file()


def test_a_scenario_is_not_called_as_a_file_that_it_reads(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Breaks if the links of an example replace the scenario that names them."""
    for words in ((), ("--force",)):
        code, _, said = cli("new", "./lab.csv", "--example", "lab", *words)
        assert code == 2
        assert "FILE: found lab.csv, which the example reads; allowed: another name" in said
    assert not list(tmp_path.iterdir())


def test_unknown_choices_say_what_there_is() -> None:
    """Breaks if a wrong name is answered without the right ones."""
    assert 'did you mean "letflow"?' in leafspine("new", "-", "--lb", "letflo", code=2)
    assert 'did you mean "demo"?' in leafspine("new", "-", "--example", "demos", code=2)
    assert 'did you mean "star"?' in leafspine("new", "-", "--topology", "stra", code=2)


def test_a_trial_that_fails_is_no_short_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if a run that would fail is called good, and too short to be timed."""
    monkeypatch.setenv("LEAFSPINE_TEST_PANIC", "1")
    assert "LEAFSPINE_TEST_PANIC" in leafspine("check", ROOT / "examples/quickstart.toml", code=1)
