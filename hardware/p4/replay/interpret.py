"""Replays decision vectors on the programs as they are interpreted here: no P4 compiler is needed.

python hardware/p4/replay/interpret.py [VECTOR ...]
"""

import sys
from pathlib import Path
from typing import Any

from switch import Switch
from values import Bits

from vectors import LOOP_BACK, SESSION, Differs, Replay, vectors

ROOT = Path(__file__).resolve().parents[3]


class Interpreted:
    """A program of this folder as a switch: a vector's replay, or built for forwarding."""

    def __init__(self, plane: dict[str, Any], replay: bool = True) -> None:
        file = ROOT / "hardware/p4" / f"{plane['program']}.p4"
        defines = plane["defines"] | ({"REPLAY": 1} if replay else {})
        self.switch = Switch(file, defines, {SESSION: LOOP_BACK})

    def entry(self, table: str, match: list[Any], action: str, data: list[int]) -> None:
        """Writes a table's entry or, without keys, its default action."""
        self.switch.program.table(table).add(match, action, data)

    def register(self, name: str, index: int, value: int) -> None:
        """Writes a register's word."""
        register = self.switch.program.register(name)
        register.words[index] = Bits(value).of_width(register.kind.width)

    def send(self, frame: bytes) -> list[tuple[int, bytes]]:
        """Sends a frame in by port 0: what comes out."""
        return self.switch.process(frame, 0)

    def forward(self, frame: bytes) -> list[tuple[int, bytes]]:
        """Sends a frame in by port 0, a while after the one before: what comes out."""
        self.switch.now += 300_000
        return self.send(frame)

    def word(self, name: str, index: int) -> int:
        """Reads a register's word."""
        return self.switch.program.register(name).words[index].value


def main(names: list[str]) -> int:
    """Replays these vectors or all; 1 if a decision differs."""
    wrong = 0
    for vector, plane in vectors(ROOT):
        if names and vector.file.stem not in names:
            continue
        try:
            checked = Replay(vector, plane, Interpreted(plane)).run()
            print(f"{vector.file.stem}: {checked} decisions are the simulator's")
        except Differs as differs:
            wrong = 1
            print(differs)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
