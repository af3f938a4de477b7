"""What a verdict is, and when an effect earns one.

The rules are those of ``docs/reproducing.md``.
"""

import math
from dataclasses import dataclass
from enum import IntEnum

from leafspine.reproduce.claims import Claim
from leafspine.stats import Estimate

MANY = 4
"""More comparisons than so many are not listed one by one in a scorecard."""


class Verdict(IntEnum):
    """From worst to best; a claim has the worst of its tests."""

    MISSING = 0
    NOT = 1
    DIRECTION = 2
    REPRODUCED = 3
    UNTESTABLE = 4

    @property
    def words(self) -> str:
        """As the scorecard says it."""
        return (
            "no data",
            "not reproduced",
            "direction only",
            "reproduced",
            "not testable",
        )[self]


@dataclass(frozen=True)
class Part:
    """One comparison of a test: its verdict, and the numbers for a reader."""

    verdict: Verdict
    found: str


@dataclass(frozen=True)
class Finding:
    """What a test found: a part for each pair or scheme that it is about."""

    parts: tuple[Part, ...]
    tail: str = ""
    """The words for all parts."""

    @property
    def verdict(self) -> Verdict:
        """The worst of the parts."""
        return min(part.verdict for part in self.parts)

    @property
    def found(self) -> str:
        """All parts in one line."""
        return ", ".join(part.found for part in self.parts) + self.tail


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and what each of its tests found."""

    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of its tests."""
        return min((finding.verdict for finding in self.findings), default=Verdict.UNTESTABLE)

    @property
    def found(self) -> str:
        """All findings in one line."""
        if not self.findings:
            return self.claim.reason
        return "; ".join(finding.found for finding in self.findings)

    @property
    def brief(self) -> str:
        """The findings, if there are many only those that decide."""
        parts = [(part, finding.tail) for finding in self.findings for part in finding.parts]
        if self.verdict == Verdict.MISSING:
            missing = sum(part.verdict == Verdict.MISSING for part, _ in parts)
            return f"no data yet for {missing} of {len(parts)} comparisons"
        if len(parts) <= MANY:
            return self.found
        worst = [part.found + tail for part, tail in parts if part.verdict == self.verdict]
        if self.verdict == Verdict.REPRODUCED:
            return f"all {len(parts)} comparisons, the first: {worst[0]}"
        more = f"; and {len(worst) - MANY} more" if len(worst) > MANY else ""
        kept = sum(part.verdict == Verdict.REPRODUCED for part, _ in parts)
        return (
            f"{kept} of {len(parts)} comparisons reproduced; {self.verdict.words}: "
            + "; ".join(worst[:MANY])
            + more
        )


def sure(found: Estimate, sign: float) -> bool:
    """Whether the whole interval lies on the claim's side of zero."""
    return (
        found.half is not None
        and min(sign * (found.mean - found.half), sign * (found.mean + found.half)) > 0
    )


def tolerance(claimed: float) -> float:
    """How far from a claim of so many percent an effect may lie: a third of it, or ten points (at
    most half of it), whichever is larger."""
    return max(abs(claimed) / 3, min(10.0, abs(claimed) / 2))


def effect(found: Estimate | None, claimed: float, or_more: bool = False) -> Verdict:
    """An effect in percent against the claimed one; with ``or_more`` a larger one is as good."""
    if found is None:
        return Verdict.MISSING
    sign = math.copysign(1.0, claimed)
    if found.mean * sign <= 0:
        return Verdict.NOT
    if found.half is None:
        return Verdict.DIRECTION
    if not sure(found, sign):
        return Verdict.NOT
    short_by = sign * (claimed - found.mean)
    near = (short_by if or_more else abs(short_by)) <= tolerance(claimed)
    return Verdict.REPRODUCED if near else Verdict.DIRECTION
