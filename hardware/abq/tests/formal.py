"""Proves the assertions of the RTL with Yosys' own SAT solver, with small parameters.

The engine's by induction: they hold after a reset and, if they hold in some cycles, in the next.
The output queue's in every run of ten cycles after a reset, whatever comes in. (They are sampled at
the clock's edge: what is asserted of a cycle is known in the next.)
"""

import subprocess
import sys

from simulate import sources

SMALL = {
    "abq_engine": {"CAPACITY": 3, "QUEUE_W": 4, "TIME_W": 4},
    "abq_output_queue": {"DATA_W": 16, "USER_W": 1, "QUEUE_W": 6, "WORDS": 4, "PACKETS": 2},
}
PROOFS = {
    "abq_engine": "sat -verify -tempinduct -prove-asserts -set-assumes -maxsteps 4",
    "abq_output_queue": "sat -verify -tempinduct -tempinduct-baseonly -prove-asserts -maxsteps 11",
}


def prove(top: str) -> bool:
    files = " ".join(map(str, sources()))
    chosen = "".join(f" -chparam {key} {value}" for key, value in SMALL[top].items())
    script = (
        f"read_verilog -sv -formal {files}; hierarchy -check -top {top}{chosen}; "
        f"proc; flatten; memory_map; async2sync; opt -full; rename -top {top}; "
        f"{PROOFS[top]} -set-at 1 rst 1"
    )
    done = subprocess.run(["yosys", "-p", script], capture_output=True, text=True)
    print(f"{top}: {'proved' if done.returncode == 0 else 'NOT PROVED'}", flush=True)
    if done.returncode:
        print((done.stdout + done.stderr)[-6000:])
    return done.returncode == 0


def main() -> int:
    proved = sum(prove(top) for top in PROOFS)
    print(f"{proved} passed, {len(PROOFS) - proved} failed")
    return 0 if proved == len(PROOFS) else 1


if __name__ == "__main__":
    sys.exit(main())
