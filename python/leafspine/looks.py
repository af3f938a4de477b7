"""Which style each variant of a comparison has: that of the scheme it is about."""

from collections.abc import Sequence
from typing import Protocol

from leafspine.engine import Case
from leafspine.style import REGISTRY, STEERING, Style, of_variants


class Compared(Protocol):
    """What of a comparison its variants' styles depend on."""

    @property
    def variants(self) -> Sequence[str]: ...
    @property
    def cases(self) -> Sequence[Case]: ...


def styles(comparison: Compared) -> dict[str, Style]:
    """Each variant's style, by the balancer that its scenario names."""
    pairs = []
    for variant in comparison.variants:
        case = next(case for case in comparison.cases if case.variant == variant)
        pairs.append((variant, scheme_of(case)))
    return of_variants(pairs)


def scheme_of(case: Case) -> str:
    """What a case's figure is about: the edge that steers, the hold, the queue manager that the
    variant is named after, a variant of QALL, or else the load balancer; the variant's own name if
    the scenario names none."""
    facts = case.facts
    if facts.host_edge and facts.host_edge.name in STEERING:
        return facts.host_edge.name
    if facts.hold:
        return facts.hold.name
    manager = facts.aqm.name if facts.aqm else ""
    if case.variant.lower() in (manager, manager.partition("-")[0]):
        return manager
    if facts.load_balancer is None:
        return case.variant.lower()
    name, params = facts.load_balancer.name, facts.load_balancer.params
    kinds = (params.get(key) for key in ("variant", "granularity"))
    special = [f"{name}-{kind}" for kind in kinds if f"{name}-{kind}" in REGISTRY]
    return special[0] if special else name
