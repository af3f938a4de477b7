"""How many retransmissions were needless, and what they cost: the table in ``reordering.md``.

``python docs/reordering.py [FILE]`` runs a scenario, ``examples/reordering.toml``, and prints it, a
row a variant and load: sums and means over the seeds, of flows after the warm-up. ``python
docs/reordering.py --draw`` draws needless retransmissions against load, from the table as it is in
``reordering.md``.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import leafspine

PAGE = Path(__file__).with_name("reordering.md")
PICTURE = Path(__file__).with_name("images") / "reordering.png"
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


def needless(page: str) -> dict[str, list[tuple[float, float]]]:
    """Of each variant of the page's table, loads and needless retransmissions."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(HEAD) and cells[0].startswith("0."):
            share = float(cells[4] or 0) / 100
            curves.setdefault(cells[1], []).append((float(cells[0]), share * int(cells[3])))
    return curves


def draw() -> None:
    """Draw needless retransmissions against load."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    curves = needless(PAGE.read_text(encoding="utf-8"))
    balancers = list(dict.fromkeys(name.split(", ", 1)[0] for name in curves))
    figure, panels = pyplot.subplots(1, len(balancers), figsize=(9, 3.6), sharey=True)
    for balancer, panel in zip(balancers, panels, strict=True):
        for (name, points), mark in zip(
            ((n, p) for n, p in curves.items() if n.startswith(balancer)), "os^vD", strict=True
        ):
            loads, counts = zip(*points, strict=True)
            panel.plot(loads, counts, marker=mark, label=name.split(", ", 1)[1])
        panel.set(title=balancer, xlabel="load", yscale="symlog", ylim=(0, None))
        panel.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("needless retransmissions")
    panels[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=120, metadata={"Software": None})


def table(scenario: Path) -> list[str]:
    """The table's lines, from runs of ``scenario``."""
    with tempfile.TemporaryDirectory() as folder:
        comparison = leafspine.compare(scenario, out=Path(folder) / "out")
        groups: dict[tuple[float, str], list[pa.Table]] = {}
        for case in comparison.finished:
            load = dict(case.point)["workload.0.load"]
            flows = comparison.result(case).measured_flows
            groups.setdefault((float(load), case.variant), []).append(flows)
        lines = [HEAD, ("---:", "---", *["---:"] * (len(HEAD) - 2))]
        for (load, variant), tables in sorted(groups.items(), key=lambda group: group[0][0]):
            lines.append(row(load, variant, pa.concat_tables(tables)))
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def main() -> None:
    """Run the scenario and print the table, or draw it."""
    if sys.argv[1:] == ["--draw"]:
        draw()
    else:
        print("\n".join(table(Path(sys.argv[1]) if sys.argv[1:] else SCENARIO)))


if __name__ == "__main__":
    main()
