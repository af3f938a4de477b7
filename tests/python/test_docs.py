"""The documentation against the program: what it shows must be so.

Scenarios, commands and keys go to the real engine, all in one process.
"""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import click
import pytest

from leafspine.cli import cli
from leafspine.scenario import to_toml
from test_engine import ROOT

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("walks/*.md"))]
README = ROOT / "README.md"

FABRIC = """\
[topology]
kind = "leaf-spine"
leaves = 4
spines = 4
hosts_per_leaf = 8
host_link = { rate = "10Gbps", delay = "2us" }
fabric_link = { rate = "10Gbps", delay = "2us" }
"""
FLOWS = '[[workload]]\nsizes = "web-search"\nload = 0.5\nflows = 10\n'

CLOS = """\
[topology]
kind = "clos"
hosts_per_tor = 2
host_link = { rate = "10Gbps", delay = "2us" }
fabric_link = { rate = "10Gbps", delay = "2us" }
[[topology.tier]]
"""

EXPAND = """\
import json, sys
from leafspine import engine
from leafspine.errors import ScenarioError
def answer(text, name, base, sets):
    try:
        cases = engine.expand(text, name, base, [tuple(pair) for pair in sets])
        return {"toml": [case.toml for case in cases]}
    except ScenarioError as error:
        return {"error": str(error), "allowed": error.allowed, "line": error.line}
print(json.dumps([answer(*each) for each in json.load(sys.stdin)]))
"""

Answer = dict[str, Any]

# console: commands after "$ ", with what they print; text: what something prints.
LANGUAGES = ("toml", "sh", "console", "text", "python", "rust")
DIRECTIVES = ("{toctree}", "{glossary}", "{eval-rst}")
"""What only the site's generator reads."""


def real(*words: object, queries: object = None) -> subprocess.CompletedProcess[str]:
    """Python with the real engine, in the repository's folder; JSON goes in."""
    return subprocess.run(
        [sys.executable, *(str(word) for word in words)],
        input=json.dumps(queries),
        capture_output=True,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        cwd=ROOT,
        check=False,
    )


def expand(*requests: tuple[str, Sequence[tuple[str, str]]], folder: Path = ROOT) -> list[Answer]:
    """What the engine makes of texts with settings: resolved scenarios, or an error."""
    queries = [(text, "docs.toml", str(folder), list(sets)) for text, sets in requests]
    done = real("-c", EXPAND, queries=queries)
    assert done.returncode == 0, done.stderr
    answers: list[Answer] = json.loads(done.stdout)
    return answers


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page that are in one of these languages."""
    found: list[str] = []
    inside: list[str] | None = None
    language = ""
    for line in page.read_text().splitlines(keepends=True):
        if not line.startswith("```"):
            if inside is not None:
                inside.append(line)
        elif inside is None:
            inside, language = [], line[3:].strip()
            assert language in (*LANGUAGES, *DIRECTIVES), f"{page.name}: a block in {language!r}"
        else:
            if language in languages:
                found.append("".join(inside))
            inside = None
    assert inside is None, f"{page.name}: a block that does not end"
    return found


def test_every_scenario_shown_is_good() -> None:
    """Breaks if a TOML block in README or docs is no scenario, or no part of one."""
    # Those of reproducing.md are of other files: reproduce/test_chosen.py reads them.
    pages = [page for page in PAGES if page.name != "reproducing.md"]
    shown = [(page.name, text) for page in pages for text in blocks(page, "toml")]
    assert shown
    answers = expand(*((completed(text), ()) for _, text in shown))
    for (page, text), answer in zip(shown, answers, strict=True):
        # Where no kernel has been built, that is all that may be wrong with a scenario of one.
        good = "toml" in answer or "the Linux kernel is not there" in answer["error"]
        assert good, f"{page}: {answer['error']}\n{text}"


def completed(text: str) -> str:
    """The text with a fabric and a workload, if it has none of its own."""
    found = tomllib.loads(text)
    topology = found.get("topology", {})
    if "kind" not in topology:
        found["topology"] = {**tomllib.loads(FABRIC)["topology"], **topology}
    if "workload" not in found:
        found["workload"] = tomllib.loads(FLOWS)["workload"]
    return to_toml(found)


def commands() -> list[list[str]]:
    """The command lines of all pages that call leafspine, as words, without the mistakes; those of
    walks are run, in the walks' own folders."""
    pages = [page for page in PAGES if page.parent.name != "walks"]
    texts = [text for page in pages for text in blocks(page, "sh")]
    lines = [line for text in texts for line in text.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == ["leafspine"]]


