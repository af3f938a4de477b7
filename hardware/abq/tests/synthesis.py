"""What the RTL costs, by Yosys: written into ``docs/hardware.md`` between its marks, or compared.

Takes a folder for logs, and ``--write`` to put the table into the page. Look-up tables and
flip-flops for a generic target with six-input tables and for Lattice's ECP5 (four inputs); bits of
memory as the RTL has them; the longest path between flip-flops in the generic target's tables.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from simulate import HERE, RTL, sources

PAGE = HERE.parents[2] / "docs" / "hardware.md"
MARKS = "<!-- synthesis -->\n", "<!-- end of synthesis -->\n"

Parameters = Mapping[str, int]

PARTS: list[tuple[str, str, Parameters]] = [
    ("state machine", "abq_state", {}),
    ("engine with it", "abq_engine", {}),
    ("IsAck", "abq_parser", {}),
    ("corrector", "abq_corrector", {}),
    ("a port, 64 bits", "abq_ingress", {}),
    ("a port, 256 bits", "abq_ingress", {"DATA_W": 256}),
    ("four ports and arbiter, 64 bits", "abq_input_queues", {}),
]

# Memories stay memories; all else becomes gates, and these tables of six inputs.
GENERIC = (
    "proc; flatten; opt; wreduce; share; opt; memory -nomap; opt -full; techmap; opt; "
    "abc -lut 6; opt_clean; tee -q -o {log}.generic stat; "
    "tee -q -o {log}.generic.path ltp -noff w:* t:$lut %u"
)
ECP5 = "synth_ecp5 -top {top}; tee -q -o {log}.ecp5 stat"


def yosys(script: str) -> None:
    # Without folders in the files' names, which Yosys puts into those of cells.
    subprocess.run(["yosys", "-q", "-p", script], check=True, cwd=RTL)


def cells(log: Path) -> dict[str, int]:
    """Cells by type, and the sums that Yosys prints, of its last report."""
    text = log.read_text()
    found = re.findall(r"^\s+([\w$\\]+)\s+(\d+)$", text, re.M)
    counted = {name: int(number) for name, number in found}
    sums = re.findall(r"Number of memory bits:\s+(\d+)", text)
    return counted | ({"bits": int(sums[-1])} if sums else {})


def depth(log: Path) -> int:
    return int(re.findall(r"length=(\d+)", log.read_text())[-1])


def row(name: str, top: str, parameters: Parameters, folder: Path) -> str:
    log = folder / f"{top}-{parameters.get('DATA_W', 64)}"
    read = f"read_verilog -sv {' '.join(path.name for path in sources())}; "
    chosen = "".join(f" -chparam {key} {value}" for key, value in parameters.items())
    begin = f"{read}hierarchy -check -top {top}{chosen}; rename -top {top}; "
    bits = f"proc; flatten; opt_clean; tee -q -o {log}.bits stat; design -reset; {begin}"
    yosys(begin + bits + GENERIC.format(log=log))
    yosys(begin + ECP5.format(log=log, top=top))
    generic, ecp5 = cells(Path(f"{log}.generic")), cells(Path(f"{log}.ecp5"))
    flops = sum(number for cell, number in generic.items() if "DFF" in cell)
    memory = cells(Path(f"{log}.bits")).get("bits", 0)
    values = [
        generic.get("$lut", 0),
        flops,
        depth(Path(f"{log}.generic.path")),
        # A carry cell takes two tables.
        ecp5.get("LUT4", 0) + 2 * ecp5.get("CCU2C", 0),
        ecp5.get("TRELLIS_FF", 0),
        ecp5.get("DP16KD", 0),
        memory,
    ]
    return f"| {name} | `{top}` | " + " | ".join(f"{value:,}" for value in values) + " |"


def table(folder: Path) -> str:
    head = [
        "| part | module | LUT6 | FF | levels | ECP5: LUT4 | FF | 18 Kb blocks | memory bits |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join([*head, *(row(*part, folder) for part in PARTS)]) + "\n"


def main() -> int:
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    found = table(folder)
    print(found)
    page = PAGE.read_text()
    before, rest = page.split(MARKS[0])
    old, after = rest.split(MARKS[1])
    if "--write" in sys.argv:
        PAGE.write_text(before + MARKS[0] + found + MARKS[1] + after)
    elif old != found:
        print(f"{PAGE.name} has another table: make hardware-costs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
