"""The command line's first lines: ``leafspine`` and ``python -m leafspine``."""

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit."""
    try:
        # Takes most of a second, in which Ctrl-C is to be no traceback either.
        from leafspine import cli

        code = cli.invoke(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    except KeyboardInterrupt:
        print("leafspine: interrupted", file=sys.stderr)
        code = 1
    sys.exit(code)


if __name__ == "__main__":
    main()
