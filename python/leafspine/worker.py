"""One worker: takes cases, leaves results on the disk, says what became of them.

:mod:`leafspine.workers` starts it as ``python -m leafspine.worker``. Each line on standard input
is a case as JSON; each line on standard output is what became of it: ``progress``, ``done``,
``refused`` (bad input), ``other-engine`` (this engine is not the caller's), ``unwritable`` (a full
disk) or ``failed``. When standard input ends, as it does when the parent exits, the process ends at
once. With two files, ``python -m leafspine.worker CASES ANSWERS``, it takes one case after the
other from the first, adds its answers to the second, and leaves out those that are answered
already: so works a job of a batch system, which may be started again on another machine. On a dask
cluster :func:`carry_out` is called.
"""

import json
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from leafspine import engine, interrupts, memory, results
from leafspine.engine import Case, FlowClass, Watch
from leafspine.errors import EngineError, LeafspineError, ScenarioError, WriteError

FREE = "free"
"""As ``most``: what is free where the worker is."""


def to_message(
    case: Case,
    directory: Path,
    *,
    csv: bool = False,
    check: bool = False,
    most: int | str | None = None,
    threads: int = 1,
) -> str:
    """A case as a line for a worker."""
    message = {
        "version": engine.version(),
        "build": engine.build(),
        "key": case.key,
        "variant": case.variant,
        "seed": case.seed,
        "toml": case.toml,
        "base_dir": case.base_dir,
        "classes": [vars(flow_class) for flow_class in case.classes],
        "directory": str(directory),
        "csv": csv,
        "check": engine.is_checked(check),
        "most": most,
        "threads": threads,
    }
    return json.dumps(message) + "\n"


def main() -> None:
    """Serve cases until standard input ends, or those of a file."""
    if len(sys.argv) == 3:
        _serve_file(Path(sys.argv[1]), Path(sys.argv[2]))
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing but answers may reach the parent's pipe
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    while True:
        _serve(json.loads(lines.get()), answers)


def _listen(lines: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    interrupts.leave_no_folders()
    os._exit(0)


SECONDS_BETWEEN = 1.0
"""In a file, of which every line is kept, progress is told of so often."""


def _serve_file(cases: Path, answers: Path) -> None:
    """Serve a file's cases, but those that are answered already."""
    lines = cases.read_text(encoding="utf-8").splitlines()
    before = answers.read_text(encoding="utf-8").splitlines() if answers.exists() else []
    # A worker that was lost may have left half a line.
    whole = [line for line in before if line.endswith("}")]
    over = sum(json.loads(line)["kind"] != "progress" for line in whole)
    with answers.open("a", encoding="utf-8") as stream:
        if len(whole) < len(before):
            print(file=stream)
        for line in lines[over:]:
            _serve(json.loads(line), stream, every=SECONDS_BETWEEN)


def _serve(message: dict[str, Any], answers: TextIO, *, every: float = 0.0) -> None:
    def tell(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    tell(carry_out(message, tell, every=every))


def carry_out(
    message: dict[str, Any], tell: Callable[[dict[str, Any]], None], *, every: float = 0.0
) -> dict[str, Any]:
    """Run a message's case, write its result, and say in what way that ended.

    ``tell`` gets ``progress`` meanwhile, at least ``every`` so many seconds apart; what it raises
    ends the run.
    """
    if other := _other_engine(message):
        return {"kind": "other-engine", "message": other}
    case = Case(
        variant=message["variant"],
        point=(),
        seed=message["seed"],
        toml=message["toml"],
        classes=tuple(FlowClass(**entry) for entry in message["classes"]),
        base_dir=message["base_dir"],
    )
    most = memory.available() if message["most"] == FREE else message["most"]
    try:
        result = results.run_case(
            case,
            _watch(tell, every),
            check=message["check"],
            most=most,
            threads=message["threads"],
        )
        results.write(result, Path(message["directory"]), csv=message["csv"])
    except ScenarioError as error:
        return {"kind": "refused", "message": str(error), "parts": error.parts()}
    except WriteError as error:
        return {"kind": "unwritable", "message": str(error)}
    except LeafspineError as error:
        return _failed(str(error), fault=isinstance(error, EngineError))
    except Exception as error:
        return _failed(f"{type(error).__name__}: {' '.join(str(error).split())}", fault=False)
    return {"kind": "done"}


def _failed(message: str, *, fault: bool) -> dict[str, Any]:
    return {"kind": "failed", "message": message, "fault": fault, "trace": traceback.format_exc()}


def _watch(tell: Callable[[dict[str, Any]], None], every: float) -> Watch:
    told = -every

    def watch(finished: int, total: int | None, _time: int, hops: int, building: str) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= every:
            told = now
            tell(
                {
                    "kind": "progress",
                    "finished": finished,
                    "total": total,
                    "hops": hops,
                    "building": building,
                }
            )

    return watch


def _other_engine(message: dict[str, Any]) -> str:
    """Why this process would make other results than the caller; nothing if it would not."""
    wanted = (message["version"], message["build"])
    here = (engine.version(), engine.build())
    if wanted == here:
        return ""
    return (
        f"a worker on {socket.gethostname()} has leafspine {here[0]}, build {here[1]}, but this "
        f"is leafspine {wanted[0]}, build {wanted[1]}: install the same wheel on both"
    )


if __name__ == "__main__":
    main()
