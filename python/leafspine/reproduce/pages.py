"""The output of a reproduction: a page per figure, the scorecard over all, and one HTML report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from leafspine import engine, files, quantities
from leafspine.labels import point_label
from leafspine.report_parts import picture
from leafspine.reproduce import metrics, strips
from leafspine.reproduce.data import Data
from leafspine.reproduce.drawing import scaled
from leafspine.reproduce.figures import Figure, Panel, Paper
from leafspine.reproduce.on_linux import Sides
from leafspine.reproduce.verdicts import Judged, Verdict
from leafspine.saved import Saved
from leafspine.tables import in_words

SHOWN = (
    Verdict.REPRODUCED,
    Verdict.EXCEEDS,
    Verdict.DIRECTION,
    Verdict.CONTRADICTS,
    Verdict.NOT,
    Verdict.UNTESTABLE,
    Verdict.MISSING,
)

ORDERS = """Square brackets hold 95 % intervals, over seeds unless the figure says that they are
over batches of a run's flows. "A to B" is the difference in percent of
the mean of both, so between -200 and +200. Where a claim makes many comparisons those that decide
are shown, and all of them on the figure's page. "Largest of 9" has been chosen among nine: of nine
comparisons of what does not differ, one has the claim's sign with its whole interval by chance in
up to 22.5 % of cases (2.5 % for each). Where intervals so wide that all nine hold at once would
give another verdict, that one is said. "Ideal fabric": the same flows with links between
switches that hardly queue, against the scheme that the claim compares with. "Out of reach": the
claim needs more than that. "No bound": the paper's system has more than that, as short flows may
that gain at the others' cost or at their hosts' links."""


OPEN = """Not reproduced: what was tried and what came of it, what the verdict hinges on, what would
settle it. Differences are those of the claim's test."""


class Sensitive(NamedTuple):
    """A claim under another setting."""

    setting: str
    judged: Judged
    as_read: Judged
    """The same of the runs as the paper is read, at these points and with these seeds."""
    extent: str
    """Which those are, in words."""


SENSITIVE_HEADS = ("claim", "under", "run at", "as read, there", "verdict", "found")


def sensitive_rows(page: "Page") -> list[tuple[str, ...]]:
    """A row a claim and setting."""
    return [
        (j.claim.id, name, extent, read.verdict.words, j.verdict.words, j.found)
        for name, j, read, extent in page.sensitive
    ]


@dataclass(frozen=True)
class Page:
    """A figure with its verdicts, problems and remarks."""

    figure: Figure
    data: Data
    judged: tuple[Judged, ...]
    sensitive: tuple[Sensitive, ...]
    picture: Saved | None
    command: str
    size: str
    """Scale and seeds, in words."""
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """What the engine says of the runs, as far as they were made here."""
    left_out: bool = False
    """Whether there would be a picture without ``--no-plots``."""
    on_linux: tuple[Sides, ...] = ()
    """Claims with real hosts."""


@dataclass(frozen=True)
class Chapter:
    """A paper, its pages, and all its claims with their verdicts."""

    paper: Paper
    pages: tuple[Page, ...]
    judged: tuple[Judged, ...]

    def count(self, verdict: Verdict) -> int:
        """How many claims have a verdict."""
        return sum(entry.verdict == verdict for entry in self.judged)


