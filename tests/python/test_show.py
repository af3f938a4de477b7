"""Tables, figures, the report."""

import json
import re
import resource
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import leafspine
from conftest import SCENARIO, VARIANTS, child_path
from leafspine import findings, graphics, plots, report_parts, style, tables
from leafspine.engine import Case
from leafspine.facts import Facts, Scheme
from leafspine.reproduce import drawing
from leafspine.stats import Estimate
from leafspine.tasks import Failure
from test_docs import real


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Iterator[leafspine.Comparison]:
    """Two variants, two loads, three seeds, with everything written."""
    folder = tmp_path_factory.mktemp("show")
    (folder / "many.toml").write_text(SCENARIO + VARIANTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", child_path())
        found = leafspine.compare(folder / "many.toml", out=folder / "out")
    found.write()
    yield found


@pytest.fixture
def report(comparison: leafspine.Comparison) -> str:
    """The report's HTML."""
    return (comparison.directory / "report.html").read_text()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Estimate(12.3456, 0.4012, 5), "12.35 ± 0.40"),
        (Estimate(1234.5, 56.7, 5), "1234 ± 57"),
        (Estimate(0.00123, 0.0002, 5), "0.00123 ± 0.00020"),
        (Estimate(3.2, 1e-16, 3), "3.2 ± 0"),
        (Estimate(12.3456, None, 1), "12.35"),
        (Estimate(5.0, 0.0, 3), "5 ± 0"),
        (Estimate(0.0, 0.0, 3), "0 ± 0"),
        (None, "–"),
    ],
)
def test_numbers_show_as_many_digits_as_they_have(value: Estimate | None, text: str) -> None:
    """Breaks if a table shows digits that the interval makes meaningless."""
    assert tables.in_words(value) == text


def test_percent_has_a_sign_and_an_interval() -> None:
    """Breaks if faster and slower look alike."""
    assert tables.percent(Estimate(-31.24, 3.8, 5)) == "−31.2 % [−35.0, −27.4]"
    assert tables.percent(Estimate(2.0, None, 1)) == "+2.0 %"
    assert tables.percent(None) == "–"


def test_without_a_percentage_there_is_the_difference() -> None:
    """Breaks if a difference to zero is a percentage, or has no unit or the wrong one."""
    change = Estimate(1234.0, 234.0, 5)
    assert tables.difference(None, change, "us") == "+1234 µs [+1000, +1468]"
    assert tables.difference(None, change, "ms", 1e-3) == "+1.23 ms [+1, +1.47]"
    assert tables.difference(None, Estimate(-2.0, None, 1), "") == "−2"
    assert tables.difference(Estimate(-31.24, 3.8, 5), change, "us").startswith("−31.2 %")
    assert tables.difference(None, None, "us") == "–"


def test_tables_have_every_class_and_the_unfinished(comparison: leafspine.Comparison) -> None:
    """Breaks if a class is left out or a table hides the flows that did not end."""
    found = {table.title: table for table in tables.tables(comparison)}
    assert list(found) == ["All flows", "Short flows", "Long flows", "Network"]
    for title in ("All flows", "Short flows", "Long flows"):
        assert "unfinished" in found[title].heads
        assert [row[:2] for row in found[title].rows] == [
            ("0.2", "ECMP"), ("0.2", "LetFlow"), ("0.8", "ECMP"), ("0.8", "LetFlow"),
        ]  # fmt: skip
    assert found["Short flows"].note.startswith("at most 100 KB")


def test_a_mean_over_fewer_seeds_says_so(many: Path, tmp_path: Path) -> None:
    """Breaks if a value of some of the seeds, or a difference, passes for one of all: here a run
    has no result, and in the file its row has what is shown."""
    made = leafspine.compare(many, out=tmp_path / "out")
    lost = next(case for case in made.cases if (case.variant, case.seed) == ("LetFlow", 2))
    found = replace(made, failures=(Failure(lost, "lost"),))
    rows = tables.tables(found)[0].rows
    assert rows[1][4].endswith(" (n = 2 of 3)") and rows[1][5].endswith("] (n = 2 of 3)")
    assert not any("n = " in cell for row in (rows[0], *rows[2:]) for cell in row)
    [written] = [
        row
        for row in found.table().to_pylist()
        if (row["variant"], row["workload.0.load"], row["group"], row["metric"])
        == ("LetFlow", 0.2, "all", "fct_mean")
    ]
    assert (written["seeds"], written["pairs"]) == (2, 2)
    assert report_parts._split(rows[1][4])[1].endswith("(n = 2 of 3)")
    assert report_parts._split("12.3 (n = 1 of 3)") == ("12.3", "(n = 1 of 3)")


