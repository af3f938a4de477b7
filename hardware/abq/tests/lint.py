"""Every tool that the RTL is written for takes it without a word.

Verilator with all warnings at every data width, Icarus, and Yosys, whose check of the netlist finds
loops and signals that nothing drives.
"""

import subprocess
import sys

from simulate import RTL, sources

# What Icarus 11 says of constant selects: it looks at whole vectors instead, which is the same.
KNOWN = "sorry: constant selects in always_* processes are not currently supported"


def commands() -> list[list[str]]:
    files = [str(path) for path in sources()]
    netlist = "hierarchy -check -top abq_switch; proc; check -assert"
    verilator = [
        "verilator",
        "--lint-only",
        "-Wall",
        "--assert",
        f"-I{RTL}",
        "--top-module",
        "abq_switch",
    ]
    return [
        *([*verilator, f"-GDATA_W={width}", *files] for width in (64, 128, 256)),
        [*verilator, "-GPORTS=2", "-GCAPACITY=1", "-GTIME_W=24", *files],
        ["iverilog", "-g2012", "-Wall", f"-I{RTL}", "-t", "null", "-s", "abq_switch", *files],
        ["yosys", "-q", "-p", f"read_verilog -sv {' '.join(files)}; {netlist}"],
    ]  # fmt: skip


def main() -> int:
    failed = 0
    for command in commands():
        done = subprocess.run(command, capture_output=True, text=True)
        said = [
            line
            for line in (done.stdout + done.stderr).splitlines()
            if line.strip() and KNOWN not in line
        ]
        if done.returncode or said:
            failed += 1
            print("\n".join([" ".join(command[:6]), *said]))
    print(f"{len(commands()) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
