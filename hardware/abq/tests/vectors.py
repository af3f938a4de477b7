"""Replays every decision vector of ABQ on the RTL, with the data widths that are named."""

import os
import sys
from pathlib import Path

from simulate import run


def main() -> int:
    build, widths = Path(sys.argv[1]), sys.argv[2:]
    ran = wrong = 0
    for width in widths:
        os.environ["ABQ_WIDTH"] = width
        parameters = {"PORTS": 8, "DATA_W": int(width), "TIME_W": 64, "CAPACITY": 1024}
        here = build / f"vectors-{width}"
        tests, failed = run("abq_input_queues", "replay", parameters, here)
        ran, wrong = ran + tests, wrong + len(failed)
        said = f"failed: {', '.join(failed)}" if failed else "all as expected"
        print(f"{tests} decision vectors on {width} bits, {said} ({here}/replay.log)")
    print(f"{ran - wrong} passed, {wrong} failed")
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
