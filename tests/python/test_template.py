"""The template of a crate from outside: copied, built, used and tested as its README says.

The copy lies outside the repository and is installed into an environment of its own, which borrows
the packages of this one. It is compiled without optimisation, into the repository's ``target``:
Cargo tells the two workspaces apart and shares what they have in common.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from test_docs import blocks, parsed
from test_engine import ROOT

TEMPLATE = ROOT / "template"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SCHEME = Path("src") / "two_choices.rs"
FEW = ("--set", "workload.0.flows=40")

Done = subprocess.CompletedProcess[str]


class Copy:
    """A copy of the template and its environment."""

    def __init__(self, folder: Path) -> None:
        self.crate = folder / "my-schemes"
        self.home = folder / "venv"
        ignored = shutil.ignore_patterns("target", "out", "*.so", "__pycache__")
        # New files are newer than what another copy has left in the target directory, where Cargo
        # takes the copies for one crate.
        shutil.copytree(TEMPLATE, self.crate, ignore=ignored, copy_function=shutil.copyfile)
        self.edit(Path("Cargo.toml"), '"../crates/', f'"{ROOT}/crates/')
        venv.create(self.home, with_pip=False)
        paths = sysconfig.get_paths(vars={"base": str(self.home), "platbase": str(self.home)})
        line = f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n"
        (Path(paths["purelib"]) / "borrowed.pth").write_text(line)

    def edit(self, path: Path, old: str, new: str) -> None:
        text = (self.crate / path).read_text()
        assert old in text
        (self.crate / path).write_text(text.replace(old, new))

    def run(self, *words: object, code: int = 0, settings: dict[str, str] | None = None) -> Done:
        bin_here, bin_there = self.home / "bin", Path(sys.executable).parent
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= {
            "VIRTUAL_ENV": str(self.home),
            "PATH": f"{bin_here}{os.pathsep}{bin_there}{os.pathsep}{os.environ['PATH']}",
            "CARGO_TARGET_DIR": str(TARGET),
            **(settings or {}),
        }
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.crate,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def leafspine(self, *words: object, code: int = 0) -> Done:
        return self.run("python", "-m", "leafspine", *words, code=code)

    def build(self, **settings: str) -> None:
        self.run("maturin", "develop", "--locked", settings=settings)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The template as it is, installed."""
    made = Copy(tmp_path_factory.mktemp("outside"))
    made.build()
    return made


def shown() -> list[list[str]]:
    """The lines of the README's commands, as words."""
    text = "".join(blocks(TEMPLATE / "README.md", "sh"))
    return [line.partition("  #")[0].split() for line in text.splitlines()]


def test_the_readme_says_what_works(copy: Copy) -> None:
    """Breaks if a command of the README fails, or shows another scheme than the template's."""
    said = {}
    for program, *words in shown():
        if program == "leafspine":
            parsed(words)
            few = FEW if words[0] in ("run", "compare") else ()
            said[words[0]] = copy.leafspine(*words, *few).stdout
        elif program == "python":
            said[words[0]] = copy.run(program, *words, 40).stdout
        elif program == "cargo":
            said[program] = copy.run(program, *words).stdout
    assert set(said) == {"schemes", "run", "compare", "compare.py", "cargo"}
    assert "from: my-schemes 0.1.0" in said["schemes"]
    assert "gap" in said["schemes"] and "500us" in said["schemes"]
    table = [line.split() for line in said["compare.py"].splitlines()]
    balancers = [words[1] for words in table if words[0] == "all"]
    assert balancers == ["ecmp", "letflow", "two-choices"]
    assert "6 passed" in said["cargo"]


def test_a_change_is_there_without_installing(copy: Copy) -> None:
    """Breaks if what the README calls quick leaves the old engine in place, or names no profile."""
    profile = tomllib.loads((copy.crate / "Cargo.toml").read_text())["profile"]["fast"]
    assert profile["lto"] == "off"
    old = "Sends every flowlet by the less loaded of two ports drawn at random."
    copy.edit(SCHEME, old, "Another sentence.")
    try:
        copy.run("maturin", "develop", "--locked", "--skip-install")
        assert "Another sentence." in copy.leafspine("schemes", "two-choices").stdout
    finally:
        copy.edit(SCHEME, "Another sentence.", old)
        copy.run("maturin", "develop", "--locked", "--skip-install")


