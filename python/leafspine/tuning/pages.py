"""What a search leaves: ``tuning.json``, ``tuning.md`` and a figure a parameter with an order."""

import json
from pathlib import Path
from typing import Any

from leafspine import engine, files, labels, quantities, results, tables
from leafspine.errors import DamagedError, InputError
from leafspine.keywords import another_directory
from leafspine.measures import METRICS
from leafspine.stats import Estimate
from leafspine.terminal import Table
from leafspine.tuning import effects
from leafspine.tuning.parameters import Parameter
from leafspine.tuning.searching import Found, Request, Tried, name

MARK = "tuning.json"
TEXT = "tuning.md"


def claim(request: Request, directory: Path) -> None:
    """Refuse a directory that holds anything but this search, or make it."""
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file: {another_directory()}")
    names: set[str] = set()
    if directory.is_dir():
        files.sweep_leftovers(directory)
        files.sweep_leftovers(directory / "runs")
        names = {path.name for path in directory.iterdir() if not files.is_temporary(path.name)}
    wanted = plain(request)
    if MARK in names:
        try:
            held = json.loads((directory / MARK).read_bytes())["request"]
        except (ValueError, KeyError, TypeError, OSError):
            raise DamagedError(f"{directory / MARK} is not leafspine's: it is not read") from None
        if held != wanted:
            raise InputError(
                f"{directory} holds another search (see {directory / MARK}): {another_directory()}"
            )
    elif names - {"runs"}:
        raise InputError(
            f"{directory} is not empty and holds no search of leafspine: {another_directory()}"
        )
    files.refuse_unwritable(directory, "runs", "any")
    files.make_directory(directory / "runs")
    if MARK not in names:
        _put(directory / MARK, results.to_json({"request": wanted}))


def plain(request: Request) -> dict[str, Any]:
    """Everything that decides what is found, for files."""
    return {
        "leafspine": engine.version(),
        "scenario": request.source.text,
        "settings": [list(map(str, pair)) for pair in (*request.settings, *request.scheme)],
        "metric": [request.goal.group, request.goal.metric],
        "tried": [[list(pair) for pair in setting] for setting in request.tried],
        "seeds": request.seeds,
        "held_out": request.held_out,
    }


def to_plain(found: Found) -> dict[str, Any]:
    """The answer, for ``--json`` and the file."""
    return {
        "request": plain(found.request),
        "best": dict(found.best.setting),
        "better": found.is_better,
        "gain_percent": _interval(found.best.difference),
        "gain": _interval(found.best.change),
        "default": _interval(found.default.value),
        "value": _interval(found.best.value),
        "unfinished": {"default": _counts(found.default), "best": _counts(found.best)},
        "unit": METRICS[found.request.goal.metric].unit,
        "effects": {
            parameter.key: effects.in_words(parameter, effects.p_value(parameter, found.first))
            for parameter in found.request.parameters
        },
        "tried": [
            {
                "setting": dict(entry.setting),
                "seeds": entry.seeds,
                "value": _interval(entry.value),
                "difference_percent": _interval(entry.difference),
                "difference": _interval(entry.change),
                "unfinished": _counts(entry),
            }
            for entry in found.tried
        ],
        "failed": list(found.failed),
        "warnings": list(found.warnings),
    }


def _counts(entry: Tried) -> list[int]:
    """How many flows (collectives, faults) are unfinished, and of how many."""
    return [entry.unfinished, entry.flows]


def _interval(found: Estimate | None) -> list[float | None] | None:
    return None if found is None else [found.mean, found.low, found.high]


def table(found: Found) -> Table:
    """A row a setting."""
    metric = METRICS[found.request.goal.metric]
    heads = (
        *(parameter.name for parameter in found.request.parameters),
        "seeds",
        quantities.with_unit(metric.label, metric.unit),
        "vs default",
        METRICS[found.request.goal.counts[1][1]].label,
    )
    rows = tuple(
        (
            *(value for _, value in entry.setting),
            str(entry.seeds),
            tables.in_words(entry.value),
            tables.difference(entry.difference, entry.change, metric.unit),
            f"{entry.unfinished} of {entry.flows}",
        )
        for entry in found.tried
    )
    note = "mean over the seeds that a setting was run with ± 95 % interval, and the paired "
    note += "difference to the default; the worse half was left after each round"
    count = len(found.request.parameters)
    return Table(f"{found.request.goal}", note, heads, rows, texts=count)


