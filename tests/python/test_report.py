"""The report's first sentences, its panels, its tables; and the page in a real browser."""

import io
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import leafspine
import needs
from conftest import SCENARIO, VARIANTS
from leafspine import drawing, findings, graphics, plots, rendering, report_parts, style, tables
from leafspine.comparison_data import ComparisonData, Row
from leafspine.engine import ALL_FLOWS, Case
from leafspine.stats import estimate, paired_percent
from leafspine.tasks import Failure

SEEDS = (1, 2, 3, 4)


class Fake:
    """A comparison at one load, with the mean completion times that each variant has by seed."""

    has_jobs = False
    only_jobs = False
    summaries: tuple[dict[str, int], ...] = ()

    def __init__(
        self, values: dict[str, tuple[float, ...]], unfinished: dict[str, int] | None = None
    ) -> None:
        self.variants = tuple(values)
        self.points = ((("workload.0.load", 0.8),),)
        self.populated = (ALL_FLOWS,)
        self.seeds = SEEDS[: len(next(iter(values.values())))]
        self.cases = tuple(range(len(values) * len(self.seeds)))
        self.failures: tuple[Failure, ...] = ()
        first = next(iter(values.values()))
        self.by_name = {}
        for variant, found in values.items():
            other = None if variant == self.variants[0] else paired_percent(found, first)
            none = float((unfinished or {}).get(variant, 0))
            counts = {"flows": (100.0,) * len(found), "unfinished": (none,) * len(found)}
            for metric, column in {"fct_mean": found, **counts}.items():
                mean = estimate([value for value in column if value is not None])
                row = Row(variant, self.points[0], "all", metric, self.seeds, column, mean, other)
                self.by_name[variant, self.points[0], "all", metric] = row


def said(
    values: dict[str, tuple[float, ...]], unfinished: dict[str, int] | None = None
) -> list[str]:
    fake: ComparisonData = Fake(values, unfinished)  # type: ignore[assignment]
    return findings.paragraph(fake)


ECMP = (100.0, 110.0, 90.0, 105.0)


def times(share: float, noise: float) -> tuple[float, ...]:
    """ECMP's times so much, with something that differs from seed to seed."""
    return tuple(
        value * (share + noise * sign) for value, sign in zip(ECMP, (1, -1, 1, -1), strict=True)
    )


def test_the_best_is_called_so_with_those_that_do_not_differ() -> None:
    """Breaks if the winner is whoever has the lowest mean, or a share is another interval's."""
    found = said(
        {"ECMP": ECMP, "RPS": times(0.4, 0.03), "QDAPS": times(0.41, -0.03),
         "CONGA": times(0.8, 0.01), "LetFlow": times(0.98, 0.2), "Bad": times(1.5, 0.01)}
    )  # fmt: skip
    assert found == [
        "At load 0.8 RPS (−60 % [−65, −54]) and QDAPS (−59 % [−64, −53]) are best for flows, by "
        "mean completion time against ECMP; CONGA (−20 % [−22, −18]) also gains; Bad (+50 % "
        "[+48, +52]) is worse; the difference is not significant for LetFlow.",
        "All 24 runs finished, and every flow in them.",
    ]


def test_many_that_cannot_be_told_apart_are_not_all_best() -> None:
    """Breaks if noise makes a list of winners, the first variant among them."""
    noisy = {name: times(share, 0.3 * sign) for name, share, sign in
             (("RPS", 0.95, 1), ("DRB", 0.97, -1), ("QDAPS", 0.9, 1))}  # fmt: skip
    found = said({"ECMP": ECMP, **noisy, "CONGA": times(0.8, 0.01)})
    assert found[0].startswith("At load 0.8 CONGA (−20 % [−22, −18]) has the lowest mean comp")
    assert found[0].endswith("RPS, DRB and QDAPS do not differ significantly from it.")


def test_a_baseline_that_is_beaten_is_not_best() -> None:
    """Breaks if the lowest mean, which varies much, leaves in what a steadier variant beats."""
    found = said({"ECMP": ECMP, "RPS": times(0.75, 0.4), "CONGA": times(0.8, 0.01)})
    assert found[0].startswith("At load 0.8 RPS (−37 % [") and "and CONGA (−20 %" in found[0]
    assert "ECMP," not in found[0].split("best")[0], found[0]


def test_where_nothing_differs_nobody_wins() -> None:
    """Breaks if noise is told as a gain."""
    found = said({"ECMP": ECMP, "RPS": times(0.97, 0.1)})
    assert found[0] == "At load 0.8 no variant differs significantly from ECMP for flows."


