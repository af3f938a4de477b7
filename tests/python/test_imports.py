"""Which module of the package needs which: no two need each other."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "python" / "leafspine"


def modules(package: Path) -> dict[str, Path]:
    """Every module by its full name; what is compiled is described by a stub."""
    found = {}
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path
    return found


def outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    """A module's statements that run, or are checked, as it is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from outside_of_functions(child)


def imported(path: Path, known: Mapping[str, Path], *, everywhere: bool) -> set[str]:
    """The modules that one imports; ``everywhere``: in functions as well."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree) if everywhere else outside_of_functions(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{path}: a relative import"
            inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {full if full in known else node.module for full in inner.values()}
    return found & set(known)


def graph(package: Path, *, everywhere: bool) -> dict[str, set[str]]:
    known = modules(package)
    return {name: imported(path, known, everywhere=everywhere) for name, path in known.items()}


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """The modules of one cycle, the first once more at the end; none if there is none."""
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(edges[name]):
            if found := visit(other, [*way, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(edges) if (found := visit(name, []))), [])


@pytest.mark.parametrize("everywhere", [False, True])
def test_no_module_needs_one_that_needs_it(everywhere: bool) -> None:
    """Breaks if two modules import each other, by however many others between: as they are loaded,
    for types alone, or in a function, which only hides it."""
    assert not (found := cycle(graph(PACKAGE, everywhere=everywhere))), " -> ".join(found)


def test_a_cycle_is_found_and_named(tmp_path: Path) -> None:
    """Breaks if the search misses a cycle, or an import inside a function counts as another."""
    package = tmp_path / "p"
    package.mkdir()
    texts = {
        "__init__": "",
        "a": "from p import b\n",
        "b": "import os\nif os:\n    from p.c import C\n",
        "c": "class C:\n    def f(self) -> None:\n        from p import a\n",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    assert cycle(graph(package, everywhere=False)) == []
    assert cycle(graph(package, everywhere=True)) == ["p.a", "p.b", "p.c", "p.a"]