def test_its_results_are_its_own(copy: Copy, tmp_path: Path) -> None:
    """Breaks if worker processes have another engine than the command, if the new scheme is not the
    one that ran, or if a result does not say whose schemes it had."""
    options = ("fabric.toml", "--lb", "ecmp,two-choices", "--seeds", 2, "--jobs", 2, "--json")
    compared = json.loads(copy.leafspine("compare", *options, *FEW, "--out", tmp_path).stdout)
    assert compared["variants"] == ["ecmp", "two-choices"]
    assert compared["failures"] == []
    assert compared["leafspine"].endswith(" with my-schemes 0.1.0")
    assert not any("another build" in warning for warning in compared["warnings"])
    hashes = set()
    for run in tmp_path.glob("runs/*"):
        text = (run / "scenario.toml").read_text()
        assert text.startswith(f"# leafspine {compared['leafspine']}, seed ")
        hashes.add(json.loads((run / "summary.json").read_text())["trace_hash"])
        if 'scheme = "two-choices"' in text:
            assert 'gap = "500us"\nentries = 65536' in text
    assert len(hashes) == 4


MISTAKES = {
    "load_balancer.gap=5": "found 5 (the unit is missing)",
    "load_balancer.entries=0": "allowed: a whole number, from 1 to 16777216",
    "load_balancer.entries=1000": "found 1000; allowed: a power of two",
    "load_balancer.gapp=5us": 'did you mean "gap"?',
    "load_balancer.scheme=two-choice": 'did you mean "two-choices"?',
}


@pytest.mark.parametrize("setting", MISTAKES)
def test_mistakes_are_told_like_those_with_built_in_schemes(copy: Copy, setting: str) -> None:
    """Breaks if a parameter from outside is not checked, or its refusal loses key or hint."""
    scheme = [] if ".scheme=" in setting else ["--set", "load_balancer.scheme=two-choices"]
    chosen = (*scheme, "--set", setting)
    said = copy.leafspine("run", "fabric.toml", *chosen, code=2).stderr
    assert said.count("\n") == 1
    assert setting.partition("=")[0] in said
    assert MISTAKES[setting] in said


def test_a_pick_that_is_no_path_ends_the_run(tmp_path: Path) -> None:
    """Breaks if an engine without debug assertions, as releases are, sends a packet where a scheme
    from outside says though no path leads there, or if the message does not name switch, scheme and
    port."""
    copy = Copy(tmp_path)
    copy.edit(SCHEME, "        flowlet.port\n    }", "        PortId(9999)\n    }")
    copy.build(CARGO_PROFILE_DEV_DEBUG_ASSERTIONS="false")
    chosen = ("--set", "load_balancer.scheme=two-choices")
    said = copy.leafspine("run", "fabric.toml", *chosen, *FEW, code=3).stderr
    assert said.count("\n") == 1
    assert 'the balancer "two-choices" picked port 9999, no path; allowed: ' in said
    assert " at leaf" in said


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    """Breaks if a scheme from outside hides a built-in one, or the refusal does not say whose."""
    copy = Copy(tmp_path)
    copy.edit(SCHEME, 'name: "two-choices"', 'name: "letflow"')
    copy.build()
    said = copy.leafspine("schemes", code=2).stderr
    assert said == (
        "leafspine: the engine of my-schemes 0.1.0 cannot be loaded: my-schemes 0.1.0: "
        'load_balancer scheme "letflow": the name is taken; choose another\n'
    )


def test_the_template_is_pinned_as_leafspine_is() -> None:
    """Breaks if the template is built with other dependencies or another toolchain: run `cargo
    metadata` in template/ after a change of Cargo.lock, and copy the toolchain file."""

    def locked(folder: Path) -> set[tuple[str, str, str]]:
        packages = tomllib.loads((folder / "Cargo.lock").read_text())["package"]
        return {(p["name"], p["version"], p.get("checksum", "")) for p in packages}

    assert {name for name, *_ in locked(TEMPLATE) - locked(ROOT)} == {"my-schemes"}
    name = "rust-toolchain.toml"
    assert (TEMPLATE / name).read_text() == (ROOT / name).read_text()
    own, theirs = (tomllib.loads((at / "Cargo.toml").read_text()) for at in (TEMPLATE, ROOT))
    release = theirs["profile"]["release"]
    assert own["profile"]["release"].items() <= release.items()
    assert own["package"]["rust-version"] == theirs["workspace"]["package"]["rust-version"]


def test_the_walk_says_what_comes_of_it(copy: Copy) -> None:
    """Breaks if the walk's comparison gives other differences than the page says."""
    page = ROOT / "docs" / "walks" / "beat-a-paper.md"
    [scenario] = blocks(page, "toml")
    (copy.crate / "slow.toml").write_text(scenario)
    [_, [*line]] = [text.split()[1:] for text in blocks(page, "sh")]
    copy.leafspine(*line, "--no-plots")
    code = (
        "import leafspine\n"
        "for row in leafspine.load('out/beat-a-paper/slow').rows:\n"
        "    if (row.group, row.metric) == ('all', 'fct_mean') and row.difference:\n"
        "        print(row.variant, round(row.difference.mean))\n"
    )
    found = copy.run("python", "-c", code).stdout.split()
    assert found == ["letflow", "-41", "rps", "180", "qdaps", "-64", "two-choices", "-47"]
