"""``leafspine reproduce``: run what figures need, judge claims, write pages and the scorecard."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from leafspine import engine, files, folder, places, progress, remarks, results
from leafspine.errors import InputError, ScenarioError, refused
from leafspine.folder import make_runs
from leafspine.keywords import another_directory
from leafspine.labels import point_label
from leafspine.nearest import nearest
from leafspine.places import How
from leafspine.reproduce import costing, drawing, on_linux, pages, plan
from leafspine.reproduce import data as numbers
from leafspine.reproduce.costing import Cost
from leafspine.reproduce.data import Data
from leafspine.reproduce.figures import SCALES, Figure, Paper, Sensitivity, papers
from leafspine.reproduce.judging import as_read, judge
from leafspine.reproduce.pages import Chapter, Page, Sensitive
from leafspine.reproduce.plan import Plan
from leafspine.reproduce.verdicts import Judged
from leafspine.tasks import Failure

MARK = "reproduction.json"


@dataclass(frozen=True)
class Reproduction:
    """What was done: a chapter per paper, and the runs that failed."""

    chapters: tuple[Chapter, ...]
    directory: Path
    report: Path
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """A paper and those of its figures that are reproduced."""

    paper: Paper
    figures: tuple[Figure, ...]


def choose(names: Sequence[str], library: Path | None = None) -> list[Chosen]:
    """What ``all``, ``qdaps`` or ``qdaps/fig12`` ask for, in the papers' order.

    Raises :class:`InputError` for a name that there is not.
    """
    found = papers(library)
    known = ["all"] + [paper.name for paper in found]
    known += [figure.path for paper in found for figure in paper.figures]
    for name in names:
        if name not in known:
            some = ", ".join(["all", *(paper.name for paper in found)])
            allowed = f"{some}, or a figure such as {known[-1]}"
            raise refused(repr(name), allowed, key="paper", nearest=nearest(name, known))
    chosen = []
    for paper in found:
        whole = "all" in names or paper.name in names
        figures = tuple(f for f in paper.figures if whole or f.path in names)
        if figures:
            chosen.append(Chosen(paper, figures))
    return chosen


def reproduce(
    chosen: Sequence[Chosen],
    scale: str,
    directory: Path,
    *,
    how: How = places.SIMPLY,
    progress_bar: bool = False,
    keep_in: Path | None = None,
    make_runs: bool = True,
    draw: bool = True,
) -> Reproduction:
    """Run, judge, draw and write.

    Runs that are finished in ``directory`` are not run again. With ``keep_in``, a folder of papers,
    neither are those whose numbers are kept there, under this figure or another one of the paper,
    and all numbers are kept there at the end, each figure with its own. Without ``make_runs`` only
    what is finished is shown, and the rest counted. Without ``draw`` pages have no pictures, and
    say so.
    Raises :class:`InputError`, :class:`Interrupted`.
    """
    plans_ = plans(chosen, scale)
    claim(directory)
    kept = {entry.figure.path: _kept(keep_in, entry.figure) for entry in plans_}
    if keep_in is not None:
        _lend(chosen, plans_, kept, keep_in)
    failures = run(plans_, kept, directory, how, progress_bar) if make_runs else []
    by_path: dict[str, Page] = {}
    for plan_ in plans_:
        path = plan_.figure.path
        found = plan.reduce(plan_.wanted, directory / "runs", kept[path])
        problems = _problems(plan_, found, failures) + _other_builds(plan_, kept[path], directory)
        notes = tuple(_remarks(plan_, kept[path], directory))
        by_path[path] = _page(plan_, found, scale, directory, problems, notes, draw=draw)
        if keep_in is not None and found.origins:
            numbers.write(found, keep_in / path)
    return _finish(chosen, by_path, directory, tuple(failures))


def cost(chosen: Sequence[Chosen], scale: str) -> Cost:
    """What the runs would cost, by what is kept of them; nothing is run or written."""
    return costing.cost(plans(chosen, scale), kept(chosen))


def kept(chosen: Sequence[Chosen]) -> dict[str, Data]:
    """What is kept of each figure beside its files."""
    return {f.path: _kept(f.folder.parent.parent, f) for c in chosen for f in c.figures}


def plans(chosen: Sequence[Chosen], scale: str) -> list[Plan]:
    """What each figure needs. Raises :class:`InputError` for a scale that there is not."""
    if scale not in SCALES:
        raise refused(repr(scale), ", ".join(SCALES), file="--scale")
    return [plan.plan(f, c.paper.claims_of(f.name), scale) for c in chosen for f in c.figures]


def _kept(papers_folder: Path | None, figure: Figure) -> Data:
    """What is kept of a figure in a folder of papers."""
    if papers_folder is None or not (papers_folder / figure.path / numbers.FILE).is_file():
        return Data()
    return numbers.read(papers_folder / figure.path)


def _lend(
    chosen: Sequence[Chosen], plans_: Sequence[Plan], kept: Mapping[str, Data], papers_folder: Path
) -> None:
    """Add to each figure's kept numbers those that another figure of its paper keeps of the same
    runs."""
    for entry in chosen:
        library = [_kept(papers_folder, figure) for figure in entry.paper.figures]
        own = {figure.path for figure in entry.figures}
        for plan_ in plans_:
            if plan_.figure.path in own:
                plan.lend(plan_.wanted, kept[plan_.figure.path], library)


def _problems(plan_: Plan, found: Data, failures: Sequence[Failure]) -> list[str]:
    """Runs that have no numbers: those that failed by name, the others counted."""
    failed = {failure.case.key: failure.message for failure in failures}
    missing = [entry for entry in plan_.wanted if not entry.kept_in(found)]
    problems = [
        f"{entry.runs}, {entry.case.label()}: {failed[entry.case.key]}"
        for entry in missing
        if entry.case.key in failed
    ]
    if rest := len(missing) - len(problems):
        problems.append(f"{rest} of {len(plan_.wanted)} runs are not made yet")
    return problems


def _other_builds(plan_: Plan, kept: Data, directory: Path) -> list[str]:
    """A scheme that was changed and rebuilt has the same version, but other results."""
    count = 0
    for entry in plan_.wanted:
        run = directory / "runs" / entry.case.key
        if not entry.kept_in(kept) and (run / results.SUMMARY).is_file():
            count += results.timing(run).get("build") != engine.build()
    if not count:
        return []
    return [
        f"{count} of {len(plan_.wanted)} runs were made by another build of leafspine "
        f"{engine.version()}; to run them again, remove {directory / 'runs'}"
    ]


def _remarks(plan_: Plan, kept: Data, directory: Path) -> list[str]:
    """What the engine says of the runs that were made here; of kept ones only numbers are left."""
    made = (
        (entry.case, directory / "runs" / entry.case.key)
        for entry in plan_.wanted
        if not entry.kept_in(kept)
    )
    return remarks.grouped(
        (case.label(), results.summary(run).get("warnings", []))
        for case, run in made
        if (run / results.SUMMARY).is_file()
    )


def from_kept(chosen: Sequence[Chosen], directory: Path, *, draw: bool = True) -> Reproduction:
    """Pages and scorecard from the kept results, without a run."""
    claim(directory)
    by_path = {
        plan_.figure.path: _page(plan_, found, "paper", directory, problems, draw=draw)
        for plan_, found, problems in _all_kept(chosen)
    }
    return _finish(chosen, by_path, directory, ())


def kept_chapters(library: Path | None = None) -> list[Chapter]:
    """Everything that is kept, paper by paper, without a file written."""
    chosen = choose(["all"], library)
    by_path = {
        plan_.figure.path: _judged(plan_, found, "paper", problems)
        for plan_, found, problems in _all_kept(chosen)
    }
    return [_chapter(entry, by_path) for entry in chosen]


def _all_kept(chosen: Sequence[Chosen]) -> Iterator[tuple[Plan, Data, list[str]]]:
    """Figure by figure the plan, the kept numbers, and what they lack."""
    for entry in chosen:
        for figure in entry.figures:
            plan_ = plan.plan(figure, entry.paper.claims_of(figure.name), "paper")
            found = _kept(figure.folder.parent.parent, figure)
            yield plan_, found, _problems(plan_, found, ())


def claim(directory: Path, holds: Mapping[str, object] | None = None) -> None:
    """Refuse a directory that holds anything but a reproduction; make it if there is none.

    ``holds``: of which figures, if it is a shard's (:mod:`leafspine.reproduce.sharing`)."""
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file: {another_directory()}")
    names: set[str] = set()
    if directory.is_dir():
        files.sweep_leftovers(directory)
        files.sweep_leftovers(directory / "runs")
        names = {path.name for path in directory.iterdir() if not files.is_temporary(path.name)}
    if MARK not in names and not names <= {"runs"}:
        raise InputError(
            f"{directory} is not empty and holds no reproduction of leafspine: "
            f"{another_directory()}"
        )
    make_runs(directory)
    with files.replacing_file(directory / MARK) as path:
        path.write_text(results.to_json(dict(holds or {})), encoding="utf-8")


