"""docs/adding-a-topology.md, followed in a copy of the crates: its file, four lines and list."""

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
BUILT = ROOT / "target" / "adding-built"


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
