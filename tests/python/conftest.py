"""Tests of the Python layer run on a fake engine; those of the real one start processes.

See ``fake_engine.py`` for what it does, ``test_engine.py`` for the real one.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fake_engine
import needs
from leafspine import native

sys.modules["leafspine._engine"] = fake_engine

if native.from_outside():
    pytest.exit(f"an engine from outside is installed: {native.from_outside()}; remove it first")

FAKE_SITE = Path(__file__).parent / "fake_site"

# Begun first: whatever takes minutes must not be what the other processes wait for at the end.
SLOWEST = [
    *("test_walks.py", "test_template.py", "test_again.py", "test_papers.py", "test_docs.py"),
    "test_public.py",
]

SCENARIO = """\
[topology]
kind = "leaf-spine"

[load_balancer]
scheme = "ecmp"

[[workload]]
kind = "poisson"
load = 0.6
flows = 200

[classes]
short = "0..100KB"
long = "1MB.."

[run]
seed = 1
"""

VARIANTS = """
[[variant]]
name = "ECMP"
set = { "load_balancer.scheme" = "ecmp" }

[[variant]]
name = "LetFlow"
set = { "load_balancer.scheme" = "letflow" }

[sweep]
"workload.0.load" = [0.2, 0.8]
"run.seed" = [1, 2, 3]
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest files first, the others as they come."""
    items.sort(key=lambda item: item.path.name not in SLOWEST)


@pytest.fixture(autouse=True)
def children_use_the_fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that a test starts see the fake engine, too; and every run is checked."""
    monkeypatch.setenv("PYTHONPATH", child_path())
    monkeypatch.setenv("LEAFSPINE_CHECK", "1")


def child_path() -> str:
    """``PYTHONPATH`` for processes that see the fake engine."""
    paths = [str(FAKE_SITE), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(path for path in paths if path)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A file with one run."""
    path = tmp_path / "single.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file with two variants, two loads, three seeds."""
    path = tmp_path / "many.toml"
    path.write_text(SCENARIO + VARIANTS)
    return path


@pytest.fixture
def chromium() -> str:
    return needs.need("chromium")


@pytest.fixture
def tshark() -> str:
    return needs.need("tshark")


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command line in an empty directory: exit code, standard output, standard error."""
    from leafspine.cli import invoke

    monkeypatch.chdir(tmp_path)

    def call(*arguments: Any) -> tuple[int, str, str]:
        words = [str(argument) for argument in arguments]
        monkeypatch.setattr(sys, "argv", ["leafspine", *words])
        code = invoke(words)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call
