"""How much memory there is, and how much a run will take.

What is free is the least of what the system says (``MemAvailable`` of ``/proc/meminfo``), what the
process's control groups leave (version 1 and 2, its own group and those above), and the limit of
its address space (``ulimit -v``). Where nothing can be read (not Linux), it is half of what is
built in, or unknown.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from leafspine.arguments import refuse
from leafspine.spelling import NUMBER_AND_UNIT

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

UNLIMITED = "unlimited"

# What a process is before it runs anything: Python, Arrow, NumPy, the engine.
PROCESS = 150_000_000
# A flow's row on its way to the disk: the engine's column, NumPy's, Arrow's, what measuring sorts.
ROW = 400
# The same of a probe's row, beside what it takes in the engine. 1.2 million rows of a queue
# probe over 3,072 ports took 148 bytes each, engine included; 256 are reckoned.
PROBES = 3

UNITS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}


def parse(text: object) -> int | None:
    """Bytes of ``"64GB"``; ``None`` for ``"unlimited"``."""
    if text == UNLIMITED:
        return None
    found = NUMBER_AND_UNIT.fullmatch(text) if isinstance(text, str) else None
    if not found or found[2] not in UNITS or not float(found[1]):
        raise refuse("memory", text, f"a size such as 64GB or 500MiB, or {UNLIMITED}")
    return int(float(found[1]) * UNITS[found[2]])


def show(count: int) -> str:
    """Bytes for a reader: ``3.1 GB``."""
    for unit in ("TB", "GB", "MB"):
        if count >= UNITS[unit]:
            return f"{count / UNITS[unit]:,.1f} {unit}"
    return f"{count / UNITS['KB']:.1f} KB"


def needed(parts: Mapping[str, int]) -> int:
    """Bytes that a run takes at most, about: the engine's estimate, and the result's way out."""
    engine = sum(size for name, size in parts.items() if name != "rows")
    return PROCESS + engine + ROW * parts["rows"] + PROBES * parts["probes"]


def explain(parts: Mapping[str, int]) -> str:
    """What takes the memory, the largest first."""
    sizes = {name: size for name, size in parts.items() if name != "rows"}
    sizes["flows"] += ROW * parts["rows"]
    sizes["probes"] *= 1 + PROBES
    sizes["the process itself"] = PROCESS
    largest = sorted(sizes, key=lambda name: -sizes[name])[:2]
    return ", ".join(f"{show(sizes[name])} for {name}" for name in largest if sizes[name])


def available(root: Path = Path("/")) -> int | None:
    """Bytes that may be taken now; ``None`` if unknown."""
    found = [*_system(root), *_groups(root), *_address_space(root)]
    return min(found) if found else None


def _system(root: Path) -> Iterator[int]:
    meminfo = _read(root / "proc/meminfo")
    if found := re.search(r"^MemAvailable:\s+(\d+) kB", meminfo, re.MULTILINE):
        yield int(found[1]) * 1024
    elif not meminfo and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _groups(root: Path) -> Iterator[int]:
    """What each control group of this process leaves.

    Within a container a group's own name may not be there, because its root is what is mounted;
    the loop up to the root covers that.
    """
    mount = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, limit, usage = mount, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            base, limit, usage = mount / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = Path(path.lstrip("/"))
        for folder in (base / group, *(base / parent for parent in group.parents)):
            most, used = _read(folder / limit).strip(), _read(folder / usage).strip()
            if most.isdigit() and used.isdigit():
                yield max(int(most) - int(used) + _cache(folder), 0)


def _cache(folder: Path) -> int:
    """Bytes of a group that are files' pages, which the system takes back when it needs to."""
    found = re.search(
        r"^(?:total_)?inactive_file (\d+)", _read(folder / "memory.stat"), re.MULTILINE
    )
    return int(found[1]) if found else 0


def _address_space(root: Path) -> Iterator[int]:
    if resource is None:
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    found = re.search(r"^VmSize:\s+(\d+) kB", _read(root / "proc/self/status"), re.MULTILINE)
    yield max(limit - int(found[1]) * 1024, 0) if found else limit


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