def run(
    plans: Sequence[Plan],
    kept: Mapping[str, Data],
    directory: Path,
    how: How,
    progress_bar: bool,
    *,
    only: AbstractSet[str] | None = None,
) -> list[Failure]:
    """Make the runs that have no result and no kept numbers yet, over all figures at once; of
    a shard ``only`` those with its keys.

    First all of the first seed, then all of the second: what is interrupted has whole curves.
    """
    wanted = [
        entry
        for plan_ in plans
        for entry in plan_.wanted
        if not entry.kept_in(kept[plan_.figure.path])
    ]
    wanted.sort(key=lambda entry: entry.case.seed)
    cases = {
        entry.case.key: entry.case for entry in wanted if only is None or entry.case.key in only
    }
    tasks = folder.missing(directory, cases)
    done = len(cases) - len(tasks)
    try:
        with (
            folder.keeping(directory, cases),
            progress.of_comparison(len(cases), done, show=progress_bar) as watcher,
        ):
            return places.choose(how, directory, tasks, watcher).run(tasks)
    except ScenarioError as error:
        asking = (p.figure.file for p in plans for e in p.wanted if e.case.key == error.case)
        where = next(asking, "a figure's scenario")
        raise InputError(f"{where}: {error}", **error.parts()) from None


def _page(
    plan_: Plan,
    found: Data,
    scale: str,
    directory: Path,
    problems: Sequence[str],
    notes: tuple[str, ...] = (),
    *,
    draw: bool,
) -> Page:
    """Judge a figure's claims and write its folder."""
    folder = directory / plan_.figure.path
    numbers.write(found, folder)
    # Verdicts and plots use the rounded numbers of the files, as any later reading does.
    page = replace(_judged(plan_, numbers.read(folder), scale, problems), remarks=notes)
    if page.data.values and not draw:
        page = replace(page, left_out=drawing.leave_out(page.figure, folder))
    elif page.data.values:
        schemes = plan_.schemes
        picture = drawing.draw(page.figure, page.data, schemes, folder, page.size)
        page = replace(page, picture=picture)
    pages.write_page(page, folder)
    return page