def verdict(found: Found) -> list[str]:
    """Sentences: what has an effect, and whether the best is better."""
    request = found.request
    said = [
        effects.in_words(parameter, effects.p_value(parameter, found.first))
        for parameter in request.parameters
    ]
    unit = METRICS[request.goal.metric].unit
    difference = tables.difference(found.best.difference, found.best.change, unit)
    against = f"{request.goal} {difference} against the default, on {request.held_out} seeds that "
    against += "the search did not see"
    best, default = found.best, found.default
    if found.is_better:
        return [*said, f"best: {name(found.best.setting)}: {against}"]
    if found.is_better is False:
        return [*said, f"keep the default: {name(found.best.setting)} is worse: {against}"]
    if best.has_fewer(default):
        left = METRICS[request.goal.counts[1][1]].label
        return [
            *said,
            f"keep the default: {name(best.setting)} cannot be compared with it: {best.unfinished} "
            f"of {best.flows} {left} against {default.unfinished} of {default.flows}, which are in "
            f"no mean: {against}",
        ]
    if best.repeats and default.repeats:
        return [
            *said,
            "keep the default: the seed changes nothing, so that all seeds are one run, without an "
            f"interval: {name(best.setting)}: {against}",
        ]
    return [
        *said,
        f"keep the default: {name(found.best.setting)} did best in the search, but its gain "
        f"is not significant: {against}",
    ]


def write(found: Found, directory: Path) -> list[Path]:
    """Write all files; say where the figures are."""
    lines = [tables.to_markdown(table(found)), *(f"- {line}" for line in verdict(found)), ""]
    if found.warnings:
        lines += [*(f"> {warning}" for warning in found.warnings), ""]
    _put(directory / TEXT, "\n".join(lines))
    _put(directory / MARK, results.to_json(to_plain(found)))
    return [
        _figure(found, parameter, directory)
        for parameter in found.request.parameters
        if parameter.ordered
    ]


def _put(path: Path, text: str) -> None:
    with files.replacing_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _figure(found: Found, parameter: Parameter, directory: Path) -> Path:
    """The metric against a parameter, in the first round, in which all have the same seeds."""
    from leafspine import drawing, graphics

    metric = METRICS[found.request.goal.metric]
    known = [entry for entry in found.first if entry.value is not None]
    places, unit = quantities.axis([dict(entry.setting)[parameter.key] for entry in known])
    with drawing.settings():
        figure, (axes,) = graphics.grid(1)
        means = [entry.value.mean for entry in known if entry.value]
        # Without intervals: over few seeds those of the means say nothing of the paired gain.
        axes.plot(places, means, "o-", ms=3.5, lw=1, color="#0072B2", label="settings")
        best = dict(found.best.setting)[parameter.key]
        chosen = quantities.axis([best, *(value for value in parameter.values)])[0][0]
        axes.axvline(chosen, color="#D55E00", lw=0.8, ls="--", label=f"best: {best}", zorder=1)
        if found.base.value:
            axes.axhline(found.base.value.mean, color="0.4", lw=0.8, label="default", zorder=1)
        if min(places) > 0 and max(places) / min(places) >= 10:
            graphics.logarithmic(axes, "x")
        graphics.from_zero(axes)
        axes.set_xlabel(quantities.with_unit(parameter.name, unit))
        axes.set_ylabel(quantities.with_unit(metric.label, metric.unit))
        graphics.legend(figure, axes)
    title = f"{found.request.goal} against {parameter.name}"
    plot = drawing.Plot(labels.slug(parameter.key), title, "", figure)
    return drawing.save(plot, directory / "plots").pdf