def test_where_the_seed_changes_nothing_there_are_no_intervals(many: Path) -> None:
    """Breaks if one run that is made three times has an interval of zero width, and so a variant
    that is significantly better."""
    found = leafspine.compare(many, **{"run.fake_still": True})
    row = found.by_name["LetFlow", found.points[0], "all", "fct_mean"]
    assert row.estimate is not None and row.difference is not None
    assert (row.estimate.n, row.estimate.half) == (1, None)
    assert (row.difference.n, row.difference.low) == (1, None)
    assert "all 3 are one run without an interval" in tables.tables(found)[0].note
    assert any("the seed changes nothing here (ECMP" in text for text in found.warnings())
    told = findings.paragraph(found)
    assert told[0].startswith("At load 0.8 the seed changes nothing: all seeds are one run")
    assert " % [" not in " ".join(told)


def test_one_value_is_drawn_without_an_interval() -> None:
    """Breaks if a point of a single seed has a bar or a band of zero width, as if it were exact."""
    _figure, [axes] = graphics.grid(1)
    line = [Estimate(1.0, 0.5, 3), Estimate(2.0, None, 1), Estimate(3.0, 0.5, 3)]
    graphics.draw_line(axes, [0, 1, 2], line, "a", style.of_scheme("ecmp"))
    for edge in axes.get_lines()[1:]:
        assert np.isnan(edge.get_ydata()).tolist() == [False, True, False]
    plots._bar(axes, 0, Estimate(2.0, None, 1), "a", style.of_scheme("ecmp"))
    none = [Estimate(2.0, None, 1)]
    drawing._bar(axes, np.array([0.0]), none, 1, "a", style.of_scheme("ecmp"), log=True)
    ends = [line for bar in axes.containers for line in bar[1]]
    assert len(ends) == 4
    assert all(np.isnan(np.array(line.get_ydata(), float)).all() for line in ends)


def test_a_class_without_flows_is_not_shown(scenario: Path) -> None:
    """Breaks if tables and panels of nothing but dashes come out."""
    scenario.write_text(SCENARIO.replace('long = "1MB.."', 'huge = "1000MB.."'))
    comparison = leafspine.compare(scenario, seeds=2)
    assert [entry.name for entry in comparison.populated] == ["all", "short"]
    assert [table.title for table in tables.tables(comparison)][1:] == ["Short flows", "Network"]
    assert "huge" in comparison.table()["group"].to_pylist()


def test_one_variant_is_compared_with_nothing(scenario: Path) -> None:
    """Breaks if a table has empty columns about differences."""
    comparison = leafspine.sweep(scenario, {"workload.0.load": [0.2, 0.4]}, seeds=2)
    for table in tables.tables(comparison):
        assert table.heads[0] == "load"
        assert "variant" not in table.heads
        assert not any(head.startswith("vs") for head in table.heads)
        assert all(len(row) == len(table.heads) for row in table.rows)


def test_written_tables_hold_the_same_numbers(
    comparison: leafspine.Comparison,
) -> None:
    """Breaks if the Markdown and the terminal differ, or CSV lacks a metric."""
    markdown = (comparison.directory / "tables.md").read_text()
    for table in tables.tables(comparison):
        for row in table.rows:
            assert "| " + " | ".join(row) + " |" in markdown
    csv = (comparison.directory / "tables.csv").read_text().splitlines()
    assert len(csv) == 1 + comparison.table().num_rows


def test_every_figure_has_its_three_files(comparison: leafspine.Comparison) -> None:
    """Breaks if a figure lacks one for paper, screen or dark screen, or has an empty one."""
    written = [
        path for path in (comparison.directory / "plots").iterdir() if path.name != "figures.json"
    ]
    names = {path.name for path in written}
    stems = [f"fct-{name}" for name in ("all", "short", "long")]
    stems += [f"{stem}-relative" for stem in stems]
    stems += ["queue", "reordering", "utilisation", "goodput"]
    stems += [f"{name}-load-{load}" for name in ("slowdown", "cdf", "ccdf") for load in (0.2, 0.8)]
    assert names == {f"{stem}{end}" for stem in stems for end in (".pdf", ".png", "-dark.png")}
    for path in written:
        assert path.stat().st_size > 2000, path.name