def parsed(words: list[str]) -> click.Context:
    """A command line as the program understands it."""
    with cli.make_context("leafspine", list(words)) as context:
        name, command, rest = cli.resolve_command(context, list(words))
        assert command is not None
        return command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_shown_parses(words: list[str]) -> None:
    """Breaks if the documentation shows a command, an option or a file that there is not."""
    found = parsed(words).params
    if found.get("scenario_file"):
        assert (ROOT / found["scenario_file"]).is_file()


def test_the_readme_shows_commands() -> None:
    """Breaks if the commands are no longer found, and so no longer tested."""
    assert {"run", "compare"} <= {words[0] for words in commands()}


def test_every_setting_shown_is_good() -> None:
    """Breaks if a command's --set or --lb names what the engine does not know."""
    code = (
        "import sys, json\nfrom leafspine import scenario as s\n"
        "for file, sets, lb in json.load(sys.stdin):\n"
        "    source = s.read(file)\n"
        "    pairs = [s.parse_setting(text) for text in sets]\n"
        "    s.expand(source, s.comparing(source, pairs, lb=lb))\n"
    )
    queries = []
    for words in commands():
        found = parsed(words).params
        if found.get("scenario_file"):
            names = found["lb"].split(",") if found.get("lb") else []
            queries.append((str(ROOT / found["scenario_file"]), found["settings"], names))
    done = real("-c", code, queries=queries)
    assert done.returncode == 0, done.stderr


# Keys


def keys_shown() -> dict[str, dict[str, str]]:
    """The keys in the tables of ``scenario.md`` by section, each with its default's cell."""
    sections: dict[str, dict[str, str]] = {}
    open_sections: list[str] = []
    place = 0
    for line in (DOCS / "scenario.md").read_text().splitlines():
        if marker := re.fullmatch(r"<!-- keys: (\S+) -->", line):
            open_sections.append(marker[1])
            sections.setdefault(marker[1], {})
        elif not line.startswith("|"):
            open_sections = []
        elif line.startswith("| key |"):
            place = [cell.strip() for cell in line.split("|")].index("default")
        elif open_sections and line.startswith("| `"):
            cells = [cell.strip() for cell in line.split("|")]
            for section in open_sections:
                sections[section] |= dict.fromkeys(re.findall(r"`(\S+)`", cells[1]), cells[place])
    return sections


# Texts with an unknown key in a section: the engine's answer lists the keys that it knows there.
UNKNOWN = {
    "top": [f"zzz = 1\n{FABRIC}{FLOWS}"],
    "topology": [
        f'[topology]\nkind = "{kind}"\nzzz = 1\n{FLOWS}'
        for kind in ("star", "leaf-spine", "fat-tree", "tree", "clos", "file")
    ],
    "topology.host_link": [FABRIC.replace('"2us" }', '"2us", zzz = 1 }', 1) + FLOWS],
    "topology.tier": [
        f"{CLOS}{lower}[[topology.tier]]\n{upper}{FLOWS}"
        for lower, upper in (("zzz = 1\n", ""), ("switches = 2\n", "zzz = 1\n"))
    ],
    "topology.change": [f"{FABRIC}[[topology.change]]\nzzz = 1\n{FLOWS}"],
    "topology.change.flap": [
        f'{FABRIC}[[topology.change]]\nlink = "leaf0-spine0"\nflap = {{ zzz = 1 }}\n{FLOWS}'
    ],
    **{
        section: [f"{FABRIC}[{section}]\nzzz = 1\n{FLOWS}"]
        for section in (
            "switch",
            "load_balancer",
            "aqm",
            "hold",
            "host_edge",
            "hosts",
            "run",
            "measure",
        )
    },
    "transport": [
        f"{FABRIC}[transport]\n{kind}\nzzz = 1\n{FLOWS}"
        for kind in (
            'kind = "tcp"',
            'kind = "roce"',
            'kind = "roce"\nscheme = "hpcc"',
            'kind = "roce"\nscheme = "nscc"',
            'kind = "roce"\nscheme = "swift"',
        )
    ],
    "workload": [
        f"{FABRIC}[[workload]]\nzzz = 1\n{more}"
        for more in (
            "load = 1\n",
            'kind = "poisson"\n',
            'kind = "incast"\n',
            'kind = "long-flows"\n',
            'kind = "permutation"\n',
            'kind = "all-to-all"\n',
            'kind = "trace"\n',
            'kind = "collective"\n',
            'kind = "collective"\ncollective = "all-to-allv"\n',
            'kind = "pipeline"\n',
            'kind = "goal"\n',
            'kind = "simai"\n',
            'kind = "chakra"\n',
            'kind = "program"\n',
        )
    ],
    "workload.sizes": [
        FABRIC + FLOWS.replace('"web-search"', f'{{ kind = "{kind}", zzz = 1 }}')
        for kind in ("fixed", "uniform", "pareto", "table")
    ],
    "workload.sizes.0": [FABRIC + FLOWS.replace('"web-search"', "[{ zzz = 1 }]")],
    "probe": [
        f'{FABRIC}{FLOWS}[[probe]]\nkind = "{kind}"\nzzz = 1\n'
        for kind in ("queue", "utilisation", "window", "state", "signals", "packets")
    ],
    "variant": [f"{FABRIC}{FLOWS}[[variant]]\nzzz = 1\n"],
}


