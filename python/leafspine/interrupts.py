"""How a command ends on a signal: from the terminal, from a batch system, or a second one."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

SOON = 0.01
"""Seconds until a signal that was lost is delivered again."""


THREAD = "leafspine-engine"
"""The name of threads in which the engine works."""


def leave(code: int) -> NoReturn:
    """Exit. A thread of the engine that was left to itself when it was cancelled is not waited for,
    and the interpreter cannot be taken down under it."""
    if any(thread.name == THREAD for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        leave_no_folders()
        os._exit(code)
    sys.exit(code)


GUESTS = "leafspine-linux-"
"""How the names of folders of hosts with Linux begin, before this process's number."""


def leave_no_folders() -> None:
    """Remove what the engine had for hosts with Linux, and would have removed itself once it had
    noticed that it was cancelled: kernels that boot take seconds until then."""
    import shutil
    import tempfile

    for place in (Path("/dev/shm"), Path(tempfile.gettempdir())):
        for folder in place.glob(f"{GUESTS}{os.getpid()}-*"):
            shutil.rmtree(folder, ignore_errors=True)


class Signalled(KeyboardInterrupt):
    """A signal. Python ends by SIGINT after a plain one that went through ``exec``, caught or not,
    and dataclasses are made with that."""


@dataclass
class Interruption:
    """Whether a signal has come, ever: an error that follows may be its doing."""

    came: bool = False


@contextlib.contextmanager
def interruptible() -> Iterator[Interruption]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does; a second signal ends it at once."""
    interruption = Interruption()
    received = False

    def receive(_number: int, _frame: object) -> None:
        nonlocal received
        if received:
            show_cursor = b"\x1b[?25h" if os.isatty(2) else b""
            os.write(2, show_cursor + b"leafspine: interrupted again: ended at once\n")
            leave_no_folders()
            os._exit(1)
        received = interruption.came = True
        raise Signalled

    def lost(what: "sys.UnraisableHookArgs") -> None:
        # A signal that comes while an object is taken down raises where it cannot be caught.
        nonlocal received
        if what.exc_type is Signalled:
            received = False
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            hook(what)

    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    hook = sys.unraisablehook
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # Those that the caller ignores, as nohup and background jobs have it, stay ignored.
    before = {n: signal.getsignal(n) for n in numbers if signal.getsignal(n) != signal.SIG_IGN}
    before[signal.SIGALRM] = signal.getsignal(signal.SIGALRM)
    try:
        sys.unraisablehook = lost
        for number in before:
            signal.signal(number, receive)
        yield interruption
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
