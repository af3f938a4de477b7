"""A stand-in for ``leafspine._engine`` with its contract: plausible flows, instantly.

What the tests steer is in the scenario's ``[run]`` table: ``fake_seconds`` (how long a run takes),
``fake_die`` (a file: the process makes it and kills itself; with ``fake_die_once`` not if it
exists), ``fake_fail`` (raise), ``fake_panic`` (as Rust does), ``fake_fault`` (as the engine's guard
does), ``fake_stuck``, ``fake_refuse`` (bad input that only the graph can tell), ``fake_unfinished``
(so many flows never end), ``fake_warmup`` (picoseconds: flows that start before do not count),
``fake_short`` (the engine warns, with the seed as a number), ``fake_memory`` (so many bytes are
needed), ``fake_most`` (fail unless so many may be held), ``fake_check`` (fail unless checked),
``fake_knob`` (completion times are shortest at 300), ``fake_noise`` (by so much they differ by
chance, from one resolved text to another), ``fake_still`` (the seed changes nothing),
``fake_give_up`` (microseconds: flows that would take longer never end),
``fake_settings`` (Linux's settings of TCP do what its kernels do). With ``hosts.kind = "linux"``
the slow schemes are the fast ones; such a scenario is resolved as the engine's are.
"""

import itertools
import json
import math
import os
import signal
import time
import tomllib
import zlib
from pathlib import Path
from typing import Any

import numpy as np

KERNEL = "6.0-fake"
"""That which is there."""

SPEED = {"ecmp": 1.6, "letflow": 1.2, "rps": 1.35, "drb": 1.1, "presto": 1.05, "qdaps": 1.0}


class ScenarioError(ValueError):
    """Bad input."""


class Cancelled(Exception):
    """Cancelled."""


class Stuck(Exception):
    """The run got nowhere."""


class GuestFailed(Exception):
    """A host's kernel failed."""


class OutOfMemory(Exception):
    """The run held too much."""


class EngineError(Exception):
    """A fault of the engine."""


class Panic(BaseException):
    """As PyO3 raises a Rust panic: no Exception."""


class Progress:
    """Flows finished, flows in all, simulated time, packet-hops."""

    def __init__(self) -> None:
        self.state: tuple[int, int | None, int, int] = (0, None, 0, 0)
        self.cancelled = False

    def read(self) -> tuple[int, int | None, int, int]:
        return self.state

    def building(self) -> tuple[str, int] | None:
        return None

    def cancel(self) -> None:
        self.cancelled = True


def version() -> str:
    return "0.0.1"


def sources() -> str:
    return "0123"


def extension() -> str | None:
    return None


def _refuse(message: str, **parts: Any) -> ScenarioError:
    error = ScenarioError(message)
    for name in ("file", "line", "key", "found", "allowed", "nearest"):
        setattr(error, name, parts.get(name))
    return error


