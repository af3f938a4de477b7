"""How a command ends that is asked to: by the terminal, a batch system, or twice."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

SOON = 0.01
"""Seconds until a signal that was lost is heard again."""


class Heard(KeyboardInterrupt):
    """A signal. Python ends by SIGINT after a plain one that went through ``exec``, caught or not,
    and dataclasses are made with that."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does; a second signal ends it at once."""
    heard = False

    def hear(_number: int, _frame: object) -> None:
        nonlocal heard
        if heard:
            show_cursor = b"\x1b[?25h" if os.isatty(2) else b""
            os.write(2, show_cursor + b"leafspine: interrupted again: ended at once\n")
            os._exit(1)
        heard = True
        raise Heard

    def lost(what: "sys.UnraisableHookArgs") -> None:
        # A signal that comes while an object is taken down raises where nobody can catch it.
        nonlocal heard
        if what.exc_type is Heard:
            heard = False
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            hook(what)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hook = sys.unraisablehook
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # Those that the caller ignores, as nohup and background jobs have it, stay ignored.
    before = {n: signal.getsignal(n) for n in numbers if signal.getsignal(n) != signal.SIG_IGN}
    before[signal.SIGALRM] = signal.getsignal(signal.SIGALRM)
    try:
        sys.unraisablehook = lost
        for number in before:
            signal.signal(number, hear)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
