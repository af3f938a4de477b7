"""The compiled engine behind Python types: cases in, measurements out, typed errors."""

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from leafspine import facts, interrupts, memory
from leafspine.errors import EngineError, RunError, ScenarioError, StuckError, TooLargeError
from leafspine.facts import Facts
from leafspine.native import module

if TYPE_CHECKING:
    from leafspine import _engine as native
else:
    from leafspine import native

SEED = "run.seed"

Point = tuple[tuple[str, Any], ...]

POLL_SECONDS = 0.1
GRACE_SECONDS = 0.3
"""How long what is being built has to end when it is cancelled."""


@dataclass(frozen=True)
class FlowClass:
    """Flows whose size lies in a range. Bounds in bytes; ``None`` is unbounded."""

    name: str
    low: int | None = None
    high: int | None = None
    low_inclusive: bool = True
    high_inclusive: bool = True

    def describe(self) -> str:
        """The range in words, for captions: ``at least 1 MB``."""
        low = None if self.low in (None, 0) else _size(self.low or 0)
        high = None if self.high is None else _size(self.high)
        above = f"{'at least' if self.low_inclusive else 'above'} {low}"
        below = f"{'at most' if self.high_inclusive else 'below'} {high}"
        if low and high:
            return f"{above}, {below}"
        return above if low else below if high else "every size"


