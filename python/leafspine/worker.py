"""One worker process: takes cases on standard input, leaves results on the disk.

Started by :mod:`leafspine.workers` as ``python -m leafspine.worker``. Each line on standard input
is a case as JSON; each line on standard output is what became of it: ``progress``, ``done``,
``refused`` (bad input), ``unwritable`` (a full disk) or ``failed``. When standard input ends, as it
does when the parent exits, the process ends at once.
"""

import json
import os
import queue
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, TextIO

from leafspine import results
from leafspine.engine import Case, FlowClass
from leafspine.errors import EngineError, LeafspineError, ScenarioError, WriteError


def to_message(
    case: Case,
    directory: Path,
    *,
    csv: bool = False,
    check: bool = False,
    most: int | None = None,
) -> str:
    """A case as a line for a worker."""
    message = {
        "variant": case.variant,
        "seed": case.seed,
        "toml": case.toml,
        "base_dir": case.base_dir,
        "classes": [vars(flow_class) for flow_class in case.classes],
        "directory": str(directory),
        "csv": csv,
        "check": check,
        "most": most,
    }
    return json.dumps(message) + "\n"


def main() -> None:
    """Serve cases until standard input ends."""
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
    os._exit(0)


def _serve(message: dict[str, Any], answers: TextIO) -> None:
    def answer(kind: str, **more: Any) -> None:
        print(json.dumps({"kind": kind, **more}), file=answers, flush=True)

    def watch(finished: int, total: int | None, _time: int, hops: int, building: str) -> None:
        answer("progress", finished=finished, total=total, hops=hops, building=building)

    case = Case(
        variant=message["variant"],
        point=(),
        seed=message["seed"],
        toml=message["toml"],
        classes=tuple(FlowClass(**entry) for entry in message["classes"]),
        base_dir=message["base_dir"],
    )
    try:
        result = results.run_case(case, watch, check=message["check"], most=message["most"])
        results.write(result, Path(message["directory"]), csv=message["csv"])
    except ScenarioError as error:
        answer("refused", message=str(error), parts=error.parts())
    except WriteError as error:
        answer("unwritable", message=str(error))
    except LeafspineError as error:
        fault = isinstance(error, EngineError)
        answer("failed", message=str(error), fault=fault, trace=traceback.format_exc())
    except Exception as error:
        text = " ".join(str(error).split())
        answer("failed", message=f"{type(error).__name__}: {text}", trace=traceback.format_exc())
    else:
        answer("done")


if __name__ == "__main__":
    main()
