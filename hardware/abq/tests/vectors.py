"""Replays every decision vector of ABQ on the RTL, with each data width that is named: 64, 256."""

import os
import sys
from pathlib import Path

from simulate import run


def main() -> int:
    build, widths = Path(sys.argv[1]), sys.argv[2:]
    ran = failed = 0
    for width in widths:
        os.environ["ABQ_WIDTH"] = width
        parameters = {"PORTS": 8, "DATA_W": int(width), "TIME_W": 64, "CAPACITY": 1024}
        here = build / f"vectors-{width}"
        tests, wrong = run("abq_input_queues", "replay", parameters, here, quiet=True)
        ran, failed = ran + tests, failed + wrong
        print(f"{width} bits: {tests - wrong} of {tests} vectors as expected; {here}/replay.log")
    print(f"{ran - failed} passed, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
