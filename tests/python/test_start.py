"""How much the command line loads before it answers, with the real engine."""

import resource
import subprocess
import sys

import pytest

LOADED = """
import sys
from leafspine.cli import invoke
code = invoke(sys.argv[1:])
print(code, *sys.modules, file=sys.stderr)
"""

ARROW = {"pyarrow", "numpy", "matplotlib", "jinja2", "leafspine.results", "leafspine.api"}
RICH = {"rich", "leafspine.engine", "leafspine._engine"}

UNNEEDED = {
    "--help": ARROW | RICH,
    "compare --help": ARROW | RICH,
    "--version": ARROW | {"rich"},
    "schemes": ARROW,
    "workloads web-search": ARROW,
    "reproduce": {"matplotlib", "jinja2", "leafspine.plots"},
}

SECONDS = {"--help": 0.3, "compare --help": 0.3, "--version": 0.5, "schemes": 0.5, "workloads": 0.5}


@pytest.fixture(autouse=True)
def real(monkeypatch: pytest.MonkeyPatch, children_use_the_fake: None) -> None:
    """The fake engine needs NumPy."""
    monkeypatch.delenv("PYTHONPATH")


@pytest.mark.parametrize("words", UNNEEDED)
def test_a_verb_loads_only_what_it_needs(words: str) -> None:
    """Breaks if a module at the top of another brings Arrow or Matplotlib into every command."""
    child = [sys.executable, "-c", LOADED, *words.split()]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    code, *loaded = done.stderr.split()
    assert code == "0"
    assert "click" in loaded
    assert UNNEEDED[words].isdisjoint(loaded)


def cpu_seconds(*words: str) -> float:
    """User and system time of Python with these arguments; the best of three."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(3))


@pytest.mark.parametrize("words", SECONDS)
def test_an_answer_takes_no_time(words: str) -> None:
    """Breaks if --help takes half a second of the processor; on slow machines, if it takes many
    times what Python itself does."""
    bare = cpu_seconds("-c", "pass")
    most = SECONDS[words] * max(1, 20 * bare)
    assert cpu_seconds("-m", "leafspine", *words.split()) < most
