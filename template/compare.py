"""The new balancer beside ECMP and LetFlow: a table, and a report in ``out/compare-FLOWS/``.

    python compare.py [FLOWS]

Each ``# %%`` begins a cell, for editors that show such files as notebooks.
"""

# %% What is compared: a scenario, balancers by name, seeds. All balancers get the same flows.
import sys
from pathlib import Path

import leafspine

HERE = Path(__file__).parent
FLOWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000

comparison = leafspine.compare(
    HERE / "fabric.toml",
    lb=["ecmp", "letflow", "two-choices"],
    seeds=5,
    out=HERE / "out" / f"compare-{FLOWS}",
    workload__0__flows=FLOWS,
)

# %% Each metric with its 95 % interval over the seeds, and what it is in percent of ECMP's.
print(f"{'flows':6} {'balancer':12} {'mean slowdown':>18} {'vs ecmp':>26}")
for row in comparison.rows:
    if row.metric == "slowdown_mean" and row.estimate:
        mean, low, high = row.estimate.mean, row.estimate.low, row.estimate.high
        value = f"{mean:.2f} [{low:.2f}, {high:.2f}]"
        versus = ""
        if row.difference:
            mean, low, high = row.difference.mean, row.difference.low, row.difference.high
            versus = f"{mean:+.1f} % [{low:+.1f}, {high:+.1f}]"
        print(f"{row.group:6} {row.variant:12} {value:>18} {versus:>26}")

# %% All metrics as tables, plots and a page to look at.
print("report:", comparison.write())
