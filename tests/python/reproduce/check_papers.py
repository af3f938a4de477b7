"""What a process with the real engine says of the papers: a line of JSON.

Claims and figures by paper, figures that draw nothing, the runs of each scale, every test of a
claim that its runs can never judge, contradictions that the numbers do not bear out, and numbers of
real hosts that are kept and are not those of the present scenarios.
"""

import json
from dataclasses import replace

from leafspine.reproduce import figures, on_linux, plan
from leafspine.reproduce.claims import Claim
from leafspine.reproduce.figures import Sensitivity


def of(other: Sensitivity, claim: Claim) -> Claim:
    """What a sensitivity is to judge of a claim, by the names of its own runs; nothing of a claim
    that it does not name, or where it names its point itself, which is checked elsewhere."""
    tests = other.asks(claim).tests if claim.id in other.claims and not other.at else ()
    return replace(
        claim, tests=tuple(replace(test, runs=other.run_set(test.runs)) for test in tests)
    )


def main() -> None:
    claims: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    empty: list[str] = []
    runs: dict[str, int] = {}
    unmet: list[str] = []
    unnamed: list[str] = []
    unborne: list[str] = []
    stale: list[str] = []
    for paper in figures.papers():
        claims[paper.name] = [claim.id for claim in paper.claims]
        names[paper.name] = [figure.name for figure in paper.figures]
        unborne += [
            f"{claim.id}: {entry.found}"
            for claim in paper.claims
            for entry in claim.contradictions
            if not entry.holds
        ]
        empty += [figure.path for figure in paper.figures if not figure.panels]
        stale += [
            f"{figure.path}: {line}"
            for figure in paper.figures
            for line in on_linux.stale(figure, paper.claims_of(figure.name))
        ]
        for scale in figures.SCALES:
            keys = set()
            for figure in paper.figures:
                plan_ = plan.plan(figure, paper.claims_of(figure.name), scale)
                unmet += [
                    f"{figure.path} ({scale}): {line}" for line in plan.unmet(plan_.claims, plan_)
                ]
                if scale == "paper":
                    # Its variants may be fewer: a claim over several schemes is judged of those.
                    asked = [of(other, c) for other in figure.sensitivities for c in plan_.claims]
                    lines = plan.unmet(asked, plan_)
                    unmet += [f"{figure.path}: {line}" for line in lines if "point" in line]
                keys.update(entry.case.key for entry in plan_.wanted)
                for entry in plan_.wanted:
                    unnamed += plan.unknown(entry)
            runs[f"{paper.name} {scale}"] = len(keys)
    found = {
        "claims": claims,
        "figures": names,
        "empty": empty,
        "runs": runs,
        "unmet": sorted(set(unmet)),
        "unnamed": sorted(set(unnamed)),
        "unborne": unborne,
        "stale": stale,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
