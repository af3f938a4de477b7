"""Many runs side by side: what is missing is run, what there is becomes one comparison.

What its directory holds is in :mod:`leafspine.folder`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafspine import (
    arguments,
    comparison_movie,
    folder,
    manifest,
    notebook,
    pictures,
    places,
    progress,
    report,
    results,
    tables,
)
from leafspine.comparison_data import ComparisonData
from leafspine.engine import Case
from leafspine.errors import EngineError, RunError, ScenarioError
from leafspine.places import How
from leafspine.scenario import Source
from leafspine.shards import Shard

if TYPE_CHECKING:
    from leafspine.comparison_figures import ComparisonFigures


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonData):
    """Finished runs of one scenario, side by side, and the files that are made of them.

    Every case has its result in ``directory/runs/<key>``; ``failures`` are the cases that have
    none.
    """

    def write(
        self,
        directory: str | Path | None = None,
        *,
        plots: bool = True,
        progress_bar: bool | None = None,
    ) -> Path:
        """Write ``tables.md``, ``tables.csv``, ``plots/`` and ``report.html``.

        And ``fabric.html``, in which the fabric moves, if the runs have probes of its ports.

        Into the comparison's own directory by default. Figures that are there already
        and show the same are not drawn again; such as are not drawn any more are removed. Without
        ``plots`` none are drawn, and the report says so. Says where the report is. Raises
        :class:`InputError` for a directory that holds another comparison.
        """
        arguments.flag("plots", plots)
        arguments.flag("progress_bar", progress_bar, optional=True)
        show = progress.wanted(progress_bar)
        where = arguments.directory("the directory", directory) or self.directory
        manifest.refuse_another(where, self.cases)
        tables.write(self, where)
        if not plots:
            pictures.leave_out(self, where)
            comparison_movie.leave_out(self, where)
            return report.write(self, where, None)
        figures = pictures.write(self, where, progress_bar=show)
        return report.write(self, where, figures, comparison_movie.write(self, where))

    def unknown_files(self) -> list[Path]:
        """Files in the directory that leafspine did not write: never changed, never read."""
        return folder.unknown(self.directory, self.finished) + pictures.unknown(self.directory)

    @property
    def plot(self) -> "ComparisonFigures":
        """The figures one by one: ``comparison.plot.fct("short")`` is a Matplotlib figure."""
        from leafspine.comparison_figures import ComparisonFigures

        return ComparisonFigures(self)

    def __repr__(self) -> str:
        runs = f"{len(self.finished)} of {len(self.cases)} runs"
        sizes = f"{len(self.points)} points, {len(self.seeds)} seeds"
        names = ", ".join(name for name in self.variants if name) or "one variant"
        return f"<leafspine.Comparison {names}: {sizes}, {runs}, in {self.directory}>"

    def _repr_html_(self) -> str:
        title, heads, rows, texts = tables.brief(self)
        titles = (repr(self), title)
        return notebook.page(titles, heads, rows, texts, self.plot.fct(), ".table() has all")


def compare(
    source: Source,
    settings: Sequence[tuple[str, str]],
    directory: Path,
    *,
    cases: Sequence[Case],
    how: How,
    progress_bar: bool = False,
    command: str = "",
    keep: Any = None,
    shard: Shard | None = None,
) -> Comparison:
    """Run the cases that have no result yet, ``how`` and where the caller says; of a ``shard``
    those that are in it, and the answer has no others.

    Raises :class:`Interrupted` on Ctrl-C and :class:`WriteError` where results cannot be written,
    with what is finished kept; :class:`DamagedError` if a result that is there is not what was
    written.
    """
    folder.claim(directory, cases)
    unique = {case.key: case for case in cases}
    if shard is not None:
        unique = {key: unique[key] for key in shard.keys(unique)}
    tasks = folder.missing(directory, unique, check=how.check)
    manifest.write(source, settings, directory, cases, command, shard)
    progress.say(places.remark(how, tasks), show=progress_bar)
    try:
        with (
            folder.keeping(directory, unique),
            progress.of_comparison(
                len(unique), len(unique) - len(tasks), show=progress_bar
            ) as watcher,
        ):
            failures = places.choose(how, directory, tasks, watcher).run(tasks)
    except ScenarioError as error:
        raise error.within(source.name) from None
    chosen = tuple(case for case in cases if case.key in unique)
    comparison = Comparison(
        source, chosen, directory, tuple(failures), command, tuple(settings), keep
    )
    if comparison.failures and not comparison.finished:
        first = comparison.failures[0]
        kind = EngineError if first.fault else RunError
        raise kind(f"no run finished: {first.message}")
    if how.csv:
        for case in unique.values():
            if case in comparison.finished:
                results.add_csv(comparison.result(case))
    return comparison