def test_the_first_variant_may_be_the_best() -> None:
    """Breaks if what is compared with can only lose."""
    found = said({"ECMP": ECMP, "RPS": times(1.2, 0.01)})
    assert found[0].startswith("At load 0.8 ECMP is best for flows; RPS (+20 %")


def test_one_seed_says_nothing() -> None:
    """Breaks if the report of a single seed has a winner."""
    found = said({"ECMP": (1.0,), "RPS": (0.5,)})
    assert found[0].startswith("One seed gives no intervals")


def test_what_did_not_finish_is_said() -> None:
    """Breaks if the first paragraph praises a scheme whose flows did not end."""
    assert said({"ECMP": ECMP, "RPS": times(0.5, 0.01), "DRB": ECMP}, {"RPS": 3, "DRB": 1})[-1] == (
        "All 12 runs finished; flows did not finish (RPS: 12 of 400, DRB: 4 of 400): means of the "
        "others are too low."
    )
    fake = Fake({"ECMP": ECMP})
    fake.failures = (Failure(Case("", (), 1, "", (), ""), "no"),)
    assert findings.paragraph(fake)[-1].startswith("1 of 4 runs have no result")  # type: ignore[arg-type]


@pytest.mark.parametrize("seeds", [1, 4])
def test_no_complete_collective_is_said(seeds: int) -> None:
    """Breaks if a run of jobs that its end cuts off, all of them, has no word on its results, or
    one with a complete collective is said to have none."""
    values = ECMP[:seeds]
    fake = Fake({"ECMP": values, "RPS": values}, {"ECMP": 9, "RPS": 9})
    fake.has_jobs = fake.only_jobs = True
    point = fake.points[0]

    def count(variant: str, cut: float) -> None:
        none = (None,) * seeds
        columns = {
            "completion_mean": none,
            "collectives": (3.0,) * seeds,
            "cut_off": (cut,) * seeds,
        }
        for metric, column in columns.items():
            row = Row(variant, point, "collectives", metric, SEEDS[:seeds], column, None, None)
            fake.by_name[variant, point, "collectives", metric] = row

    count("ECMP", 3.0)
    count("RPS", 3.0)
    told = findings.paragraph(fake)  # type: ignore[arg-type]
    of = 3 * seeds
    assert f"At load 0.8 no collective is complete (ECMP: 0 of {of}, RPS: 0 of {of})." in told
    count("RPS", 2.0)
    assert not any("no collective" in text for text in findings.paragraph(fake))  # type: ignore[arg-type]


def test_messages_among_flows_are_said(many: Path, tmp_path: Path) -> None:
    """Breaks if messages of jobs count among flows in the first paragraph or the table of all
    flows, and nothing says so; or if it is said where all flows are messages, or none."""
    comparison = leafspine.compare(many, out=tmp_path / "out", plots=False)
    runs = len(comparison.summaries)
    for messages in (0, 20, 200):
        for summary in comparison.summaries:
            summary |= {"flows": 200, "messages": messages}
        said = f"f the {200 * runs:,} flows of all runs {runs * messages:,} are messages of jobs"
        told = f"O{said}." in findings.paragraph(comparison)
        noted = [f"; o{said}; " in table.note for table in tables.tables(comparison)]
        assert (told, noted[0]) == (messages == 20,) * 2
        assert not any(noted[1:])


def test_who_leaves_flows_unfinished_is_not_best() -> None:
    """Breaks if a variant is best or faster since its slow flows are in no mean, or if one that is
    slower even so is not called worse."""
    found = said(
        {"ECMP": ECMP, "Stuck": times(0.5, 0.01), "RPS": times(0.8, 0.01), "Bad": times(2, 0.01)},
        {"Stuck": 40, "Bad": 7},
    )
    assert found[0] == (
        "At load 0.8 RPS (−20 % [−22, −18]) is best for flows, by mean completion time against "
        "ECMP; Bad (+100 % [+98, +102]) is worse; Stuck (160 of 400 unfinished) cannot be compared "
        "with ECMP (0 of 400 unfinished) for flows."
    )
    found = said({"ECMP": ECMP, "Stuck": times(0.5, 0.01)}, {"Stuck": 1})
    assert found[0] == (
        "At load 0.8 Stuck (4 of 400 unfinished) cannot be compared with ECMP (0 of 400 "
        "unfinished) for flows."
    )


