"""The cases: scenarios for both simulators, and the same flows on the same paths for each."""

import platform
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import leafspine
from leafspine import scenario as scenarios
from leafspine.reproduce import plan
from leafspine.results import Result

HERE = Path(__file__).parent
CASES = HERE / "cases.toml"
TRACE_HEAD = "start_ps,src,dst,bytes,path"


@dataclass(frozen=True)
class Case:
    """An entry of ``cases.toml``; ``limits`` are fractions. What ``explained`` is about has limits
    of its own, ``known``: how far apart the two are known to be.

    ``offset_ps``: by how much the completion time of every flow is known to differ.
    ``control``: ns-3's congestion control, if it is not the one that the scenario names.
    ``delay_step``: by how much hosts' links are longer with each further seed.
    ``undos``: reductions of the window that were undone are compared, too, of these hosts.
    """

    name: str
    title: str
    scenario: Path
    set: dict[str, Any] = field(default_factory=dict)
    seeds: int = 1
    delay_step: str = ""
    quick: bool = False
    limits: dict[str, float] = field(default_factory=dict)
    offset_ps: int | None = None
    explained: str = ""
    known: dict[str, float] = field(default_factory=dict)
    undos: list[int] = field(default_factory=list)
    control: str = ""


def load(path: Path = CASES, folder: str = "cases", *, all_limits: bool = False) -> list[Case]:
    """All cases. Scenarios are in ``folder``; where a case has no limits it has the common ones,
    and with ``all_limits`` also beside its own. ``like`` names a case of the same scenario and
    settings, to which its own are added."""
    text = tomllib.loads(path.read_text(encoding="utf-8"))
    by_name: dict[str, dict[str, Any]] = {}
    for entry in text["case"]:
        like = by_name[entry.pop("like")] if "like" in entry else {}
        entry["scenario"] = entry.get("scenario") or like["scenario"]
        entry["set"] = {**like.get("set", {}), **entry.get("set", {})}
        by_name[entry["name"]] = entry
    return [
        Case(
            **{
                **entry,
                "scenario": path.parent / folder / entry["scenario"],
                "limits": {**text["limits"], **entry.get("limits", {})}
                if all_limits
                else entry.get("limits", text["limits"]),
            }
        )
        for entry in by_name.values()
    ]


def write_trace(case: Case, seed: int, trace: Path) -> None:
    """The flows that the case's workload gives with this seed, each with a path drawn by it."""
    result = leafspine.run(case.scenario, **{**case.set, "run.seed": seed})
    flows = result.flows
    spines = tomllib.loads(result.scenario)["topology"].get("spines", 1)
    paths = np.random.default_rng(seed).integers(spines, size=flows.num_rows)
    columns = [flows[name].to_pylist() for name in ("start_ps", "src", "dst", "bytes")]
    rows = (",".join(map(str, row)) for row in zip(*columns, paths, strict=True))
    trace.write_text("\n".join([TRACE_HEAD, *rows, ""]), encoding="utf-8")


def run_leafspine(case: Case, seed: int, trace: Path) -> Result:
    """The case's network under the flows of a trace, on the paths that it gives."""
    text = tomllib.loads(case.scenario.read_text(encoding="utf-8"))
    text["workload"] = [{"kind": "trace", "path": str(trace.resolve())}]
    text["load_balancer"] = {"scheme": "pinned"}
    rest = {key: value for key, value in case.set.items() if not key.startswith("workload.")}
    return leafspine.run(scenarios.to_toml(text), **{**rest, "run.seed": seed})


def ours() -> str:
    """Version and commit of the leafspine that figures are made with."""
    return "+".join(part for part in (leafspine.__version__, plan.commit()) if part)


def processor() -> str:
    """This machine's, for what figures were made on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [each.partition(":")[2].strip() for each in lines if each.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.machine()