@dataclass(frozen=True)
class Grid:
    """A table of text."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def grids(page: Page) -> list[Grid]:
    """The numbers of the panels of kind ``table``."""
    tables = [parts for parts in page.figure.by_name() if parts[0].kind == "table"]
    return [_grid(parts, page.data) for parts in tables]


def _grid(parts: Sequence[Panel], data: Data) -> Grid:
    """A row a variant; a column each set of runs or metric and point of the sweep."""
    first = parts[0]
    unit, label = metrics.unit_and_label(first.metric)
    scale, unit = scaled(unit, first.unit)
    shown = [(part, point) for part in parts for point in data.points(part.runs, part.at)]
    words = [(part.label, point_label(point)) for part, point in shown]
    heads = ("", *(", ".join(word for word in pair if word) or label for pair in words))
    variants = dict.fromkeys(
        variant for part in parts for variant in part.variants or data.variants(part.runs)
    )
    rows = tuple(
        (
            variant,
            *(
                in_words(data.mean((part.runs, variant, point), part.metric), scale)
                for part, point in shown
            ),
        )
        for variant in variants
    )
    several = len({part.metric for part in parts}) > 1
    label = first.y_label or ("" if several else label)
    title = ": ".join(word for word in (f"({first.name}) {first.title}", label) if word)
    return Grid(quantities.with_unit(title, unit), heads, rows)


def markdown(page: Page) -> str:
    """A figure's page."""
    figure = page.figure
    lines = [f"# {figure.title}", "", f"{figure.place}. {page.size}.", ""]
    if page.picture is not None:
        lines += [f"![{figure.title}]({page.picture.png.name})", ""]
    if page.left_out:
        lines += ["Its picture was left out (`--no-plots`).", ""]
    for grid in grids(page):
        lines += [f"{grid.title}", "", *_table(grid.heads, grid.rows), ""]
    if page.judged:
        lines += ["## Claims", "", _verdicts(page.judged), "", *_claims(page.judged), ""]
        lines += _open(page.judged)
    if page.sensitive:
        lines += ["## Where the outcome hinges on what is not stated", ""]
        lines += [*_table(SENSITIVE_HEADS, sensitive_rows(page)), ""]
    if page.on_linux:
        lines += ["## With Linux kernels as hosts", "", *_with_kernels(page.on_linux)]
    for title, texts in (("Assumptions", figure.assumptions), ("Notes", figure.notes)):
        if texts:
            lines += [f"## {title}", "", *(f"- {text}" for text in texts), ""]
    if warnings := page.problems + page.remarks:
        lines += ["## Warnings", "", *(f"- {text}" for text in warnings), ""]
    lines += ["## Command", "", "```sh", page.command, "```", ""]
    return "\n".join(lines)


KERNEL_HEADS = (
    "claim",
    *("the model's hosts", "the model's hosts, profile linux", "Linux kernels"),
    *("model found", "profile linux found", "kernels found"),
)


PROFILE = """With the profile linux the model's hosts use a kernel's TCP settings and the paper's
congestion control, and none of the paper's other settings. What changes with the profile is due to
settings; what changes only with kernels is due to how real hosts behave, or to the model's distance
from them (docs/linux.md).""".replace("\n", " ")


def kernel_rows(sides: Sides) -> list[tuple[str, ...]]:
    """A row a claim: its verdicts, and what was found."""
    return [
        (
            entry.model.claim.id,
            *(judged.verdict.words for judged in entry.all),
            *(judged.found for judged in entry.all),
        )
        for entry in sides.claims
    ]


def kernel_text(sides: Sides) -> str:
    """What was run, what came of it, what the kernels have otherwise, and who made it."""
    seeds = f"{sides.seeds} seed{'s' if sides.seeds != 1 else ''}"
    sentences = (
        *(f"{sides.asked.size}, {seeds}, the same on all three sides.", sides.summary, PROFILE),
        *(*sides.asked.notes, sides.provenance),
    )
    return " ".join(sentence for sentence in sentences if sentence)


def _with_kernels(all_sides: Sequence[Sides]) -> list[str]:
    lines = []
    for sides in all_sides:
        lines += [kernel_text(sides), "", *_table(KERNEL_HEADS, kernel_rows(sides)), ""]
    return lines


def _verdicts(judged: Sequence[Judged]) -> str:
    """How many of each, in one line: those that there are."""
    counts = {verdict: sum(entry.verdict == verdict for entry in judged) for verdict in SHOWN}
    words = [f"{count} {verdict.words}" for verdict, count in counts.items() if count]
    return f"Verdicts: {', '.join(words)}."