def test_a_first_variant_with_unfinished_flows_is_too_low() -> None:
    """Breaks if others are called worse than a mean that its slow flows are not in; those that are
    faster even so are."""
    found = said({"ECMP": ECMP, "RPS": times(0.8, 0.01), "DRB": times(1.2, 0.01)}, {"ECMP": 9})
    assert found[0] == (
        "At load 0.8 RPS (−20 % [−22, −18]) is best for flows, by mean completion time against "
        "ECMP; DRB (0 of 400 unfinished) cannot be compared with ECMP (36 of 400 unfinished) for "
        "flows."
    )


def test_a_variant_without_a_mean_is_named() -> None:
    """Breaks if a variant of which no flow has finished is passed over in silence."""
    none = (None,) * 4
    found = said({"ECMP": ECMP, "Dead": none, "RPS": times(0.8, 0.01)}, {"Dead": 100})  # type: ignore[dict-item]
    assert found[0].endswith("; Dead (400 of 400 unfinished) has no mean for flows.")
    found = said({"Dead": none, "RPS": ECMP}, {"Dead": 100})  # type: ignore[dict-item]
    assert found[0] == (
        "At load 0.8 Dead (400 of 400 unfinished), with which the others are compared, has no mean "
        "for flows."
    )


def test_tables_say_the_same_as_the_paragraph(many: Path, tmp_path: Path) -> None:
    """Breaks if a share in the first paragraph is not the table's."""
    comparison = leafspine.compare(many, out=tmp_path / "out")
    text = " ".join(findings.paragraph(comparison))
    row = comparison.by_name["LetFlow", comparison.points[-1], "short", "fct_mean"]
    assert row.difference is not None
    assert f"{row.difference.mean:+.0f}".replace("-", "−") in text


# Pictures and tables


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_panels_are_cut_between_their_labels(count: int) -> None:
    """Breaks if a panel of the report lacks a label, shows its neighbour's, the legend, or what is
    written below all."""
    with plots.settings():
        figure, all_axes = graphics.grid(count)
        for at, axes in enumerate(all_axes):
            axes.plot([0, 1], [at, 1e6], label="a")
            axes.plot([0, 1], [at, 2e6], label="b")
            axes.set(xlabel="time (s)", ylabel="a label", title=f"panel {at}")
        graphics.legend(figure, all_axes[0])
        figure.supxlabel("below all panels")
        _, png, _ = rendering.render(figure)
        boxes, size = rendering.panels(figure, png)
        raster = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        extents = [axes.get_tightbbox(raster) for axes in all_axes]
    assert len(boxes) == count
    for (left, top, right, bottom), extent in zip(boxes, extents, strict=True):
        assert left * size[0] <= extent.x0 + 1
        assert extent.x1 - 1 <= right * size[0]
        assert top * size[1] <= size[1] - extent.y1 + 2
        assert size[1] - extent.y0 - 2 <= bottom * size[1]
    legend = figure.legends[0].get_window_extent()
    assert all(top * size[1] >= size[1] - legend.y0 - 2 for _, top, _, _ in boxes)
    with Image.open(io.BytesIO(png)) as image:
        ink = np.asarray(image.convert("L")) < 200
    # The last rows of the lowest panels are white: no letter is cut.
    assert not ink[round(max(bottom for *_, bottom in boxes) * size[1]) - 3].any()


def test_each_name_of_a_legend_is_cut_with_its_line() -> None:
    """Breaks if a name beside a page's panels is cut, lacks its line, or shows the next one's."""
    with plots.settings():
        figure, [axes] = graphics.grid(1, across=1)
        for at in range(9):
            name = f"a variant {at}" + " more" * (at % 3)
            axes.plot([0, 1], [at, at], "o-", color=("r", "g", "b")[at % 3], label=name)
        graphics.legend(figure, axes)
        _, png, _ = rendering.render(figure)
        boxes = rendering.names(figure)
    with Image.open(io.BytesIO(png)) as image:
        picture = np.asarray(image.convert("RGB")).astype(int)
    height, width, _ = picture.shape
    assert len(boxes) == 9
    for at, (left, top, right, bottom) in enumerate(boxes):
        rows = slice(round(top * height), round(bottom * height))
        cut = picture[rows, round(left * width) : round(right * width)]
        # Nothing on its edges, and its own colour beside the letters' grey.
        for edge in (cut[0], cut[-1], cut[:, 0], cut[:, -1]):
            assert edge.min() > 200
        coloured = cut[np.ptp(cut, axis=2) > 100]
        assert len(coloured) > 20
        assert (coloured.argmax(axis=1) == at % 3).all()


def test_numbers_stand_below_each_other() -> None:
    """Breaks if 9.1 and 12 in a column have their points at different places."""
    assert report_parts.aligned(["9.12", "12", "1.5", "–", ""]) == [
        "9.12", "12\u2008\u2007\u2007", "1.5\u2007", "–", "",
    ]  # fmt: skip