def test_every_key_has_its_line_and_every_line_its_key() -> None:
    """Breaks if the engine knows a key that the reference lacks, or the other way round."""
    shown = keys_shown()
    queries = [(section, text) for section, texts in UNKNOWN.items() for text in texts]
    known: dict[str, set[str]] = {}
    answers = expand(*((text, ()) for _, text in queries))
    for (section, text), answer in zip(queries, answers, strict=True):
        assert "an unknown" in answer["error"] or "a key that" in answer["error"], (text, answer)
        known.setdefault(section, set()).update(answer["allowed"].split(", "))
    parameters = {
        (entry["place"], param["name"])
        for entry in catalogue()
        for param in entry.get("params", ())
    }
    for section, keys in known.items():
        own = {key for key in keys if (section, key) not in parameters}
        assert set(shown[section]) == own, section
    assert set(shown) == set(known)


def catalogue() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(real("-m", "leafspine", "schemes", "--json").stdout)
    return entries


# Scenarios in which the keys of a section may be set to their defaults.
PROBES = '[[probe]]\nkind = "queue"\nports = "*"\nevery = "1us"\n'
PARETO = '{ kind = "pareto", mean = "1KB", shape = 2 }'
AT_DEFAULT = {
    "topology": [FABRIC + FLOWS],
    "topology.host_link": [FABRIC + FLOWS],
    "topology.tier": [f"{CLOS}switches = 2\n[[topology.tier]]\nswitches = 2\n{FLOWS}"],
    "topology.change": [f'{FABRIC}[[topology.change]]\nlink = "leaf0-spine0"\nloss = 0\n{FLOWS}'],
    "switch": [
        FABRIC + FLOWS,
        f'{FABRIC}{FLOWS}[switch]\nshared_buffer = "9MB"\n',
        f'{FABRIC}{FLOWS}[switch]\nshared_buffer = "9MB"\npfc = "dynamic"\npfc_watchdog = "1ms"\n',
        f'{FABRIC}{FLOWS}[transport]\nkind = "roce"\nrecovery = "each"\ndata_class = 1\n'
        '[switch]\nqueues = 2\nscheduler = "strict"\nclassifier = "dscp"\ntrim = "either"\n',
    ],
    "hosts": [FABRIC + FLOWS],
    "transport": [
        FABRIC + FLOWS,
        f'{FABRIC}{FLOWS}[transport]\nkind = "roce"\n',
        f'{FABRIC}{FLOWS}[transport]\nkind = "roce"\nrecovery = "irn"\n',
        f'{FABRIC}{FLOWS}[transport]\nkind = "roce"\nrecovery = "each"\ncredits = "receiver"\n',
        *(
            f'{FABRIC}{FLOWS}[transport]\nkind = "roce"\nscheme = "{scheme}"\n'
            for scheme in ("hpcc", "nscc", "swift")
        ),
    ],
    "workload": [
        FABRIC + FLOWS,
        *(
            f"{FABRIC}[[workload]]\nkind = {kind}\nsizes = {PARETO}\n"
            for kind in ('"incast"', '"long-flows"\ncount = 1', '"permutation"')
        ),
        f'{FABRIC}[[workload]]\nkind = "collective"\ncollective = "all-reduce"\nbytes = "1MB"\n',
        f'{FABRIC}[[workload]]\nkind = "pipeline"\nbytes = "1MB"\nmicrobatches = 2\n',
        f'{FABRIC}[hosts]\nkind = "linux"\nkernel = "6.12-0"\n'
        '[[workload]]\nkind = "program"\ncommand = ["sh"]\n',
    ],
    "workload.sizes": [
        FABRIC + FLOWS.replace('"web-search"', PARETO),
        FABRIC + FLOWS.replace('"web-search"', '{ kind = "table", points = [[1, 0], [2, 1]] }'),
    ],
    "workload.sizes.0": [FABRIC + FLOWS.replace('"web-search"', '[{ sizes = "hadoop" }]')],
    "run": [FABRIC + FLOWS],
    "measure": [FABRIC + FLOWS, f"{FABRIC}{FLOWS}[measure]\nrecovery = 0.9\n"],
}
PATHS = {
    "topology.tier": "topology.tier.1",
    "topology.change": "topology.change.0",
    "workload": "workload.0",
    "workload.sizes": "workload.0.sizes",
    "workload.sizes.0": "workload.0.sizes.0",
}


