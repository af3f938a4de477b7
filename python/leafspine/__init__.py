"""A laboratory for load balancing and queue management in datacentre networks.

>>> import leafspine
>>> result = leafspine.run("fabric.toml", load_balancer__scheme="letflow")
>>> result.flows["fct_ps"]          # an Arrow column, picoseconds, null where unfinished
>>> comparison = leafspine.compare("fabric.toml", lb=["ecmp", "letflow"], load=[0.4, 0.8], seeds=5)
>>> comparison.table()              # every metric with its 95 % interval, an Arrow table
>>> comparison.write("results")     # tables, plots, one HTML report
>>> leafspine.load("results").flows # of all runs, with variant, swept keys and seed as columns
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leafspine.api import check, compare, fit_qall, run, schemes, sweep, tune, workloads
    from leafspine.checking import Cost
    from leafspine.comparison import Comparison
    from leafspine.comparison_data import Row
    from leafspine.engine import Case, FlowClass
    from leafspine.errors import (
        DamagedError,
        EngineError,
        InputError,
        Interrupted,
        LeafspineError,
        RunError,
        ScenarioError,
        StuckError,
        TooLargeError,
        WriteError,
    )
    from leafspine.loading import load
    from leafspine.qall.model import Fit
    from leafspine.results import Result
    from leafspine.stats import Estimate

    __version__: str
else:
    _HOMES = {
        "api": "check compare fit_qall run schemes sweep tune workloads",
        "checking": "Cost",
        "comparison": "Comparison",
        "comparison_data": "Row",
        "engine": "Case FlowClass",
        "errors": "DamagedError EngineError InputError Interrupted LeafspineError RunError "
        "ScenarioError StuckError TooLargeError WriteError",
        "loading": "load",
        "qall.model": "Fit",
        "results": "Result",
        "stats": "Estimate",
    }
    _HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        # On first use: the command line handles Ctrl-C from the start, and importing the package
        # does not fail over an engine that does not fit.
        if name == "__version__":
            return importlib.import_module("leafspine.engine").version()
        if name not in _HOME:
            raise AttributeError(f"module 'leafspine' has no attribute {name!r}")
        found = getattr(importlib.import_module(f"leafspine.{_HOME[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOME, "__version__"})


__all__ = [
    "Case",
    "Comparison",
    "Cost",
    "DamagedError",
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
    "WriteError",
    "check",
    "compare",
    "fit_qall",
    "load",
    "run",
    "schemes",
    "sweep",
    "tune",
    "workloads",
]