def test_a_figure_that_does_not_fit_on_the_disk_is_said_so(
    comparison: leafspine.Comparison, tmp_path: Path
) -> None:
    """Breaks if Matplotlib writes the file: a full disk becomes an AttributeError of its own."""
    plot = next(plots.figures(comparison))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(leafspine.WriteError, match=r"\.pdf: File too large; raise"):
            plots.save(plot, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_axes_have_units(comparison: leafspine.Comparison) -> None:
    """Breaks if a figure leaves the reader to guess what its axis counts."""
    for plot in plots.figures(comparison):
        for axes in plot.figure.axes:
            assert axes.get_xlabel()
            if "goodput" in plot.name:
                assert "(Mb/s)" in axes.get_ylabel() or "(Gb/s)" in axes.get_ylabel()
            if "fct" in plot.name or "cdf" in plot.name:
                assert re.search(r"\((ms|µs|s|%)\)", axes.get_ylabel() + axes.get_xlabel())


def test_a_comparison_without_numbers_swept_stands_side_by_side(scenario: Path) -> None:
    """Breaks if only sweeps over numbers can be drawn."""
    comparison = leafspine.compare(scenario, lb=["ecmp", "rps"], seeds=2)
    names = [plot.name for plot in plots.figures(comparison)]
    assert "fct-all" in names
    assert "cdf" in names


def test_a_swept_string_with_a_unit_is_an_axis() -> None:
    """Breaks if thresholds are drawn as words, or 100 before 20."""
    points = [(("aqm.threshold", text),) for text in ("100pkt", "20pkt")]
    assert plots._axis_key(points) == "aqm.threshold"
    assert plots._axis_key([(("a", "20pkt"),), (("a", "30KB"),)]) is None
    assert plots._axis_key([(("a", "800Mbps"),), (("a", "1Gbps"),)]) == "a"


def test_two_swept_keys_make_a_figure_for_each_of_the_others(scenario: Path) -> None:
    """Breaks if points of two sweeps are joined by one line."""
    comparison = leafspine.sweep(
        scenario, {"workload.0.load": [0.2, 0.6], "aqm.threshold": ["20pkt", "65pkt"]}
    )
    axes = plots.axes_of(comparison)
    assert [axis.suffix for axis in axes] == ["-threshold-20pkt", "-threshold-65pkt"]
    assert all(axis.values == (0.2, 0.6) for axis in axes)


def test_styles_do_not_depend_on_the_company() -> None:
    """Breaks if a scheme changes its colour when another joins the figure."""
    alone = style.of_variants([("LetFlow", "letflow")])
    together = style.of_variants([("ECMP", "ecmp"), ("x", "unknown"), ("LetFlow", "letflow")])
    assert alone["LetFlow"] == together["LetFlow"]
    assert style.of_scheme("unknown") == style.of_scheme("unknown")


def test_registered_styles_are_pinned_and_distinct() -> None:
    """Breaks if a figure of last year no longer matches, or two schemes look alike in print."""
    found = [style.of_scheme(name) for name in style.REGISTRY]
    assert len({(entry.colour, entry.marker) for entry in found}) == len(found)
    assert style.of_scheme("ecmp") == style.Style("#333333", "o", "solid")
    assert style.of_scheme("letflow") == style.Style("#0072B2", "s", "solid")
    assert style.of_scheme("qdaps") == style.Style("#D55E00", "D", "solid")
    assert style.of_scheme("wcmp") == style.Style("#56B4E9", "X", "solid")


def test_no_two_schemes_have_one_line() -> None:
    """Breaks if a figure with any two schemes shows one curve for both; those that are not in the
    list, too."""
    places = ("load_balancer", "aqm", "hold", "host_edge")
    asked = "import json; from leafspine import engine; print(json.dumps(engine.schemes()))"
    schemes = json.loads(real("-c", asked).stdout)
    names = {entry["name"] for entry in schemes if entry["place"] in places}
    assert {"ars", "conweave", "reps"} <= names
    found = [style.of_scheme(name) for name in names | set(style.REGISTRY)]
    assert len({(each.colour, each.line, each.marker) for each in found}) == len(found)


# Schemes that a paper compares with each other: in its figures, or by a common subject.
TOGETHER = (
    ("ecmp", "letflow", "rps", "qdaps", "qdaps-star"),
    ("ecmp", "letflow", "rps", "drb", "presto", "tam"),
    ("ecmp", "letflow", "conga", "hula", "drill", "qall", "qall-flowlet", "rps"),
    ("qall", "qall-linear", "qall-poly2", "qall-poly3"),
    ("ecmp", "a-ecn", "flex", "aq-car"),
    ("droptail", "ecn-threshold", "abq"),
    ("droptail", "ecn-threshold", "a-ecn", "red", "codel", "tcn", "mq-ecn", "ml-ecn"),
    ("ecmp", "letflow", "rps", "drb", "presto", "conga", "qdaps"),
    ("ecmp", "letflow", "conga", "drill", "ars", "conweave", "reps"),
)


@pytest.mark.parametrize("names", TOGETHER)
def test_schemes_of_a_figure_differ_in_colour_and_in_marker(names: tuple[str, ...]) -> None:
    """Breaks if QDAPS* has RPS's colour, or a print without colour shows two squares."""
    found = [style.of_scheme(name) for name in names]
    assert len({entry.colour for entry in found}) == len(names)
    assert len({entry.marker for entry in found}) == len(names)
    assert len({entry.hatch for entry in found}) == len(names)


def qall(variant: str) -> Scheme:
    return Scheme("qall", {"variant": variant, "granularity": "packet"})


@pytest.mark.parametrize(
    ("facts", "scheme"),
    [
        (Facts(load_balancer=Scheme("ecmp"), host_edge=Scheme("flex")), "flex"),
        (Facts(load_balancer=Scheme("aq-car"), host_edge=Scheme("aq-car")), "aq-car"),
        (Facts(load_balancer=Scheme("ecmp"), hold=Scheme("abq")), "abq"),
        (Facts(load_balancer=Scheme("ecmp")), "ecmp"),
        (Facts(load_balancer=qall("poly2")), "qall-poly2"),
        (Facts(load_balancer=qall("online")), "qall"),
        (Facts(), "mine"),
        (Facts(load_balancer=Scheme("ecmp"), aqm=Scheme("red")), "ecmp"),
    ],
)
def test_a_figure_is_of_what_steers(facts: Facts, scheme: str) -> None:
    """Breaks if Hermes is drawn as the balancer that obeys it, or a variant as its scheme."""
    assert plots.scheme_of(Case("Mine", (), 1, "", (), "", facts=facts)) == scheme


@pytest.mark.parametrize(
    ("variant", "manager", "scheme"),
    [
        ("A-ECN", "a-ecn", "a-ecn"),
        ("DropTail", "droptail", "droptail"),
        ("ECN", "ecn-threshold", "ecn-threshold"),
        ("ECMP", "droptail", "ecmp"),
    ],
)
def test_a_variant_named_after_its_queue_manager_is_drawn_as_that(
    variant: str, manager: str, scheme: str
) -> None:
    """Breaks if A-ECN, which leaves the paths to ECMP, has ECMP's colour."""
    facts = Facts(load_balancer=Scheme("ecmp"), aqm=Scheme(manager))
    assert plots.scheme_of(Case(variant, (), 1, "", (), "", facts=facts)) == scheme


@pytest.mark.parametrize(
    ("low", "high"), [(0.9, 1.2e6), (3.0, 7e4), (110.0, 190.0), (2e-5, 0.3), (9.0, 120.0), (1, 2)]
)
def test_a_logarithmic_axis_can_be_read(low: float, high: float) -> None:
    """Breaks if an axis has one tick, or so many that their numbers overlap."""
    ticks = graphics.log_ticks(low, high)
    assert 3 <= len(ticks) <= 9
    assert all(0.999 * low <= tick <= 1.001 * high for tick in ticks)


def test_a_wide_band_does_not_flatten_the_lines() -> None:
    """Breaks if an interval of three seeds makes all that is drawn a line at the bottom."""
    axes = Figure().subplots()
    found: list[Estimate | None] = [Estimate(10.0, 500.0, 3), Estimate(20.0, 1.0, 3)]
    graphics.draw_line(axes, [1, 2], found, "a", style.of_scheme("ecmp"))
    graphics.from_zero(axes)
    assert axes.get_ylim() == (0, pytest.approx(42.4))


def test_text_keeps_its_size_in_print() -> None:
    """Breaks if a figure is wider than a page's text: its letters would shrink in print."""
    for count in range(1, 10):
        figure, axes = graphics.grid(count)
        assert len(axes) == count
        assert figure.get_figwidth() in (graphics.COLUMN, graphics.TEXT)
    sizes = style.matplotlib_settings()
    assert all(sizes[key] >= 8 for key in sizes if key.endswith(("labelsize", "fontsize")))


def test_fonts_are_embedded_as_truetype(comparison: leafspine.Comparison) -> None:
    """Breaks if a publisher refuses a figure for its Type 3 fonts."""
    for path in (comparison.directory / "plots").glob("*.pdf"):
        assert b"/FontFile2" in path.read_bytes()
        assert b"/Type3" not in path.read_bytes()


def test_variants_of_one_scheme_are_shades_of_its_colour() -> None:
    """Breaks if two gaps of LetFlow are the same blue, or look like two schemes."""
    pairs = [(f"gap {gap}", "letflow") for gap in range(6)]
    found = list(style.of_variants(pairs).values())
    assert found[0] == style.of_scheme("letflow")
    assert len({entry.colour for entry in found[:3]}) == 3
    assert len({(entry.marker, entry.line) for entry in found}) == 6
    for entry in found:  # all are blue
        red, green, blue = to_rgb(entry.colour)
        assert blue > green > red
    greys = [
        entry.colour for entry in style.of_variants((str(n), "ecmp") for n in range(3)).values()
    ]
    assert len(set(greys)) == 3


def plots_of(report: str) -> Iterator[str]:
    """The figures of a page."""
    yield from re.findall("<figure>.*?</figure>", report, re.DOTALL)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]