def _set(tree: Any, key: str, value: Any) -> None:
    *path, last = key.split(".")
    for part in path:
        tree = tree[int(part)] if part.isdigit() else tree.setdefault(part, {})
    tree[last] = value


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def expand(
    text: str,
    file_name: str,
    base_dir: str,
    sets: list[tuple[str, str]],
    memory: int | None = None,
    progress: Progress | None = None,
    options: list[str] | None = None,
) -> list[dict[str, Any]]:
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _refuse(f"{file_name}: {error}", file=file_name) from None
    known = {
        "topology", "switch", "aqm", "load_balancer", "transport", "workload", "run",
        "variant", "sweep", "classes", "measure", "probe",
    }  # fmt: skip
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip("[] \t")
        if line.startswith("[") and name.split(".")[0] not in known:
            raise _refuse(
                f"{file_name}:{number}: unknown table {name!r}",
                file=file_name,
                line=number,
                key=name,
            )
    title = parsed.pop("title", "")
    own = [(key, value) for key, value in sets if key.split(".")[0] not in ("sweep", "variant")]
    for key, value in sets:
        if key == "variant":
            parsed["variant"] = _value(value)
        elif key.startswith("sweep."):
            parsed.setdefault("sweep", {})[key.removeprefix("sweep.")] = _value(value)
    variants = parsed.pop("variant", [{"name": "", "set": {}}])
    sweep = {key: v for key, v in parsed.pop("sweep", {}).items() if key not in dict(own)}
    found = []
    for variant in variants:
        for values in itertools.product(*sweep.values()):
            tree = json.loads(json.dumps(parsed))
            point = dict(zip(sweep, values, strict=True))
            chosen = [*variant["set"].items(), *point.items()]
            for key, value in [*chosen, *((key, _value(text)) for key, text in own)]:
                _set(tree, key, value)
            seed = tree.setdefault("run", {}).setdefault("seed", 1)
            _kernels(tree)
            found.append(
                {
                    "variant": variant["name"],
                    "point": point,
                    "seed": seed,
                    "toml": _dump(tree),
                    "classes": [_class(*entry) for entry in tree.get("classes", {}).items()],
                    "name": "",
                    "title": title,
                    "memory": dict.fromkeys(("fabric", "schemes", "packets", "probes", "rows"), 0)
                    | {"flows": int(tree["run"].get("fake_memory", 0))},
                    "facts": _facts(tree),
                }
            )
    return found


def _kernels(tree: dict[str, Any]) -> None:
    """Write out what hosts that are kernels have, and leave out what they do not take."""
    hosts = tree.get("hosts", {})
    if hosts.get("kind") != "linux":
        tree.pop("hosts", None)
        return
    hosts.setdefault("kernel", KERNEL)
    hosts.setdefault("congestion", tree.get("transport", {}).get("scheme", "dctcp"))
    tree["transport"] = {"ecn": True, "mss": 1448, "header": 52}


def _facts(tree: dict[str, Any]) -> dict[str, Any]:
    run = {key: value for key, value in tree["run"].items() if key != "seed"}
    scheme = tree.get("load_balancer", {}).get("scheme", "ecmp")
    return {
        "load_balancer": {"scheme": scheme, "params": {}},
        "aqm": {"scheme": tree.get("aqm", {}).get("scheme", "droptail"), "params": {}},
        "hold": None,
        "host_edge": None,
        "transport": {"scheme": "dctcp", "params": {}},
        "buffer": (256, "packets"),
        "probes": [],
        "family": json.dumps({**tree, "run": run}, sort_keys=True),
        "mss": tree.get("transport", {}).get("mss", 1460),
        "pauses": tree.get("switch", {}).get("pfc", "off") != "off",
        "recovery": "recovery" in tree.get("measure", {}),
        "until": 10**9 if "until" in run else None,
        "kernel": tree.get("hosts", {}).get("kernel"),
    }


def first_seed(text: str, file_name: str, sets: list[tuple[str, str]], options: list[str]) -> int:
    try:
        seed = tomllib.loads(text).get("run", {}).get("seed", 1)
    except tomllib.TOMLDecodeError as error:
        raise _refuse(f"{file_name}: {error}", file=file_name) from None
    return int(dict(sets).get("run.seed", seed))


def line_of(text: str, parts: list[str]) -> int | None:
    return None


def _class(name: str, rule: str) -> dict[str, Any]:
    low, high = rule.split("..")
    unit = {"KB": 1000, "MB": 1_000_000}

    def size(text: str) -> int | None:
        if not text:
            return None
        return int(text) if text.isdigit() else int(text[:-2]) * unit[text[-2:]]

    return {
        "name": name,
        "low": size(low),
        "high": size(high),
        "low_inclusive": True,
        "high_inclusive": True,
    }


def _dump(tree: dict[str, Any]) -> str:
    from leafspine.scenario import to_toml

    return to_toml({name: tree[name] for name in sorted(tree)})


