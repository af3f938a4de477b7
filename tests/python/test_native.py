"""Which engine is used: leafspine's own, one from outside, or none with the reason."""

import ast
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leafspine import engine, native
from test_cli import Cli
from test_docs import real
from test_engine import ROOT

Install = Callable[..., None]

ENGINE = """\
import fake_engine
def version(): return {version!r}
def sources(): return {sources!r}
def extension(): return {name!r} + " 1.0"
def schemes(): return fake_engine.schemes()
"""


@pytest.fixture(autouse=True)
def none_is_loaded() -> Iterator[None]:
    native.module.cache_clear()
    yield
    native.module.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a distribution ``NAME 1.0`` with an engine, as far as Python can tell."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def install(
        name: str, version: str = "0.0.1", sources: str = "0123", code: str = ENGINE
    ) -> None:
        code = code.format(name=name, version=version, sources=sources)
        (site / f"{name}.py").write_text(code)
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{native.GROUP}]\n{name} = {name}\n")
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, name, raising=False)

    return install


def test_without_another_it_is_the_own_engine(cli: Cli) -> None:
    """Breaks if the package needs an engine from outside, or its version names one."""
    assert native.module() is sys.modules[native.OWN]
    assert engine.version() == "0.0.1"


def test_one_from_outside_takes_its_place(install: Install, cli: Cli) -> None:
    """Breaks if an installed engine is not found, or results do not say whose schemes they had."""
    install("others")
    assert native.module().__name__ == "others"
    assert cli("--version") == (0, "leafspine 0.0.1 with others 1.0\n", "")
    assert "letflow" in cli("schemes")[1]


def refusal(cli: Cli) -> str:
    """What a command says; it must be one line that the user can act on."""
    code, out, err = cli("schemes")
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.removeprefix("leafspine: ").strip()


def test_two_are_refused_by_name(install: Install, cli: Cli) -> None:
    """Breaks if which of two engines runs is left to chance."""
    install("others")
    install("mine")
    assert refusal(cli) == (
        "several engines are installed, by mine 1.0 and others 1.0: keep one (pip uninstall)"
    )


def test_one_of_another_version_is_refused(install: Install, cli: Cli) -> None:
    """Breaks if an engine of another leafspine answers for this one."""
    install("old", version="0.0.0")
    assert refusal(cli) == (
        "the engine of old 1.0 was built with leafspine 0.0.0, but the package is leafspine 0.0.1: "
        "rebuild it (maturin develop --release in its folder), or remove it (pip uninstall)"
    )


def test_one_of_other_sources_is_refused(install: Install, cli: Cli) -> None:
    """Breaks if leafspine was changed and rebuilt, and the old one is still used unnoticed."""
    install("stale", sources="4567")
    said = refusal(cli)
    assert said.startswith(
        "the engine of stale 1.0 was built from other sources of leafspine 0.0.1"
    )


@pytest.mark.parametrize("code", ["raise ImportError('the name is taken')", ""])
def test_one_that_cannot_be_loaded_says_why(install: Install, cli: Cli, code: str) -> None:
    """Breaks if the registry's refusal is lost, or a module that is no engine is taken for one."""
    install("broken", code=code)
    said = refusal(cli)
    assert said.startswith("the engine of broken 1.0 cannot be loaded: ")
    assert said.endswith("the name is taken" if code else "no attribute 'version'")


def signatures(tree: ast.Module) -> dict[str, list[str]]:
    """Functions and methods of a stub by name, with their parameters."""
    found = {}
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            if isinstance(one, ast.FunctionDef):
                found[prefix + one.name] = [argument.arg for argument in one.args.args]
    return found


COMPILED = """
import inspect, json
from leafspine import _engine
def parameters(value):
    return list(inspect.signature(value).parameters)
found = {}
for name, value in vars(_engine).items():
    if isinstance(value, type) and not issubclass(value, Exception):
        for method, one in vars(value).items():
            if not method.startswith("_"):
                found[f"{name}.{method}"] = parameters(one)
    elif callable(value) and not isinstance(value, type) and not name.startswith("_"):
        found[name] = parameters(value)
print(json.dumps(found))
"""


def test_the_stub_says_what_the_engine_has() -> None:
    """Breaks if a function of the engine is added, or gets another parameter, and the stub that
    mypy reads is left as it was."""
    stub = ast.parse((ROOT / "python/leafspine/_engine.pyi").read_text())
    done = real("-c", COMPILED)
    assert done.returncode == 0, done.stderr
    said = signatures(stub)
    assert {name: said[name] for name in said if "__" not in name} == json.loads(done.stdout)
