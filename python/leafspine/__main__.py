"""The command line's first lines: ``leafspine`` and ``python -m leafspine``."""

import os
import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit."""
    # Importing takes most of a second, in which nothing is there to be tidied up: Ctrl-C, once or
    # many times, is one line, also where an import would take the exception for its own.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupted)
    from leafspine import cli, interrupts

    code = cli.invoke(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    interrupts.leave(code)


def _interrupted(_number: int, _frame: object) -> NoReturn:
    os.write(2, b"leafspine: interrupted\n")
    os._exit(1)


if __name__ == "__main__":
    main()
