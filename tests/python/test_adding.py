"""docs/adding-a-topology.md and adding-a-transport.md, followed in a copy of the crates."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from test_docs import blocks
from test_engine import ROOT

PAGE = ROOT / "docs" / "adding-a-topology.md"
KINDS = Path("crates/fabric/src/kinds/mod.rs")
NAMES = Path("crates/fabric/tests/topology/kinds.rs")
TRANSPORT = PAGE.parent / "adding-a-transport"
BUILT = ROOT / "target" / "adding-built"
OURS = shutil.ignore_patterns("*leafspine*", "incremental", "examples", ".cargo-lock")
"""Of what is built there: the crates themselves, which the copy must not be linked with."""


@pytest.fixture
def copy() -> Path:
    """What Cargo builds from, always in the same place: it knows again what it has built there."""
    folder = ROOT / "target" / "adding"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("crates", "benches"):
        shutil.copytree(ROOT / name, folder / name)
    if not BUILT.exists() and (ROOT / "target" / "debug").exists():
        shutil.copytree(ROOT / "target" / "debug", BUILT / "debug", ignore=OURS)
    return folder


def cargo(folder: Path, *words: str) -> str:
    """What a command says. It builds beside the repository's own target: to Cargo the copy's crates
    are the repository's, and it would link the one with what was built from the other."""
    done = subprocess.run(
        ["cargo", *words, "--locked", "--quiet"],
        cwd=folder,
        env=os.environ | {"CARGO_TARGET_DIR": str(BUILT), "RUSTFLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{file.name} has {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new))


def test_a_topology_is_a_file_and_four_lines(copy: Path) -> None:
    """Breaks if the page's file does not compile, if a kind needs more than the page says, if what
    is outside that folder has to know of it, or if no test draws it: the page's kind is registered
    under another name and tested, and then once more with its counts in the wrong order."""
    assert "In `crates/fabric/src/kinds/mod.rs`, four lines:" in PAGE.read_text()
    [code] = [block for block in blocks(PAGE, "rust") if "ENTRY" in block]
    mine = code.replace('"leaf-spine"', '"mine"').replace("LeafSpine", "Mine")
    assert mine.count("mine") == 1 and mine.count("Mine") == 1
    (copy / KINDS).with_name("mine.rs").write_text(f"//! The page's kind.\n\n{mine}")

    kinds = copy / KINDS
    text = kinds.read_text()
    [variant] = re.findall(r"    /// Every leaf is linked .*?\n    \},\n", text, re.DOTALL)
    [arm] = re.findall(
        r"            TopologyKind::LeafSpine .*?\n            \}\n", text, re.DOTALL
    )
    edit(kinds, "mod leaf_spine;\n", "mod leaf_spine;\nmod mine;\n")
    edit(kinds, variant, variant + variant.replace("LeafSpine", "Mine"))
    edit(kinds, arm, arm + arm.replace("LeafSpine", "Mine").replace("leaf_spine::", "mine::"))
    edit(kinds, "CLOS, FILE];", "CLOS, FILE, mine::ENTRY];")

    assert f"`NAMES` in `{NAMES}`" in PAGE.read_text()
    edit(copy / NAMES, '"clos", "file"]', '"clos", "file", "mine"]')
    assert "test result: ok" in cargo(copy, "test", "--package", "leafspine-fabric")
    cargo(copy, "check", "--package", "leafspine-scenario")
    edit((copy / KINDS).with_name("mine.rs"), "vec![leaves, spines,", "vec![spines, leaves,")
    with pytest.raises(AssertionError, match="every_kind"):
        cargo(copy, "test", "--package", "leafspine-fabric")


ARMS = {
    "crates/node/src/spec.rs": '            Protocol::Steady(_) => "steady",\n',
    "crates/node/src/network.rs": (
        "            ProtocolConfig::Steady(steady) => Protocol::Steady(steady.spec),\n"
    ),
    "crates/node/src/ends.rs": (
        "            Sender::Steady(sender) => sender.poll_send(net.steady(), now, packet),\n"
    ),
    "crates/sim/src/engine/build.rs": " | Protocol::Steady(_)",
    "crates/sim/src/engine/estimate.rs": " | Protocol::Steady(_)",
    "crates/sim/src/capture/frame.rs": " | ProtocolConfig::Steady(_)",
}
"""An arm of each file: the compiler asks for it."""


def apply(folder: Path, patch: Path) -> None:
    """Makes a diff's changes. Git must not find the repository that the folder stands in."""
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(patch)],
        cwd=folder,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{patch}: {done.stderr}"


def test_a_transport_is_a_folder_a_table_and_arms(copy: Path) -> None:
    """Breaks if the page's protocol does not compile, if it needs more than the page says, if a
    scenario that names it is run by another or by none, or if the compiler does not ask for each
    of the arms: one left out in each file that has some is an error."""
    node, scenario = copy / "crates" / "node" / "src", copy / "crates" / "scenario"
    (node / "steady").mkdir()
    for name in ("mod.rs", "sender.rs", "receiver.rs"):
        shutil.copy(TRANSPORT / name, node / "steady")
    shutil.copy(TRANSPORT / "table.rs", scenario / "src" / "steady.rs")
    shutil.copy(TRANSPORT / "run.rs", scenario / "tests" / "steady.rs")
    apply(copy, TRANSPORT / "places.diff")
    done = cargo(copy, "test", "--package", "leafspine-scenario", "--test", "steady")
    assert "test result: ok. 2 passed" in done
    for file, arm in ARMS.items():
        whole = (copy / file).read_text()
        edit(copy / file, arm, "")
        with pytest.raises(AssertionError, match="non-exhaustive patterns"):
            cargo(copy, "check", "--package", "leafspine-sim")
        (copy / file).write_text(whole)
