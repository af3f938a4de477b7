"""What tests of reproductions start from: a paper of two figures that share their runs."""

from pathlib import Path

import pytest

from conftest import SCENARIO, VARIANTS

PAPER = """
title = "A paper"
authors = "Somebody"
figures = ["fig1", "fig2"]
"""

FIGURE = """
title = "Completion times"
place = "§1, Fig. 1"
assumptions = ["The seed is one."]

[runs.main]
scenario = "../fig1/scenario.toml"

[runs.main.quick]
set = { "workload.0.flows" = 50 }
sweep = { "workload.0.load" = [0.8] }

[[panel]]
name = "a"
kind = "bar"
metric = "all.fct_mean"
x = "workload.0.load"
unit = "ms"

[[panel]]
name = "b"
kind = "cdf"
series = "fct:short"

[[panel]]
name = "c"
kind = "table"
metric = "own.window_mean"

[[sensitivity]]
name = "more flows"
set = { "workload.0.flows" = 100 }
claims = ["C1"]
"""

MORE_RUNS = """
[runs.more]
scenario = "scenario.toml"
"""

CLAIMS = """
[[claim]]
id = "C1"
place = "Fig. 1"
figure = "fig1"
type = "order"
says = "LetFlow is faster than ECMP"
[[claim.test]]
metric = "all.fct_mean"
less = ["LetFlow", "ECMP"]

[[claim]]
id = "C2"
place = "§2"
type = "cost"
says = "8 bytes a flow"
reason = "memory of hardware"

[[claim]]
id = "C3"
place = "Fig. 2"
figure = "fig2"
type = "order"
says = "ECMP is faster than LetFlow"
[[claim.test]]
metric = "all.fct_p99"
less = ["ECMP", "LetFlow"]
"""


@pytest.fixture(name="library")
def library_of_one(tmp_path: Path) -> Path:
    """A library with one paper: two figures that share their runs."""
    folder = tmp_path / "papers" / "some"
    for name in ("fig1", "fig2"):
        (folder / name).mkdir(parents=True)
    (folder / "paper.toml").write_text(PAPER)
    (folder / "claims.toml").write_text(CLAIMS)
    (folder / "fig1" / "scenario.toml").write_text(SCENARIO + VARIANTS)
    (folder / "fig1" / "figure.toml").write_text(FIGURE)
    rest = FIGURE[: FIGURE.index("[[sensitivity]]")].replace("Completion times", "The tail")
    (folder / "fig2" / "figure.toml").write_text(rest)
    return tmp_path / "papers"
