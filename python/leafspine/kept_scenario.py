"""What this engine says of a scenario that was kept with a result: its schemes, its classes.

The files that it was made from, a trace or a fabric, may be elsewhere by now, and nothing large is
built: its fabric and traffic do not matter any more.
"""

import tomllib
from typing import Any

from leafspine import engine, files, scenario
from leafspine.engine import Case
from leafspine.errors import InputError

IRRELEVANT = ("workload", "measure", "run", "topology", "variant", "sweep")
"""What neither schemes nor flow classes depend on, and may need files that are elsewhere."""

STAND_IN = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "1Gbps", delay = "1us" }
fabric_link = { rate = "1Gbps", delay = "1us" }

[[workload]]
kind = "poisson"
sizes = { kind = "fixed", bytes = "1KB" }
load = 0.1
flows = 1
"""


def parts(text: str) -> dict[str, Any]:
    """The tables of a resolved scenario that its schemes and flow classes depend on."""
    return {key: value for key, value in tomllib.loads(text).items() if key not in IRRELEVANT}


def case(text: str) -> Case:
    """The only case of a resolved scenario, in a small fabric. What does not fit into that is asked
    for as it is."""
    small = {key: value for key, value in parts(text).items() if key != "probe"}
    try:
        [found] = engine.expand(scenario.to_toml(small) + STAND_IN, "scenario", "", ())
    except InputError:
        [found] = engine.expand(text, files.SCENARIO, "", ())
    return found