class Output:
    """What a run measured."""

    def __init__(self, tree: dict[str, Any]) -> None:
        run = tree["run"]
        scheme = tree.get("load_balancer", {}).get("scheme", "ecmp")
        workload = tree.get("workload", [{}])[0]
        load = float(workload.get("load", 0.5))
        count = int(workload.get("flows", 200))
        self.drawn = 0 if run.get("fake_still") else run["seed"]
        draw = np.random.default_rng(self.drawn)
        size = np.where(
            draw.random(count) < 0.6,
            draw.integers(1_000, 100_000, count),
            draw.integers(1_000_000, 8_000_000, count),
        ).astype(np.uint64)
        start = np.cumsum(draw.integers(1, 10**8, count)).astype(np.uint64)
        ideal = (size * 8_000 + 100_000_000).astype(np.uint64)
        knob, draws = run.get("fake_knob"), run.get("fake_noise", 0.0)
        speed = SPEED.get(scheme, 1.3)
        profile = tree.get("transport", {}).get("profile", "")
        turned = profile == "linux" and run.get("fake_settings", False)
        if turned or tree.get("hosts", {}).get("kind") == "linux":
            speed = 2.8 - speed
        if knob is not None:
            speed *= 1 + math.log10(int(str(knob).removesuffix("us")) / 300) ** 2
        if draws:  # of the setting's own: what does nothing but reshuffle chance
            own = np.random.default_rng(zlib.crc32(_dump(tree).encode()))
            speed *= 1 + draws * own.normal()
        slow = speed * (1 + load / (1.1 - load) * draw.exponential(1, count))
        fct = (ideal * np.maximum(slow, 1.0)).astype(np.uint64)
        fct[: int(run.get("fake_unfinished", 0))] = 2**64 - 1
        if "fake_give_up" in run:  # on what takes longer
            fct[fct > int(run["fake_give_up"]) * 10**6] = 2**64 - 1
        self.scheme, self.load, self.count = scheme, load, count
        self.warmup, self.seed = int(run.get("fake_warmup", 0)), run["seed"]
        self.short, self.end = bool(run.get("fake_short")), int(start[-1])
        zero = np.zeros(count, dtype=np.uint32)
        self._flows = {
            "flow": np.arange(count, dtype=np.uint32),
            "src": draw.integers(0, 16, count).astype(np.uint32),
            "dst": draw.integers(16, 32, count).astype(np.uint32),
            "bytes": size,
            "start_ps": start,
            "fct_ps": fct,
            "ideal_fct_ps": ideal,
            "retransmits": draw.poisson(load, count).astype(np.uint32),
            "timeouts": zero,
            "reordered": zero,
            "dup_acks": zero,
            "path_changes": zero,
            "mean_window": draw.uniform(1e3, 1e5, count),
            "packets": (size // np.uint64(1460) + np.uint64(1)).astype(np.uint64),
            "workload": zero,
        }

    def flows(self) -> dict[str, Any]:
        return self._flows

    def ports(self) -> dict[str, Any]:
        names = [f"leaf{leaf}-spine{spine}" for leaf in range(2) for spine in range(2)]
        names += ["leaf0-host0", "spine0-leaf0", "host0-leaf0"]
        many = np.arange(len(names), dtype=np.float64)
        return {
            "name": names,
            "rate_bps": np.full(len(names), 10**9, dtype=np.uint64),
            "packets": np.full(len(names), 1000, dtype=np.uint64),
            "bytes": np.full(len(names), 1_500_000, dtype=np.uint64),
            "marks": np.full(len(names), 5, dtype=np.uint64),
            "drops": np.zeros(len(names), dtype=np.uint64),
            "lost": np.zeros(len(names), dtype=np.uint64),
            "utilisation": self.load * (0.8 + 0.05 * many),
            "queue_mean_packets": 10 * self.load + many,
            "queue_mean_bytes": 1500 * (10 * self.load + many),
            "queue_p99_packets": np.full(len(names), round(60 * self.load), dtype=np.uint32),
            "queue_max_packets": np.full(len(names), 90, dtype=np.uint32),
            "delay_mean_ps": np.full(len(names), 12_000_000, dtype=np.uint64),
            "delay_p99_ps": np.full(len(names), 99_000_000, dtype=np.uint64),
            "uplink": np.array([name.startswith("leaf") and "spine" in name for name in names]),
            "tier": np.array(
                [["host", "leaf", "spine"].index(name.split("-")[0][:-1]) for name in names]
            ),
        }

    def jobs(self) -> list[tuple[str, dict[str, Any]]]:
        return []

    def programs(self) -> tuple[dict[str, Any], list[tuple[bytes, bytes]]]:
        return {}, []

    def probes(self) -> list[tuple[str, str, dict[str, Any]]]:
        columns = {"time_ps": np.arange(3, dtype=np.uint64), "port": ["a", "b", "a"]}
        return [("queue-0", "queue", columns)]

    def summary(self) -> str:
        share = {"rps": 20, "presto": 2, "drb": 8}.get(self.scheme, 0)
        return json.dumps(
            {
                "trace_hash": f"{self.scheme}-{self.load}-{self.drawn}",
                "packet_hops": 12345,
                "events": 23456,
                "end_ps": 10**12,
                "window_start_ps": self.warmup,
                "window_end_ps": self.end,
                "warmup_ps": self.warmup,
                "flows_in_warmup": int((self._flows["start_ps"] < self.warmup).sum()),
                "bytes_delivered_in_window": self.end // 16,
                "packets_sent": 20_000,
                "delivered": 19_990,
                "dropped": 10,
                "lost": 0,
                "data_packets": 10_000,
                "reordered_packets": round(share * 100 * self.load),
                "marks": 100,
                "wall_seconds": time.perf_counter(),
                "warnings": [f"flows start over {self.seed}.5 ms"] if self.short else [],
            }
        )


def simulate(
    toml: str,
    base_dir: str,
    progress: Progress | None = None,
    check: bool = False,
    memory: int | None = None,
    threads: int = 1,
    captures: tuple[list[str], str] | None = None,
) -> Output:
    tree = tomllib.loads(toml)
    run = tree["run"]
    if run.get("fake_refuse"):
        raise _refuse("no link is called 'leaf9-spine9'", key="topology.change.0.link")
    if run.get("fake_stuck"):
        raise Stuck("stuck at 5s, after 100 events: nothing is left to happen; no flow")
    if run.get("fake_fault"):
        raise EngineError("the engine broke off at somewhere.rs:7: out of ideas; please report it")
    if run.get("fake_check") and not check:
        raise RuntimeError("not checked")
    if run.get("fake_most") and run["fake_most"] != memory:
        raise RuntimeError(f"may hold {memory}")
    if run.get("fake_fail"):
        raise RuntimeError("the engine broke")
    if run.get("fake_panic"):
        raise Panic("index out of bounds")
    if run.get("fake_die"):
        _die(Path(run["fake_die"]), once=bool(run.get("fake_die_once")))
    end = time.monotonic() + float(run.get("fake_seconds", 0))
    while time.monotonic() < end:
        time.sleep(0.02)
        if progress is not None:
            progress.state = (1, 10, 5, 5)
            if progress.cancelled:
                raise Cancelled
    return Output(tree)


def _die(mark: Path, once: bool) -> None:
    """Die as an out-of-memory kill does."""
    if not once or not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)


def schemes() -> str:
    parameter = {"name": "gap", "default": "500us", "allowed": "a span", "doc": "Flowlet gap."}
    return json.dumps(
        [
            {"name": "ecmp", "place": "load_balancer", "summary": "Hash.", "params": []},
            {"name": "letflow", "place": "load_balancer", "summary": "Cut.", "params": [parameter]},
        ]
    )


def workloads() -> str:
    return json.dumps([{"name": "web-search", "mean": 1.7e6, "p50": 53_000, "source": "DCTCP"}])


def bench_cases() -> list[str]:
    return ["smoke", "web-search"]


def bench(case: str) -> str:
    return json.dumps({"packet_hops": 100, "hops_per_second": 1e7, "trace_hash": "0a"})