def test_defaults_are_those_of_the_engine() -> None:
    """Breaks if the reference states another default than the engine has: setting a key to it then
    changes the resolved scenario, whatever else stands there."""
    shown = keys_shown()
    stated = [
        (section, key, cell[1:-1])
        for section, keys in shown.items()
        for key, cell in keys.items()
        if re.fullmatch(r"`[^`]+`", cell)
    ]
    assert {section for section, _, _ in stated} == set(AT_DEFAULT)
    queries = [
        (section, key, text, [(f"{PATHS.get(section, section)}.{key}", value)])
        for section, key, value in stated
        for text in AT_DEFAULT[section]
    ]
    plain = expand(*((text, ()) for _, _, text, _ in queries))
    at_default = expand(*((text, sets) for _, _, text, sets in queries))
    fits = set()
    for (section, key, _, _), before, after in zip(queries, plain, at_default, strict=True):
        assert "toml" in before, before
        if after == before:
            fits.add((section, key))
    assert fits == {(section, key) for section, key, _ in stated}


# What is generated, and what is quoted


def test_no_page_counts_all_runs_of_papers() -> None:
    """Breaks if a page quotes how many runs all figures have, which each new figure makes stale."""
    for page in (ROOT / "docs").glob("*.md"):
        said = re.search(
            r"^\d+ runs, .* core-hours", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert said is None, f"{page.name}: {said[0]}"


def test_generated_parts_are_up_to_date() -> None:
    """Breaks if a scheme, a distribution or a figure has changed (run docs/generate.py), or if a
    claim that holds is said to be out of reach."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import generate as g\n"
        "from bounds import NOT_RUN, counted\n"
        "from pathlib import Path\n"
        "docs = Path(sys.argv[1])\n"
        "assert (docs / 'schemes.md').read_text() == g.schemes_page(), 'schemes.md'\n"
        "chapters = g.reproducing.kept_chapters()\n"
        "assert (docs / 'scorecard.md').read_text() == g.scorecard_page(chapters), 'scorecard.md'\n"
        "text = (docs / 'what-stands.md').read_text()\n"
        "assert text == g.with_hinges(text, chapters), 'what-stands.md'\n"
        "assert text == g.with_standing(text, chapters), 'what-stands.md, picture'\n"
        "assert text == g.with_pictures(text, chapters), 'what-stands.md, hinges'\n"
        "assert (docs / g.PICTURE).read_text() == g.picture(chapters), g.PICTURE\n"
        "drawn = g.pictures(chapters)\n"
        "old = [path for path, svg in drawn.items() if (docs / path).read_text() != svg]\n"
        "assert not old, old\n"
        "assert set(drawn) == {f'images/{p.name}' for p in (docs / 'images').glob('hinge-*')}\n"
        "text = (docs / 'reproducing.md').read_text()\n"
        "assert text == g.with_bounds(text, chapters), 'reproducing.md, bounds'\n"
        "assert text == g.with_words(text, g.PAPERS), 'reproducing.md, words'\n"
        "unbound = [p.figure.name for c in chapters for p in c.pages if counted(p)[NOT_RUN]]\n"
        "assert not unbound, f'claims on completion times lack the ideal fabric: {unbound}'\n"
        "judged = [j for c in chapters for j in c.judged]\n"
        "held = [j for j in judged if j.verdict.words in ('reproduced', 'exceeds')]\n"
        "beyond = [j.claim.id for j in held if 'out of reach' in j.ideal]\n"
        "assert held and not beyond, f'they hold, and are out of reach: {beyond}'\n"
        "text = (docs / 'linux.md').read_text()\n"
        "assert text == g.with_papers(text, chapters), 'linux.md, papers'\n"
        "text = (docs / 'scenario.md').read_text()\n"
        "assert text == g.with_table(text), 'scenario.md'\n"
        "assert (g.DATA / 'keys.json').read_text() == g.keys_file(), 'keys.json'\n"
        "found = (g.DATA / 'scenario.schema.json').read_text()\n"
        "assert found == g.schema.text(), 'scenario.schema.json'\n"
        "text = (docs / 'validation.md').read_text()\n"
        "assert text == g.with_ns3(text), 'validation.md, ns-3'\n"
        "assert text == g.with_kernels(text), 'validation.md, Linux'\n"
        "assert text == g.with_theory(text), 'validation.md, theory'\n"
        "assert text == g.with_fuzzing(text), 'validation.md, fuzzing'\n"
        "assert text == g.with_faults(text), 'validation.md, faults'\n"
        "assert text == g.with_public(text), 'validation.md, public figures'\n"
    )
    done = real("-B", "-c", code, DOCS)
    assert done.returncode == 0, f"out of date, run docs/generate.py: {done.stderr}"


def test_what_a_difference_is_of_is_said_before_the_first() -> None:
    """Breaks if a reader of the public figures of RDMA meets a difference of -198.5 % before the
    words that it is of the mean of both."""
    page = (DOCS / "validation.md").read_text()
    section = page.split("\n## Public figures of RDMA\n")[1].split("\n## ")[0]
    before, figures = section.split("<!-- generated by", 1)
    assert "-198.5 %" in figures
    assert "[percent of the mean of both](reproducing.md#words)" in before
    words = (DOCS / "reproducing.md").read_text().split("\n## Words\n")[1].split("\n## ")[0]
    assert "percent of the mean of both" in words


SENDERS = ("10", "20", "60", "70", "100")


def of_abq(side: str, metric: str) -> dict[str, list[float]]:
    """A metric of ABQ's incast as it is kept of a side with real hosts: a scheme's means over the
    seeds, by the number of senders."""
    with (ROOT / "papers/abq/fig04/linux/data.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["runs"] == f"main~{side}"]
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        senders = str(json.loads(row["point"])["workload.0.fan_in"])
        found.setdefault(row["variant"], {}).setdefault(senders, []).append(float(row[metric]))
    return {
        scheme: [mean(by_senders[each]) for each in SENDERS] for scheme, by_senders in found.items()
    }


def test_abq_with_kernels_is_quoted_from_the_runs() -> None:
    """Breaks if what-stands.md gives other drops and goodputs with real hosts than were found, or
    makes more of them."""

    def listed(values: Sequence[float | str]) -> str:
        *first, last = (each if isinstance(each, str) else f"{each:.0f}" for each in values)
        return f"{', '.join(first)} and {last}"

    text = " ".join((DOCS / "what-stands.md").read_text().split())
    drops, goodput = (
        of_abq("Linux kernels", metric) for metric in ("own.drop_share", "own.goodput")
    )
    model = of_abq("the model's hosts, profile linux", "own.drop_share")
    assert (
        f"it drops {listed(drops['ABQ'])} % with {listed(SENDERS)} senders, "
        f"drop-tail {listed(drops['DropTail'])} %."
    ) in text
    assert (
        f"the largest of the three with 20, 60 and 100 senders, drop-tail's with 10 and 70 "
        f"({listed(goodput['ABQ'])} Mb/s; drop-tail {listed(goodput['DropTail'])})"
    ) in text
    assert (
        f"drop {listed(model['ABQ'])} % with ABQ, {listed(model['DropTail'])} % with drop-tail"
    ) in text
    least = [min(drops, key=lambda name: drops[name][n]) for n in range(len(SENDERS))]
    assert [scheme == "ABQ" for scheme in least] == [True, True, False, False, False]
    most = [max(goodput, key=lambda name: goodput[name][n]) for n in range(len(SENDERS))]
    assert most == ["DropTail", "ABQ", "ABQ", "DropTail", "ABQ"]


def test_late_or_lost_is_what_its_scenario_gives(tmp_path: Path) -> None:
    """Breaks if reordering.md's table is of another engine, or lacks a variant of its scenario: the
    rows of the lowest load are made again."""
    text, all_loads = (ROOT / "examples/reordering.toml").read_text(), "[0.2, 0.4, 0.6, 0.8]"
    assert all_loads in text
    scenario = tmp_path / "reordering.toml"
    scenario.write_text(text.replace(all_loads, "[0.2]"))
    made = real("docs/reordering.py", scenario)
    assert made.returncode == 0, made.stderr
    head, _, *rows = made.stdout.splitlines()
    page = (DOCS / "reordering.md").read_text().splitlines()
    shown = page[page.index(head) + 2 :]
    assert shown[: len(rows)] == rows
    assert sum(line.startswith("| 0.") for line in shown) == 4 * len(rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_rust_is_quoted_from_the_sources(page: Path) -> None:
    """Breaks if a Rust block is not in any source file: a signature has changed, or a test."""
    files = [*(ROOT / "crates").rglob("*.rs"), *(ROOT / "template" / "src").glob("*.rs")]
    sources = [normal(path.read_text()) for path in files]
    for block in blocks(page, "rust"):
        for piece in re.split(r"^// \.\.\.$", block, flags=re.M):
            assert any(normal(piece) in source for source in sources), piece


def normal(text: str) -> str:
    """The code without indentation, empty lines and doc comments."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("///"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Breaks if a link's file or heading is not there, or a picture is large."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = page if not name else page.parent / name
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), target
        if path.suffix == ".png":
            assert path.stat().st_size < 150_000


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as hosting sites make them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_readme_shows_what_a_run_prints(tmp_path: Path) -> None:
    """Breaks if the run in the README gives other numbers, or prints them otherwise."""
    done = real("-m", "leafspine", "run", "examples/quickstart.toml", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    shown = [text for text in blocks(README, "text") if "mean FCT" in text]
    assert len(shown) == 1
    for line in shown[0].splitlines():
        assert line in [printed.rstrip() for printed in done.stdout.splitlines()], line


def test_the_readme_shows_the_errors_as_they_are() -> None:
    """Breaks if a message that is quoted has changed."""
    shown = [pair for text in blocks(README, "console") for pair in re.findall(MISTAKE, text)]
    assert shown
    for command, message in shown:
        done = real("-m", "leafspine", *shlex.split(command))
        assert done.returncode == 2
        assert done.stderr.strip() == message


MISTAKE = re.compile(r"^\$ leafspine (.*)\n(leafspine: .*)$", re.M)


def test_the_readme_shows_what_its_python_prints() -> None:
    """Breaks if the API has changed, or gives other numbers."""
    [code] = blocks(README, "python")
    done = real("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout in blocks(README, "text")


@pytest.mark.parametrize("page", ["performance", "decisions", "nodes"])
def test_commits_that_pages_name_are_in_the_history(page: str) -> None:
    """Breaks if a figure or a decision is said to be of a commit that nobody can look up."""
    git = ["git", "-C", str(ROOT)]
    if not (ROOT / ".git").exists():
        pytest.skip("no history")
    shallow = subprocess.run(
        [*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, check=False
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("not all of the history")
    listed = subprocess.run(
        [*git, "rev-list", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.split()
    # A word of digits alone is a number, and one of letters alone a word.
    written = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?=\w*\d)(?=\w*[a-f])[0-9a-f]{7,12}\b", written))
    known = {commit[:length] for commit in listed for length in range(7, 13)}
    missing = sorted(named - known)
    assert not missing, f"{page}.md: {', '.join(missing)}"
