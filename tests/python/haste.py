"""How long "at once" may be on a machine that has other work."""

import subprocess
import sys
import time


def at_once() -> float:
    """Seconds in which an interrupted command has to end: one, and five times what the machine
    takes at present to start and end one that does nothing, which is a third of a second on a
    quiet one."""
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "leafspine", "--version"], capture_output=True, check=True
    )
    return 1 + 5 * (time.monotonic() - began)
