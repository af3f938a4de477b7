"""How leafspine is built: what is compiled for speed, and what a fresh machine waits for."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import needs

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


# Writes down how it was called, and does nothing else.
STUB = """#!/bin/sh
echo "$(basename "$0") $* (needs ${LEAFSPINE_NEEDS:-nothing})" >>"$CALLS"
"""


def ci(
    folder: Path, build: str, *, archive: Path | None = None, missing: Sequence[str] = ()
) -> tuple[subprocess.CompletedProcess[str], str]:
    """``.ci/run`` with stubs for all that it calls, and with this for ``linux/build``; with this
    archive of the kernel's source, and without some programs. Gives how it ended, and what it has
    called."""
    tools = ("make", "cargo", "rustup", "apt-get", "apt-cache", "df")
    stubs = [*(f"bin/{tool}" for tool in tools), ".venv/bin/python", ".ci/installed"]
    for name, text in [*((stub, STUB) for stub in stubs), ("linux/build", build)]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    environment = {name: value for name, value in os.environ.items() if "LEAFSPINE" not in name}
    environment |= {"PATH": f"{folder / 'bin'}:{path_without(missing, folder)}", "CALLS": "calls"}
    if archive is not None:
        environment["LEAFSPINE_LINUX_SOURCE"] = str(archive)
    words = [folder / ".ci" / "run"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return done, (folder / "calls").read_text()


def path_without(missing: Sequence[str], folder: Path) -> str:
    """``PATH``; if a program is to be missing, a folder with links to all others."""
    path = os.environ["PATH"]
    if not missing:
        return path
    links = folder / "others"
    links.mkdir()
    for place in filter(Path.is_dir, map(Path, path.split(os.pathsep))):
        for program in place.iterdir():
            link = links / program.name
            if program.name not in missing and not link.is_symlink():
                link.symlink_to(program)
    return str(links)


TESTS_WITH_KERNELS = [
    "cargo test --locked --package leafspine-linux",
    "cargo test --locked --package leafspine-sim --test linux",
    "python -m pytest tests/python/test_linux.py",
    "make validate-linux-quick",
]


def test_ci_needs_the_kernel_that_it_has_built(tmp_path: Path) -> None:
    """Breaks if CI passes without tests with kernels though it has built one: they are not run,
    have another kernel, or may be skipped; or if tests that have none yet may not be."""
    build = """#!/bin/sh
        mkdir -p "$1" && touch "$1/kernel" "$1/kernel.config" "$1/guest.cpio" "$1/build.log"
    """
    done, calls = ci(tmp_path, build)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SKIPPED" not in done.stdout
    for test in TESTS_WITH_KERNELS:
        assert f"{test} (needs chromium tshark iperf3 linux)\n" in calls
    assert "make test (needs chromium tshark iperf3)" in calls
    built = {file.name for file in (tmp_path / "target" / "linux").iterdir()}
    assert built == {"kernel", "kernel.config", "guest.cpio"}


OF_THE_KERNEL = {
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "cpio": "cpio",
    "xz": "xz-utils",
    "": "linux-source-6.12",
}
"""What is installed for a kernel, by what is missing; the source if no archive is there."""


@pytest.mark.parametrize(
    ("archive", "missing"),
    [
        (True, []),
        *((True, [program]) for program in OF_THE_KERNEL if program),
        (False, []),
        (False, ["flex", "xz"]),
    ],
)
def test_ci_installs_what_a_kernel_is_built_with(
    archive: bool, missing: list[str], tmp_path: Path
) -> None:
    """Breaks if CI passes without kernels on a machine that has their source, and lacks a program
    that could have been installed; or if it installs what is there."""
    for program in OF_THE_KERNEL.keys() - {"", *missing}:
        path = tmp_path / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.symlink_to("/bin/true")
    source = tmp_path / "linux.tar.xz"
    if archive:
        source.touch()
    build = "#!/bin/sh\nexit 3\n"
    done, calls = ci(tmp_path, build, archive=source, missing=missing)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in calls.splitlines() if line.startswith("apt-get install")]
    installed = {word for line in lines for word in line.split()} & set(OF_THE_KERNEL.values())
    needed = [*missing, *([] if archive else [""])]
    assert installed == {OF_THE_KERNEL[program] for program in needed}


@pytest.mark.parametrize(("code", "ends", "says"), [(3, 0, "SKIPPED"), (1, 1, "FAILED")])
def test_ci_passes_without_a_kernel_only_where_none_can_be_built(
    code: int, ends: int, says: str, tmp_path: Path
) -> None:
    """Breaks if CI passes though the kernel or the guests' program does not compile, or fails on a
    machine that has not what their build needs (linux/build: exit code 3)."""
    done, calls = ci(tmp_path, f"#!/bin/sh\necho no kernel >&2\nexit {code}\n")
    assert done.returncode == ends, done.stdout + done.stderr
    assert says in done.stdout
    assert "no kernel" in done.stdout
    assert not any(test in calls for test in TESTS_WITH_KERNELS)
    assert ("== all good" in done.stdout) == (ends == 0)


@pytest.mark.parametrize("program", needs.NAMES)
def test_ci_skips_no_test_for_want_of_a_program(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if a test that wants a browser, say, passes where it has been installed for the tests
    and is not found, or fails where nobody has installed it."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("LEAFSPINE_NEEDS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"apt install {program}"):
        needs.need(program)
    monkeypatch.setenv("LEAFSPINE_NEEDS", f"linux {program}")
    with pytest.raises(pytest.fail.Exception, match=f"apt install {program}"):
        needs.need(program)
