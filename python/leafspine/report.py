"""One HTML file with a comparison's tables and figures; it needs nothing but a browser."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from leafspine import engine, files, findings, labels, looks, report_parts, tables
from leafspine.comparison_data import ComparisonData
from leafspine.saved import Saved


def write(
    comparison: ComparisonData,
    directory: Path,
    figures: Sequence[Saved] | None,
    movie: str | None = None,
) -> Path:
    """Write ``report.html`` with these figures to ``directory`` and say where it is.

    ``None``: they were left out.
    """
    path = directory / "report.html"
    with files.replacing_file(path) as temporary:
        temporary.write_text(render(comparison, figures, movie), encoding="utf-8")
    return path


def render(
    comparison: ComparisonData, figures: Sequence[Saved] | None, movie: str | None = None
) -> str:
    """The report's HTML; ``movie``: the file in which the fabric moves, if there is one.

    All text from the scenario is escaped.
    """
    # A run alone has no report, and need not wait for this.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("leafspine"), autoescape=True, undefined=StrictUndefined
    )
    styles = looks.styles(comparison)
    marks = {variant: report_parts.look(styles[variant]) for variant in comparison.variants}
    return environment.get_template("report.html").render(
        findings=findings.paragraph(comparison),
        looks=marks,
        movie=movie,
        title=_title(comparison),
        lead=_lead(comparison),
        warnings=comparison.warnings(),
        first=comparison.variants[0],
        tables=[report_parts.table(found, marks) for found in tables.tables(comparison)],
        meanings=tables.metric_meanings(),
        plots=None if figures is None else [report_parts.picture(figure) for figure in figures],
        facts=_facts(comparison),
        scenario_name=comparison.source.name,
        scenario=comparison.source.text,
        resolved=comparison.cases[0].text,
        runs=_runs(comparison),
        version=engine.version(),
        command=comparison.command or _command(comparison),
    )


def _title(comparison: ComparisonData) -> str:
    return comparison.cases[0].title or comparison.source.stem.replace("-", " ")


def _lead(comparison: ComparisonData) -> str:
    variants = ", ".join(name for name in comparison.variants if name)
    parts = [f"{len(comparison.finished)} runs", f"{len(comparison.seeds)} seeds"]
    swept = dict.fromkeys(key for point in comparison.points for key, _ in point)
    for key in swept:
        values = dict.fromkeys(str(dict(point).get(key)) for point in comparison.points)
        parts.append(f"{labels.key_label(key)} {', '.join(values)}")
    return "; ".join(([variants] if variants else []) + parts) + "."


def _facts(comparison: ComparisonData) -> list[tuple[str, str]]:
    return [
        ("Scenario", comparison.source.name),
        ("Variants", ", ".join(name or "one" for name in comparison.variants)),
        ("Points", "; ".join(labels.point_label(point) for point in comparison.points) or "one"),
        ("Seeds", ", ".join(str(seed) for seed in comparison.seeds)),
        ("Runs", f"{len(comparison.finished)} finished, {len(comparison.failures)} failed"),
        ("Version", f"leafspine {engine.version()}"),
        ("Command", comparison.command or _command(comparison)),
    ]


def _command(comparison: ComparisonData) -> str:
    words = ["leafspine", "compare", comparison.source.name]
    for key, value in comparison.settings:
        words += ["--set", f"{key}={value}"]
    return shlex.join(words)


def _runs(comparison: ComparisonData) -> list[dict[str, object]]:
    found = []
    for case in comparison.finished:
        summary = comparison.summary(case)
        found.append(
            {
                "label": case.label(),
                "key": case.key,
                "hash": summary["trace_hash"],
                "hops": f"{summary['packet_hops']:,}",
            }
        )
    return found
