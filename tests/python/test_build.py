"""How leafspine is built: what is compiled for speed, and what a fresh machine waits for."""

import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def release(manifest: str) -> dict[str, Any]:
    """The profile that an engine is compiled with."""
    found: dict[str, Any] = tomllib.loads((ROOT / manifest).read_text())["profile"]["release"]
    return found


def test_only_what_is_not_the_engine_is_left_unoptimised() -> None:
    """Breaks if the build takes minutes for code that is optimised once more when all is linked,
    or if the engine's own mathematics is not optimised."""
    package = release("Cargo.toml")["package"]
    assert package == {"*": {"opt-level": 0}, "libm": {"opt-level": 3}}
    members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
    assert "crates/sim" in members, "what is no member is not optimised"


def test_tests_are_compiled_without_what_a_debugger_wants() -> None:
    """Breaks if `make test` spends a fifth of its compiling on what is never read."""
    profiles = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]
    assert profiles["test"]["debug"] == "line-tables-only"
    assert not profiles["release"].get("debug")


def test_a_template_optimises_the_engine() -> None:
    """Breaks if the template takes that over: there leafspine itself is among the others."""
    assert release("template/Cargo.toml") == {"lto": "fat", "codegen-units": 1}


def test_compiling_does_not_wait_for_packages(tmp_path: Path) -> None:
    """Breaks if a fresh machine fetches Matplotlib and Arrow before it begins to compile."""
    venv = tmp_path / "venv"
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(
        ["make", "--dry-run", f"VENV={venv}", f"{venv}/.compiled"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "-m venv" in done.stdout and "maturin develop" in done.stdout
    assert "-r requirements.lock" not in done.stdout