def _size(count: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= scale:
            return f"{count / scale:g} {unit}"
    return f"{count} B"


ALL_FLOWS = FlowClass("all")


@dataclass(frozen=True)
class Case:
    """One run: a variant at a point of the sweep with a seed, every default written out."""

    variant: str
    point: Point
    seed: int
    toml: str
    classes: tuple[FlowClass, ...]
    base_dir: str
    title: str = ""
    memory: int = field(default=0, compare=False)
    """Bytes that it will take, about."""
    skipped: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Settings that its schemes do not have, and other variants' do: key and scheme."""
    facts: Facts = field(default=Facts(), repr=False, compare=False)
    """What the resolved scenario says."""

    def __repr__(self) -> str:
        """What is told apart by; the scenario is long."""
        return f"Case(variant={self.variant!r}, point={self.point!r}, seed={self.seed})"

    @property
    def text(self) -> str:
        """Contents of the result's ``scenario.toml``: version and resolved scenario."""
        return f"# leafspine {version()}, seed {self.seed}: every default written out\n" + (
            self.toml
        )

    @cached_property
    def key(self) -> str:
        """Name of the result: the first 16 hex digits of SHA-256 over :attr:`text`."""
        return sha256(self.text.encode()).hexdigest()[:16]

    @cached_property
    def family(self) -> str:
        """What runs with other seeds have in common: 16 hex digits of SHA-256 over all the rest."""
        return sha256(self.facts.family.encode()).hexdigest()[:16]

    def label(self) -> str:
        """One line for progress and messages."""
        point = " ".join(f"{name}={value}" for name, value in self.point)
        return " ".join(part for part in (self.variant, point, f"seed={self.seed}") if part)


def version() -> str:
    """Version of the engine, and so of the package; with whose schemes from outside, if any."""
    extension = native.extension()
    return f"{native.version()} with {extension}" if extension else native.version()


@cache
def build() -> str:
    """Identifies one build of a version: 16 hex digits of SHA-256 over the compiled engine."""
    with Path(str(module().__file__)).open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()[:16]


# Set to a non-empty text: every run of this process and its workers is checked.
CHECK = "LEAFSPINE_CHECK"


def is_checked(check: bool) -> bool:
    """Whether runs are to be checked: because the call says so, or the environment."""
    return check or bool(os.environ.get(CHECK))


def expand(
    text: str,
    file_name: str,
    base_dir: str,
    settings: Sequence[tuple[str, str]],
    most: int | None = None,
    watch: "Building | None" = None,
) -> list[Case]:
    """All runs that a scenario describes: its variants times its sweep, in the file's order.

    Large fabrics take a while: as :func:`simulate`, in a thread of its own, and ``watch`` gets
    what is being built. Raises :class:`ScenarioError`; :class:`TooLargeError` if a run needs more
    than ``most`` bytes.
    """
    progress = native.Progress()

    def look() -> None:
        if watch is not None and (building := _building(progress)):
            watch(building)

    pairs, options = _with_options(settings)
    found = _aside(
        lambda: native.expand(text, file_name, base_dir, pairs, most, progress, options),
        progress,
        look,
    )
    if isinstance(found, Exception):
        raise typed(found) from None
    cases = [
        Case(
            variant=case["variant"],
            point=tuple((key, v) for key, v in case["point"].items() if key != SEED),
            seed=case["seed"],
            toml=case["toml"],
            classes=tuple(_flow_class(entry) for entry in case["classes"]),
            base_dir=base_dir,
            title=case["title"],
            memory=memory.needed(case["memory"]),
            skipped=tuple((key, scheme) for key, scheme in case.get("skipped", ())),
            facts=facts.of_engine(case["facts"]),
        )
        for case in found
    ]
    if most is not None:
        for case, entry in zip(cases, found, strict=True):
            if case.memory > most:
                raise _too_large(file_name, case, memory.explain(entry["memory"]), most)
    return cases


def first_seed(text: str, file_name: str, settings: Sequence[tuple[str, str]]) -> int:
    """The seed of the settings or the scenario, from which sweeps over seeds count; 1 by default.

    Raises :class:`ScenarioError`.
    """
    pairs, options = _with_options(settings)
    try:
        return native.first_seed(text, file_name, pairs, options)
    except Exception as error:
        raise typed(error) from None


def line_of(text: str, parts: Sequence[str]) -> int | None:
    """The line, from 1, of a TOML text on which a key was written, or the nearest table above it.

    ``parts``: of its path, the numbers of lists' elements among them: ``("panel", "0", "kind")``.
    """
    return native.line_of(text, list(parts))


def _with_options(settings: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """Settings, and the options of the command line that they came by."""
    pairs = [(str(key), value) for key, value in settings]
    return pairs, [getattr(key, "option", "--set") for key, _ in settings]


def _too_large(file_name: str, case: Case, why: str, most: int) -> TooLargeError:
    label = f" ({case.label()})" if case.label() else ""
    return TooLargeError(
        f"{file_name}{label}: needs about {memory.show(case.memory)} of memory ({why}), and "
        f"{memory.show(most)} may be taken; if you know better, say how much it may take with "
        "--memory, or memory= in Python"
    )


def _flow_class(entry: Mapping[str, Any]) -> FlowClass:
    return FlowClass(
        name=entry["name"],
        low=entry.get("low"),
        high=entry.get("high"),
        low_inclusive=entry.get("low_inclusive", True),
        high_inclusive=entry.get("high_inclusive", True),
    )


def from_native(error: "native.ScenarioError") -> ScenarioError:
    """The engine's error as the package's: picklable, with the same parts."""
    names = ("file", "line", "key", "found", "allowed", "nearest")
    parts = {name: getattr(error, name, None) for name in names}
    return ScenarioError(str(error), **parts)


Watch = Callable[[int, int | None, int, int, str], None]
"""Called with a run's progress: flows finished, flows in all or None, simulated ps, packet-hops;
and what is being built, in words, before any of it."""

Building = Callable[[str], None]
"""Called with what is being built, in words."""

T = TypeVar("T")


def _building(progress: "native.Progress") -> str:
    """What is being built, in words; nothing if nothing is."""
    found = progress.building()
    return f"building the fabric: {found[0]} {found[1]} %" if found else ""


def _aside(
    work: Callable[[], T], progress: "native.Progress", look: Callable[[], None]
) -> T | Exception:
    """What ``work`` gives or raises in a thread of its own, so that Ctrl-C is handled meanwhile.

    Then, or if ``look``, which is called ten times a second, raises, the work is cancelled. A run
    ends at once; what is being built, which writes nothing, may be in a step of seconds, such as a
    trace that is read: its thread is left to end by itself, or with the process
    (:func:`leafspine.interrupts.leave`).
    """
    outcome: list[T | BaseException] = []
    # Not the thread's own end: a join that Ctrl-C interrupts takes a living thread for one that has
    # ended (CPython before 3.13), and whoever goes on then leaves the run's folders behind.
    ended = threading.Event()

    def call() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            outcome.append(error)
        finally:
            ended.set()

    threading.Thread(target=call, name=interrupts.THREAD, daemon=True).start()
    try:
        while not ended.wait(POLL_SECONDS):
            look()
    except BaseException:
        progress.cancel()
        packet_hops = progress.read()[3]
        ended.wait(None if packet_hops else GRACE_SECONDS)
        raise
    result = outcome[0]
    if isinstance(result, BaseException) and not isinstance(result, Exception):
        # A panic that got past the engine's own guard.
        raise EngineError(f"the engine failed, which is a bug: {result}") from result
    return result


def typed(error: Exception) -> Exception:
    """An exception of the engine as the package's; any other as it is."""
    if isinstance(error, native.ScenarioError):
        return from_native(error)
    if isinstance(error, native.Stuck):
        return StuckError(str(error))
    if isinstance(error, native.GuestFailed):
        return RunError(str(error))
    if isinstance(error, native.OutOfMemory):
        return RunError(f"{error}: stopped before the memory ran out")
    if isinstance(error, native.EngineError):
        return EngineError(str(error))
    return error


def simulate(
    toml: str,
    base_dir: str,
    watch: Watch | None = None,
    *,
    check: bool = False,
    most: int | None = None,
    threads: int = 1,
    captures: tuple[Sequence[str], Path] | None = None,
) -> "native.Output":
    """Simulate one resolved scenario.

    The engine works in a thread of its own, so that Ctrl-C is handled meanwhile; ``watch`` gets
    its progress ten times a second.
    ``check``: its invariants are checked; ``most``: bytes that this process may take;
    ``threads``: how many may work on the run (the output is the same); ``captures``: ports whose
    packets are written, and the folder for that.
    Raises :class:`ScenarioError` for what only the graph can tell, :class:`StuckError` for a run
    that gets nowhere, :class:`RunError` for one that holds too much, :class:`EngineError` for a
    fault of the engine or a scheme.
    """
    progress = native.Progress()
    if most is not None:
        most = max(most - memory.PROCESS, 0)

    chosen = None if captures is None else (list(captures[0]), str(captures[1]))

    def look() -> None:
        if watch is not None:
            watch(*progress.read(), _building(progress))

    result = _aside(
        lambda: native.simulate(toml, base_dir, progress, is_checked(check), most, threads, chosen),
        progress,
        look,
    )
    if isinstance(result, Exception):
        error = typed(result)
        if isinstance(error, EngineError):
            error.scenario = toml
        raise error from None
    return result


def check_captures(case: Case, ports: Sequence[str]) -> None:
    """Raise :class:`ScenarioError` for a port or host to be captured that the case has not."""
    try:
        native.check_captures(case.toml, case.base_dir, list(ports))
    except Exception as error:
        raise typed(error) from None


def schemes() -> list[dict[str, Any]]:
    """The registered schemes, as the engine describes them."""
    return _entries(native.schemes())


def workloads() -> list[dict[str, Any]]:
    """The named flow-size distributions, as the engine describes them."""
    return _entries(native.workloads())


def known_keys() -> list[dict[str, Any]]:
    """The scenario file's tables and their keys, as the engine's readers know them."""
    return _entries(native.keys())


def work(case: Case) -> "native._Work":
    """What a run will do, from its flows. Raises :class:`ScenarioError`."""
    found = _aside(lambda: native.work(case.toml, case.base_dir), native.Progress(), lambda: None)
    if isinstance(found, Exception):
        raise typed(found) from None
    return found


def control_planes(case: Case) -> dict[int, dict[str, Any]]:
    """What a P4 switch's control plane writes, by the number of the switch.

    Empty for schemes that decide otherwise than a P4 program.

    Raises :class:`ScenarioError`.
    """
    try:
        planes = native.control_planes(case.toml, case.base_dir)
    except Exception as error:
        raise typed(error) from None
    return {switch: json.loads(text) for switch, text in planes}


def _entries(text: str) -> list[dict[str, Any]]:
    """A JSON list of objects."""
    entries: list[dict[str, Any]] = json.loads(text)
    return entries


SMOKE = "smoke"


def bench_cases() -> list[str]:
    """Names of the fixed scenarios that measure speed; ``smoke`` is a short one."""
    return native.bench_cases()


def bench(case: str) -> str:
    """Run one of them; the answer is a JSON object."""
    try:
        return native.bench(case)
    except Exception as error:
        raise typed(error) from None
