"""Figures of one run: probes over time, marks where links change, the fabric drawn."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import leafspine
from conftest import SCENARIO, VARIANTS
from leafspine import drawing, fabric, files, graphics, heat, link_changes, probe_kinds, timelines

Cli = Callable[..., tuple[int, str, str]]

MS = 10**9

UNCHANGED = dict.fromkeys(("rate_bps", "delay_ps", "loss", "up", "flap")) | {"restores": False}
CHANGES = [
    {**UNCHANGED, "at_ps": 10 * MS, "link": "leaf0-spine1", "rate_bps": 2 * 10**9},
    {
        **UNCHANGED,
        "at_ps": 2 * MS,
        "link": "leaf1-spine0",
        "loss": 0.01,
        "flap": {"every_ps": 5 * MS, "down_for_ps": MS, "times": 2},
    },
    {**UNCHANGED, "at_ps": 12 * MS, "link": "leaf1-spine0", "loss": 0.0, "restores": True},
]


def leaf_spine(leaves: int, spines: int, hosts: int) -> list[str]:
    """The ports' names of a fabric, with two links between a leaf and a spine."""
    pairs = [(f"leaf{a}", f"spine{b}", tail) for a in range(leaves) for b in range(spines)
             for tail in ("", "#1")]  # fmt: skip
    pairs += [(f"host{a * hosts + b}", f"leaf{a}", "") for a in range(leaves) for b in range(hosts)]
    return [f"{x}-{y}{tail}" for a, b, tail in pairs for x, y in ((a, b), (b, a))]


def three_tiers() -> list[str]:
    """A host below three switches."""
    nodes = ["host0", "edge0", "agg0", "core0"]
    return [f"{x}-{y}" for a, b in itertools.pairwise(nodes) for x, y in ((a, b), (b, a))]