def _judged(plan_: Plan, found: Data, scale: str, problems: Sequence[str]) -> Page:
    """A figure's page, without its picture."""
    figure = plan_.figure
    by_id = {entry.id: entry for entry in plan_.claims}
    return Page(
        figure,
        found,
        judged=tuple(judge(entry, found) for entry in plan_.claims),
        sensitive=tuple(
            Sensitive(
                other.name,
                judge(other.asks(by_id[name]), found, f"~{other.name}"),
                as_read(by_id[name], other, found),
                _extent(other, found),
            )
            for other in (figure.sensitivities if scale == "paper" else ())
            for name in other.claims
        ),
        picture=None,
        command=f"leafspine reproduce {figure.path} --scale {scale}",
        size=f"{scale.capitalize()} scale, {_seeds(found)}",
        problems=tuple(problems),
        on_linux=on_linux.sides(figure, plan_.claims, on_linux.kept(figure)),
    )


def _extent(other: Sensitivity, found: Data) -> str:
    """At which points and with how many seeds a sensitivity was run, in words."""
    sets = [other.run_set(runs) for runs in other.runs]
    points = list(
        dict.fromkeys(point_label(point) for runs in sets for point in found.points(runs))
    )
    at = "; ".join(filter(None, points)) if len(points) <= 3 else f"{len(points)} points"
    seeds = {s for place, of in found.origins.items() if place[0] in sets for s in of}
    count = f"{len(seeds)} seed{'s' if len(seeds) != 1 else ''}"
    return f"{at}: {count}" if at else count


def _seeds(found: Data) -> str:
    fewest, most = found.seed_counts()
    count = str(most) if fewest == most else f"{fewest} to {most}"
    batches = found.batch_count()
    return (
        f"{count} seed{'s' if most != 1 else ''}"
        + f", intervals over {batches} batches of flows" * (batches > 1)
    )


def _finish(
    chosen: Sequence[Chosen],
    by_path: dict[str, Page],
    directory: Path,
    failures: tuple[Failure, ...],
) -> Reproduction:
    chapters = tuple(_chapter(entry, by_path) for entry in chosen)
    report = pages.write_scorecard(chapters, directory)
    return Reproduction(chapters, directory, report, failures)


def _chapter(entry: Chosen, by_path: dict[str, Page]) -> Chapter:
    """All claims in the paper's order; those that no figure judges have a reason."""
    done: dict[str, Judged] = {}
    shown = tuple(by_path[figure.path] for figure in entry.figures)
    for page in shown:
        done.update({judged.claim.id: judged for judged in page.judged})
    whole = len(entry.figures) == len(entry.paper.figures)
    judged = tuple(
        done.get(claim.id) or judge(claim, Data())
        for claim in entry.paper.claims
        if whole or claim.id in done
    )
    return Chapter(entry.paper, shown, judged)