def _figures(shown: Sequence[Page]) -> list[str]:
    heads = ("figure", "what", "runs", "packet-hops", "size", "warnings")
    rows = []
    for page in shown:
        origins = {o.key: o for seeds in page.data.origins.values() for o in seeds.values()}
        hops = sum(origin.packet_hops for origin in origins.values())
        size = page.size if origins else "–"
        warnings = "; ".join(page.problems)
        where = f"{page.figure.title} ({page.figure.place})"
        row = (f"`{page.figure.path}`", where, str(len(origins)), f"{hops:.2g}", size, warnings)
        rows.append(row)
    return _table(heads, rows)


def _claims(judged: Sequence[Judged], brief: bool = False) -> list[str]:
    # What no balancer can beat stands beside the claims on completion times that have it.
    bounded = any(j.ideal for j in judged)
    heads = ("claim", "place", "says", "verdict", "found", *(("ideal fabric",) * bounded))
    rows = [
        (
            *(j.claim.id, j.claim.place, j.claim.says, j.verdict.words),
            j.brief if brief else j.found,
            *((j.ideal or "–",) * bounded),
        )
        for j in judged
    ]
    return _table(heads, rows)


def open_claims(judged: Sequence[Judged]) -> list[tuple[str, str]]:
    """Of claims that are not reproduced what was tried, on what they hinge, what would settle."""
    return [
        (j.claim.id, j.claim.open.text)
        for j in judged
        if j.claim.open is not None and j.verdict == Verdict.NOT
    ]


def _open(judged: Sequence[Judged]) -> list[str]:
    found = open_claims(judged)
    if not found:
        return []
    return [OPEN, "", *(f"- **{claim}**: {text}" for claim, text in found), ""]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(heads), line(["---"] * len(heads)), *(line(row) for row in rows)]


def scorecard(chapters: Sequence[Chapter]) -> str:
    """All claims by paper: counts first, then each with its verdict."""
    lines = ["# Scorecard", "", *_table(*counts(chapters)), "", ORDERS, ""]
    for chapter in chapters:
        lines += [f"## {chapter.paper.title}", "", *_figures(chapter.pages), ""]
        lines += [*_claims(chapter.judged, brief=True), "", *_open(chapter.judged)]
    return "\n".join(lines)


def counts(chapters: Sequence[Chapter]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows: claims per paper and verdict, and the sums."""
    shown = [v for v in SHOWN if v != Verdict.MISSING or any(c.count(v) for c in chapters)]
    heads = ("paper", "claims", *(verdict.words for verdict in shown))
    rows = [
        (c.paper.name, str(len(c.judged)), *(str(c.count(verdict)) for verdict in shown))
        for c in chapters
    ]
    sums = [str(sum(int(row[column]) for row in rows)) for column in range(1, len(heads))]
    return heads, [*rows, ("all", *sums)]


def write_page(page: Page, folder: Path) -> None:
    """Write ``page.md``."""
    _write(folder / "page.md", markdown(page))


def write_scorecard(chapters: Sequence[Chapter], folder: Path) -> Path:
    """Write ``scorecard.md`` and ``report.html``; says where the report is."""
    _write(folder / "scorecard.md", scorecard(chapters))
    path = folder / "report.html"
    _write(path, report(chapters))
    return path


def report(chapters: Sequence[Chapter]) -> str:
    """The HTML report: it needs nothing but a browser."""
    environment = Environment(
        loader=PackageLoader("leafspine"), autoescape=True, undefined=StrictUndefined
    )
    heads, rows = counts(chapters)
    return environment.get_template("reproduction.html").render(
        chapters=chapters,
        heads=heads,
        rows=rows,
        grids=grids,
        opened=open_claims,
        open_words=OPEN,
        picture=picture,
        strips=_strips,
        orders=ORDERS,
        sensitive_heads=SENSITIVE_HEADS,
        kernel_heads=KERNEL_HEADS,
        kernel_rows=kernel_rows,
        kernel_text=kernel_text,
        version=engine.version(),
    )


def _strips(judged: Judged) -> str:
    """The paper's numbers beside ours, as SVG: made of numbers and known words alone."""
    return strips.drawn(judged.strips)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