def test_the_report_opens_offline(report: str) -> None:
    """Breaks if the report needs a network, a script or another file."""
    parser = _Links()
    parser.feed(report)
    assert parser.links
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in parser.links)
    assert not parser.tags & {"script", "link", "iframe", "object"}
    pictures = [link for link in parser.links if link.startswith("data:")]
    assert len(pictures) == 2 * len(list(plots_of(report)))  # by day and by night
    assert not re.search(r"https?:|@import|url\(", report)


def tables_shown(report: str) -> list[list[list[str]]]:
    """The cells' texts, row by row, of each table in the page."""
    spaces = str.maketrans("", "", "\u2007\u2008")
    return [
        [
            [
                " ".join(re.sub("<[^>]*>", "", cell).translate(spaces).split())
                for cell in re.findall("<td.*?>(.*?)</td>", row, re.DOTALL)
            ]
            for row in re.findall("<tr.*?>(.*?)</tr>", body, re.DOTALL)
        ]
        for body in re.findall("<tbody>(.*?)</tbody>", report, re.DOTALL)
    ]


def test_the_report_has_all_numbers_and_figures(
    comparison: leafspine.Comparison, report: str
) -> None:
    """Breaks if a cell of a table, a figure, a seed or the scenario is missing."""
    for table, shown in zip(tables.tables(comparison), tables_shown(report), strict=False):
        for row, cells in zip(table.rows, shown, strict=True):
            assert cells == [cell.replace(" %", "") for cell in row]
    for plot in plots.figures(comparison):
        assert f'aria-label="{plot.title}, panel 1"' in report
    for case in comparison.finished:
        assert case.key in report
        assert comparison.summary(case)["trace_hash"] in report
    assert "[[variant]]" in report


def test_the_report_says_how_to_run_it_again(scenario: Path, tmp_path: Path) -> None:
    """Breaks if what was set from Python or the command line is not in the command."""
    comparison = leafspine.compare(scenario, lb=["rps"], out=tmp_path / "out", aqm__x="40pkt")
    html = comparison.write().read_text()
    assert "--set aqm.x=40pkt" in html
    assert "load_balancer.scheme" in html


def test_text_from_the_scenario_is_escaped(tmp_path: Path) -> None:
    """Breaks if a variant's name can carry markup or mathematics into report and figures."""
    name = "<script>alert('$^$')</script>"
    path = tmp_path / "evil.toml"
    variant = f'\n[[variant]]\nname = "{name}"\nset = {{ "load_balancer.scheme" = "rps" }}\n'
    path.write_text(SCENARIO + variant + variant.replace(name, "_hidden"))
    comparison = leafspine.compare(path, out=tmp_path / "out")
    html = comparison.write().read_text()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
