"""How many retransmissions were needless, and what they cost: the table in ``reordering.md``.

``python docs/reordering.py`` runs ``examples/reordering.toml`` and prints it, a row a variant and
load: sums and means over the seeds, of flows after the warm-up.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import leafspine

SCENARIO = Path(__file__).parents[1] / "examples" / "reordering.toml"
HEAD = (
    "load",
    "variant",
    "reordered (%)",
    "retransmits",
    "needless (%)",
    "timeouts",
    "undone",
    "mean FCT (us)",
    "p99 FCT, short (us)",
)


def total(flows: pa.Table, column: str) -> int:
    """The sum over all flows."""
    return int(pc.sum(flows[column]).as_py())


def row(load: float, variant: str, flows: pa.Table) -> tuple[str, ...]:
    """The cells of one variant at one load."""
    again = total(flows, "retransmits")
    needless = total(flows, "spurious_retransmits")
    short = flows.filter(pc.less_equal(flows["bytes"], 100_000))
    tail = pc.quantile(short["fct_ps"], q=0.99)[0].as_py()
    return (
        f"{load}",
        variant,
        f"{100 * total(flows, 'reordered') / total(flows, 'packets'):.2f}",
        f"{again}",
        f"{100 * needless / again:.1f}" if again else "",
        f"{total(flows, 'timeouts')}",
        f"{total(flows, 'undos')}",
        f"{pc.mean(flows['fct_ps']).as_py() / 1e6:.1f}",
        f"{tail / 1e6:.1f}",
    )


def main() -> None:
    """Run the scenario and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        comparison = leafspine.compare(SCENARIO, out=Path(folder) / "out")
        print("| " + " | ".join(HEAD) + " |")
        print("| ---: | --- |" + " ---: |" * (len(HEAD) - 2))
        groups: dict[tuple[float, str], list[pa.Table]] = {}
        for case in comparison.finished:
            load = dict(case.point)["workload.0.load"]
            flows = comparison.result(case).measured_flows
            groups.setdefault((float(load), case.variant), []).append(flows)
        for (load, variant), tables in sorted(groups.items(), key=lambda group: group[0][0]):
            print("| " + " | ".join(row(load, variant, pa.concat_tables(tables))) + " |")


if __name__ == "__main__":
    main()
