"""The keys of all runs of all figures, at both scales: kept results belong to them.

    python tests/python/reproduce/run_keys.py write FILE      before a change of the papers' files
    python tests/python/reproduce/run_keys.py compare FILE    after it

``compare`` ends with 1 if a run's resolved text is another one, and says which are missing, new and
changed. On the real engine, a minute.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from leafspine.reproduce import figures, plan


def keys(library: Path | None = None) -> dict[str, str]:
    """By figure, scale, set of runs, variant, point and seed: the key of the run."""
    return {
        "\t".join(
            (
                *(figure.path, scale, runs.name, case.variant),
                *(json.dumps(case.point), str(case.seed)),
            )
        ): case.key
        for paper in figures.papers(library)
        for figure in paper.figures
        for scale in figures.SCALES
        for runs in figure.all_runs()
        for case in plan.cases(runs, scale)
    }


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """How many are missing, new and changed, by figure, scale, set of runs and variant."""
    found = {
        "missing": [name for name in before if name not in now],
        "new": [name for name in now if name not in before],
        "changed": [name for name in now if before.get(name, now[name]) != now[name]],
    }
    return [
        f"{count} {what}: " + ", ".join(place)
        for what, names in found.items()
        for place, count in Counter(tuple(name.split("\t")[:4]) for name in names).items()
    ]


def main() -> int:
    what, file = sys.argv[1], Path(sys.argv[2])
    now = keys()
    if what == "write":
        file.write_text(json.dumps(now), encoding="utf-8")
        print(f"{len(now)} runs")
        return 0
    before = json.loads(file.read_text(encoding="utf-8"))
    lines = differences(before, now)
    print(f"{len(before)} runs before, {len(now)} now")
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
