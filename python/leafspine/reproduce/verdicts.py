"""What a verdict is, and when an effect earns one.

The rules are those of ``docs/reproducing.md``.
"""

import math
from dataclasses import dataclass, replace
from enum import IntEnum

from leafspine.reproduce.claims import Claim
from leafspine.reproduce.strips import Strip
from leafspine.reproduce.tolerances import beyond
from leafspine.stats import Estimate

MANY = 4
"""More comparisons than so many are not listed one by one in a scorecard."""


class Verdict(IntEnum):
    """From worst to best; a claim has the worst of its tests.

    ``EXCEEDS``: in what the claim praises its system for, better than claimed by more than the
    tolerance. ``CONTRADICTS``: not reproduced, and ruled out by the paper itself; no test gives it.
    """

    MISSING = 0
    NOT = 1
    DIRECTION = 2
    EXCEEDS = 3
    REPRODUCED = 4
    UNTESTABLE = 5
    CONTRADICTS = 6

    @property
    def words(self) -> str:
        """As the scorecard says it."""
        return (
            "no data",
            "not reproduced",
            "direction only",
            "exceeds",
            "reproduced",
            "not testable",
            "contradicts the paper",
        )[self]


@dataclass(frozen=True)
class Part:
    """One comparison of a test: its verdict, and the numbers for a reader."""

    verdict: Verdict
    found: str
    strips: tuple[Strip, ...] = ()
    """The numbers on the claim's scale."""


@dataclass(frozen=True)
class Finding:
    """What a test found: a part for each pair or scheme that it is about."""

    parts: tuple[Part, ...]
    tail: str = ""
    head: str = ""
    """The words behind and before all parts."""

    @property
    def verdict(self) -> Verdict:
        """The worst of the parts."""
        return min(part.verdict for part in self.parts)

    @property
    def found(self) -> str:
        """All parts in one line."""
        return self.head + ", ".join(part.found for part in self.parts) + self.tail


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and what each of its tests found."""

    claim: Claim
    findings: tuple[Finding, ...]
    ideal: str = ""
    """What a fabric without queues would give instead of the claim's system, in words."""

    @property
    def tested(self) -> Verdict:
        """The worst of its tests."""
        return min((finding.verdict for finding in self.findings), default=Verdict.UNTESTABLE)

    @property
    def ruled_out(self) -> str:
        """The arithmetic by which the paper rules out what the tests do not reproduce, if any."""
        if self.tested not in (Verdict.NOT, Verdict.DIRECTION):
            return ""
        return "; ".join(entry.found for entry in self.claim.contradictions if entry.holds)

    @property
    def verdict(self) -> Verdict:
        """That of its tests; of a claim that they do not reproduce, whether the paper itself rules
        it out."""
        return Verdict.CONTRADICTS if self.ruled_out else self.tested

    @property
    def found(self) -> str:
        """All findings in one line."""
        if not self.findings:
            return self.claim.reason
        return self._with_reason("; ".join(finding.found for finding in self.findings))

    @property
    def strips(self) -> tuple[tuple[Strip, str], ...]:
        """The numbers of all comparisons on the claim's scale, each with its verdict's name."""
        parts = (part for finding in self.findings for part in finding.parts)
        return tuple((strip, part.verdict.name.lower()) for part in parts for strip in part.strips)

    def _with_reason(self, found: str) -> str:
        if not self.ruled_out:
            return found
        return f"{found} ({self.tested.words}). {self.ruled_out}"

    @property
    def brief(self) -> str:
        """The findings, if there are many only those that decide."""
        parts = [(part, finding) for finding in self.findings for part in finding.parts]
        if self.tested == Verdict.MISSING:
            missing = sum(part.verdict == Verdict.MISSING for part, _ in parts)
            return f"no data yet for {missing} of {len(parts)} comparisons"
        if len(parts) <= MANY:
            return self.found
        worst = [
            of.head + part.found + of.tail for part, of in parts if part.verdict == self.tested
        ]
        if self.tested == Verdict.REPRODUCED:
            return f"all {len(parts)} comparisons, the first: {worst[0]}"
        more = f"; and {len(worst) - MANY} more" if len(worst) > MANY else ""
        kept = sum(part.verdict == Verdict.REPRODUCED for part, _ in parts)
        return self._with_reason(
            f"{kept} of {len(parts)} comparisons reproduced; {self.tested.words}: "
            + "; ".join(worst[:MANY])
            + more
        )


def sure(found: Estimate, sign: float) -> bool:
    """Whether the whole interval lies on the claim's side of zero."""
    return (
        found.half is not None
        and min(sign * (found.mean - found.half), sign * (found.mean + found.half)) > 0
    )


def effect(
    found: Estimate | None, claimed: float, or_more: bool = False, praises: bool = False
) -> Verdict:
    """An effect in percent against the claimed one.

    With ``or_more`` the claim is a bound ("more than 22 %"), which the whole interval has to keep:
    as "less than 7 %" has no tolerance, it has none. With ``praises`` a larger effect exceeds it,
    if its whole interval is larger.
    """
    if found is None:
        return Verdict.MISSING
    sign = math.copysign(1.0, claimed)
    if found.mean * sign <= 0:
        return Verdict.NOT
    if found.half is None:
        return Verdict.DIRECTION
    if not sure(found, sign):
        return Verdict.NOT
    if or_more:
        kept = sure(replace(found, mean=found.mean - claimed), sign)
        return Verdict.REPRODUCED if kept else Verdict.DIRECTION
    off = beyond(found.mean, claimed)
    if abs(off) <= 1:
        return Verdict.REPRODUCED
    larger = off > 0 and sure(replace(found, mean=found.mean - claimed), sign)
    return Verdict.EXCEEDS if praises and larger else Verdict.DIRECTION