def test_every_marker_and_line_has_its_mark() -> None:
    """Breaks if a scheme's mark in the tables is not that of the plots."""
    for name in style.REGISTRY:
        look = report_parts.look(style.of_scheme(name))
        assert look["colour"] == style.of_scheme(name).colour
        assert look["path"]
    assert set(report_parts.PATHS) == set(style.MARKERS)
    assert set(report_parts.DASHES) == set(style.LINES)


def test_marks_are_those_of_the_variants(many: Path, tmp_path: Path) -> None:
    """Breaks if two gaps of a scheme have the same mark in the report."""
    comparison = leafspine.compare(many, out=tmp_path / "out")
    report = comparison.write(plots=False).read_text()
    for variant, found in plots.styles(comparison).items():
        assert re.search(rf"--day:{found.colour};[^>]*>.*?</svg>{variant}", report, re.DOTALL), (
            variant
        )


# In a browser

CHROMIUM = needs.installed("chromium")


def screenshot(page: Path, width: int, height: int, dark: bool = False) -> "np.ndarray":
    """The page's pixels in Chromium, in a frame of that width (windows have a least width)."""
    frame = page.parent / "frame.html"
    frame.write_text(
        f'<meta name="color-scheme" content="light dark"><body style="margin:0">'
        f'<iframe src="{page.name}" style="width:{width}px;height:{height}px;border:0"></iframe>'
    )
    out = page.parent / "shot.png"
    words = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    words += [f"--window-size={max(width, 520)},{height}", f"--screenshot={out}"]
    # Not before the page's scripts have drawn, however slow the machine is.
    words += ["--virtual-time-budget=3000"]
    words += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", frame.as_uri()]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    with Image.open(io.BytesIO(out.read_bytes())) as image:
        return np.asarray(image.convert("RGB"))[:height, :width]


def dumped(page: Path, script: str, width: int) -> str:
    """What a script finds in the page, in a frame of this width."""
    probe = page.parent / "probe.html"
    probe.write_text(
        f'<iframe src="{page.name}" style="width:{width}px;height:900px;border:0"></iframe>'
        "<pre id=o></pre>"
        "<script>onload = () => { const d = frames[0].document;"
        f"o.textContent = 'FOUND ' + ({script}) + ' END' }}</script>"
    )
    words = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += ["--allow-file-access-from-files", "--virtual-time-budget=3000", "--dump-dom"]
    done = subprocess.run(
        [*words, probe.as_uri()], check=True, capture_output=True, text=True, timeout=120
    )
    found = re.search("FOUND (.*?) END", done.stdout)
    assert found, done.stdout[-500:]
    return found[1]


@pytest.mark.usefixtures("chromium")
def test_the_page_fits_a_screen_and_a_phone(tmp_path: Path) -> None:
    """Breaks if anything scrolls sideways at 1400 px, the page does at 400 px, or dark is light."""
    (tmp_path / "many.toml").write_text(SCENARIO + VARIANTS)
    comparison = leafspine.compare(tmp_path / "many.toml", out=tmp_path / "out")
    page = comparison.write()
    opened = page.read_text().replace("<details>", "<details open>")
    page.write_text(opened)
    wide = "[...d.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1 && "
    wide += "getComputedStyle(e).overflowX != 'visible').map(e => e.tagName).join()"
    assert dumped(page, wide, 1400) == ""
    sideways = "d.documentElement.scrollWidth - d.documentElement.clientWidth"
    assert [dumped(page, sideways, width) for width in (1400, 400)] == ["0", "0"]
    # Letters of a figure on a phone are at least three quarters of their size in print.
    scale = "[...d.querySelectorAll('.panel')].map(e => e.clientWidth / e.viewBox.baseVal.width)"
    scale = f"Math.min(...{scale})"
    assert float(dumped(page, scale, 400)) * report_parts.PIXELS / 96 > 0.75
    light, dark = (screenshot(page, 1400, 900, dark) for dark in (False, True))
    assert light.mean() > 200
    assert dark.mean() < 80


def test_a_saved_figure_knows_its_panels(many: Path, tmp_path: Path) -> None:
    """Breaks if a report that is written again, with no figure drawn, shows no panels."""
    comparison = leafspine.compare(many, out=tmp_path / "out")
    plot = next(plots.figures(comparison))
    saved = drawing.save(plot, tmp_path / "drawn")
    assert len(saved.panels) == 2
    comparison.write()
    first = (tmp_path / "out" / "report.html").read_text()
    comparison.write()
    assert (tmp_path / "out" / "report.html").read_text() == first
