"""What a process with the real engine says of the papers: a line of JSON.

Claims and figures by paper, figures that draw nothing, the runs of each scale, every test of a
claim that its runs can never judge, and contradictions that the numbers do not bear out.
"""

import json

from leafspine.reproduce import figures, plan


def main() -> None:
    claims: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    empty: list[str] = []
    runs: dict[str, int] = {}
    unmet: list[str] = []
    unnamed: list[str] = []
    unborne: list[str] = []
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
        for scale in figures.SCALES:
            keys = set()
            for figure in paper.figures:
                plan_ = plan.plan(figure, paper.claims_of(figure.name), scale)
                unmet += [
                    f"{figure.path} ({scale}): {line}" for line in plan.unmet(plan_.claims, plan_)
                ]
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
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
