"""A laboratory for load balancing and queue management in datacentre networks.

>>> import leafspine
>>> result = leafspine.run("fabric.toml", load_balancer__scheme="letflow")
>>> result.flows["fct_ps"]          # an Arrow column, picoseconds, null where unfinished
>>> comparison = leafspine.compare("fabric.toml", lb=["ecmp", "letflow"], load=[0.4, 0.8], seeds=5)
>>> comparison.table()              # every metric with its 95 % interval, an Arrow table
>>> comparison.write("results")     # tables, plots, one HTML report
"""

from typing import TYPE_CHECKING

from leafspine.api import compare, fit_qall, run, schemes, sweep, workloads
from leafspine.comparison import Comparison, Row
from leafspine.engine import Case, FlowClass
from leafspine.errors import (
    EngineError,
    InputError,
    Interrupted,
    LeafspineError,
    RunError,
    ScenarioError,
    StuckError,
    TooLargeError,
)
from leafspine.fitting import Fit
from leafspine.results import Result
from leafspine.stats import Estimate

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        # Only when asked for: importing the package must not fail over an engine that does not fit.
        if name == "__version__":
            from leafspine import engine

            return engine.version()
        raise AttributeError(f"module 'leafspine' has no attribute {name!r}")


__all__ = [
    "Case",
    "Comparison",
    "EngineError",
    "Estimate",
    "Fit",
    "FlowClass",
    "InputError",
    "Interrupted",
    "LeafspineError",
    "Result",
    "Row",
    "RunError",
    "ScenarioError",
    "StuckError",
    "TooLargeError",
    "compare",
    "fit_qall",
    "run",
    "schemes",
    "sweep",
    "workloads",
]