def test_changes_are_those_of_the_run() -> None:
    """Breaks if a figure does not mark when a link slowed down or flapped."""
    found = link_changes.of_run({"link_changes": CHANGES})
    assert [(change.time_ps // MS, change.text, change.restores) for change in found] == [
        (2, "leaf1-spine0 loss 0.01", False),
        (2, "leaf1-spine0 down", False),
        (3, "leaf1-spine0 up", True),
        (7, "leaf1-spine0 down", False),
        (8, "leaf1-spine0 up", True),
        (10, "leaf0-spine1 2 Gb/s", False),
        (12, "leaf1-spine0 loss 0", True),
    ]
    assert link_changes.of_run({}) == []


def series(ports: int, samples: int) -> pa.Table:
    """A queue probe's rows: port 0 has the longest queue, with one peak."""
    time = np.repeat(np.arange(samples) * 10**6, ports).astype(np.uint64)
    port = np.tile(np.arange(ports), samples)
    packets = (ports - port).astype(np.uint64)
    packets[samples // 2 * ports] = 999
    names = [f"leaf0-spine{at}" for at in port]
    columns = {"time_ps": time, "port": names, "packets": packets, "bytes": packets * 1500}
    return pa.table(columns)


def test_the_longest_queues_have_a_line_of_their_own() -> None:
    """Breaks if forty ports are forty colours, or the interesting ones are grey."""
    figure = timelines.queue(series(40, 10), [])
    named = [line.get_label() for line in figure.axes[0].get_lines()]
    named = [name for name in named if not str(name).startswith("_")]
    assert named == [*(f"leaf0-spine{at}" for at in range(7)), "33 others"]


def test_who_drops_and_marks_nothing_has_a_line() -> None:
    """Breaks if ports are chosen by their marks alone: of a run without marks the ports that drop
    are grey, and names of ports at which nothing happened are in the legend."""
    columns = series(40, 10).drop_columns(["packets", "bytes"])
    which = np.tile(np.arange(40), 10)
    drops = columns.append_column("drops", pa.array(np.where(which == 30, 4, 0)))
    table = drops.append_column("marks", pa.array(np.where(which == 20, 9, 0)))
    figure = timelines.signals(table, [])
    names = [str(line.get_label()) for line in figure.axes[0].get_lines()]
    shown = [name for name in names if not name.startswith("_")]
    assert shown == ["leaf0-spine20", "leaf0-spine30", "38 others"]


def test_what_never_happened_is_said() -> None:
    """Breaks if a run without a drop has an empty panel, which might be one that failed."""
    table = series(3, 10)
    zero = table.set_column(table.schema.get_field_index("bytes"), "bytes", pa.array([0] * 30))
    packets, kilobytes = timelines.queue(zero, []).axes
    assert [text.get_text() for text in packets.texts] == []
    assert [text.get_text() for text in kilobytes.texts] == ["none at any time"]


def test_no_peak_is_left_out() -> None:
    """Breaks if a long series is thinned to samples between the peaks."""
    figure = timelines.queue(series(1, 9001), [])
    line = figure.axes[0].get_lines()[0]
    assert len(line.get_ydata()) <= timelines.MOST_POINTS
    assert max(line.get_ydata()) == 999


def test_the_last_samples_are_drawn() -> None:
    """Breaks if what is left over after the last whole step of samples is not drawn: a queue that
    grows at the very end."""
    values = np.zeros(2 * timelines.MOST_POINTS + 1)
    values[-1] = 99
    when, what = timelines.thinned(np.arange(len(values)), values)
    assert len(what) <= timelines.MOST_POINTS
    assert (when[-1], what[-1]) == (len(values) - 1, 99)


def test_marks_stand_where_links_change() -> None:
    """Breaks if a mark is at another time, or the names of close ones cover each other."""
    at = [link_changes.Change(time, "leaf0-spine1", "down") for time in (10**6, 2 * 10**6)]
    figure = timelines.queue(series(1, 100), at)
    axes = figure.axes[0]
    dashed = [line.get_xdata()[0] for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert axes.get_xlim()[1] < 200
    assert dashed == [1.0, 2.0]
    assert [text.get_text() for text in axes.texts] == ["leaf0-spine1 down"]


def test_paths_are_of_data_alone() -> None:
    """Breaks if ACKs, which go the other way, are drawn as a flow's path."""
    columns = {
        "time_ps": [1, 2, 3, 4],
        "port": ["leaf0-spine0", "leaf0-spine1", "leaf0-spine0", "leaf0-spine2"],
        "flow": [3, 3, 5, 5],
        "segment": [0, 1, 0, 0],
        "flags": [64, 64, 64, 2],
    }
    figure = timelines.paths(pa.table(columns), [])
    axes = figure.axes[0]
    drawn = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    assert [list(line.get_ydata()) for line in drawn] == [[0, 1], [0]]


@pytest.mark.parametrize("kind", probe_kinds.COLUMNS)
def test_each_kind_of_probe_is_known_by_its_columns(kind: str) -> None:
    """Breaks if one kind's table is drawn as another's."""
    table = pa.table({name: [0] for name in (*probe_kinds.COLUMNS[kind], "time_ps")})
    assert probe_kinds.kind_of(table) == kind
    assert set(timelines.MAKERS) == set(probe_kinds.COLUMNS)


# The fabric


@pytest.mark.parametrize(
    ("names", "tiers", "links"),
    [
        (leaf_spine(3, 2, 4), 3, 24),
        (["host0-switch0", "switch0-host0", "host1-switch0", "switch0-host1"], 2, 2),
        (three_tiers(), 4, 3),
    ],
)  # fmt: skip
def test_a_fabric_is_found_in_its_ports_names(names: list[str], tiers: int, links: int) -> None:
    """Breaks if a topology is drawn with links missing, or a switch among the hosts."""
    found = fabric.of_ports(pa.table({"name": names}))
    assert found.tiers == tiers
    assert len(found.links) == links
    ports = sorted(port for link in found.links for port in (link.up, link.down))
    assert ports == list(range(len(names)))
    for link in found.links:
        low, high = found.nodes[link.lower], found.nodes[link.upper]
        assert low.tier < high.tier
        assert names[link.up].startswith(f"{low.name}-{high.name}")
    places = {(node.x, node.y) for node in found.nodes}
    assert len(places) == len(found.nodes)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places)


def test_a_busy_link_is_red() -> None:
    """Breaks if the drawing's colours are those of other links."""
    names = leaf_spine(2, 2, 2)
    shares = [0.0] * len(names)
    shares[names.index("leaf1-spine0")] = 1.0
    figure = heat.draw(pa.table({"name": names}), shares)
    [lines] = figure.axes[0].collections
    found = fabric.of_ports(pa.table({"name": names}))
    [place] = [one for one in found.links if names[one.up] == "leaf1-spine0"]
    # The fullest is drawn last, above all others.
    assert tuple(lines.get_colors()[-1]) == heat.HEAT(1.0)
    (x, y), _ = lines.get_segments()[-1]
    assert abs(x - found.nodes[place.lower].x) < 0.01
    assert y == found.nodes[place.lower].y


def test_a_paused_link_is_red() -> None:
    """Breaks if the drawing of pauses colours other links than those paused, if red is not the
    longest of all drawings, or if a share is not of the window."""
    names = leaf_spine(2, 2, 2)
    times = [0] * len(names)
    times[names.index("host3-leaf1")] = 30
    ports = pa.table({"name": names, "pause_ps": pa.array(times, pa.uint64())})
    shares = heat.paused_shares(ports, 120)
    assert shares[names.index("host3-leaf1")] == 0.25
    assert sum(shares) == 0.25
    halves = [share / 2 for share in shares]
    figure = heat.paused([("one", ports, shares), ("two", ports, halves)])
    tops = [tuple(axes.collections[0].get_colors()[-1]) for axes in figure.axes]
    assert tops == [heat.HEAT(1.0), heat.HEAT(0.5)]
    assert [axes.get_title() for axes in figure.axes] == ["one", "two"]
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()][-1] == "25 %"
    assert heat.paused([("", ports, [0.0] * len(names))]).axes, "nothing was paused"


def test_labels_are_not_crowded() -> None:
    """Breaks if tick labels, titles or a legend's names lie over each other."""
    _, [axes, _, _] = graphics.grid(3)
    names = [f"{size} KB" for size in range(100, 110)]
    shown = [name for name in graphics.spaced(axes, names) if name]
    assert 2 <= len(shown) <= 5
    assert shown[-1] == names[-1]
    text = "medium flows (above 100 KB, at most 1 MB)"
    with drawing.settings():
        figure, panels = graphics.grid(3)
        for axes in panels:
            graphics.title(axes, text)
        figure.canvas.draw()
    boxes = [axes.title.get_window_extent() for axes in panels]
    assert panels[0].get_title() == text.replace(" (", "\n(")
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    assert boxes[-1].x1 < figure.bbox.x1
    _, panels = graphics.grid(2)
    graphics.title(panels[0], text)
    assert panels[0].get_title() == text
    figure, [axes] = graphics.grid(1)
    for at in range(4):
        axes.plot([1], [1], label=f"a very long name of a variant {at}")
    graphics.legend(figure, axes)
    assert figure.legends[0]._ncols == 1  # type: ignore[attr-defined]


# The command


def test_plot_draws_a_run(cli: Cli, scenario: Path) -> None:
    """Breaks if the command draws nothing, or the run's directory is then not its own any more."""
    assert cli("run", scenario, "--out", "out")[0] == 0
    code, out, err = cli("plot", "out")
    assert code == 0, err
    assert out.startswith("Use of the links: out/plots/fabric.pdf, fabric.png\n")
    assert {path.name for path in Path("out/plots").iterdir()} >= {"fabric.pdf", "fabric.png"}
    assert files.unknown(Path("out")) == []
    assert cli("run", scenario, "--out", "out")[0] == 0


def test_plot_draws_the_first_seeds_of_a_comparison(cli: Cli, tmp_path: Path) -> None:
    """Breaks if a comparison's runs are drawn into one another's files, or all of them are."""
    (tmp_path / "many.toml").write_text(SCENARIO + VARIANTS)
    assert cli("compare", "many.toml", "--out", "out", "--no-plots")[0] == 0
    code, _, err = cli("plot", "out", "--out", "drawn")
    assert code == 0, err
    found = leafspine.load("out")
    assert isinstance(found, leafspine.Comparison)
    first = {case.key for case in found.cases if case.seed == 1}
    assert {path.name for path in Path("drawn").iterdir()} == first


def test_plot_of_something_else_is_refused(cli: Cli) -> None:
    """Breaks if a wrong directory ends in a traceback, or with success."""
    code, out, err = cli("plot", ".")
    assert (code, out) == (2, "")
    assert "no finished run and no comparison" in err
