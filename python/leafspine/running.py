"""One run that is asked for: found where it was written before, or made and written."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from leafspine import arguments, engine, files, progress, results, scenario, workers
from leafspine import memory as memories
from leafspine.errors import LeafspineError, RunError
from leafspine.results import Result
from leafspine.scenario import Source


def run_source(
    source: Source,
    settings: Sequence[tuple[str, str]],
    place: Callable[[engine.Case], Path | None],
    *,
    csv: bool = False,
    check: bool = False,
    memory: str | None = None,
    threads: int | None = None,
    pcap: Sequence[str] = (),
    progress_bar: bool | None = None,
) -> Result:
    """What :func:`leafspine.run` does with a scenario that is read; ``place`` says where the result
    goes."""
    arguments.count("--threads", threads)
    most = most_bytes(memory)
    with progress.of_checks(show=progress.wanted(progress_bar)) as watch:
        case = scenario.single(source, settings, most, watch)
    directory = place(case)
    with arguments.writing(directory):
        how = _Running(check, most, threads or workers.cores())
        if not pcap or directory is None:
            return _finished_or_run(case, directory, csv, how, progress_bar)
        with files.adding(directory, files.CAPTURES) as folder:
            how = how._replace(captures=(tuple(pcap), folder))
            return _finished_or_run(case, directory, csv, how, progress_bar)


class _Running(NamedTuple):
    """How a case is run: none of it changes the result."""

    check: bool
    most: int | None
    threads: int
    captures: tuple[Sequence[str], Path] | None = None


def _finished_or_run(
    case: engine.Case,
    directory: Path | None,
    csv: bool,
    how: _Running,
    progress_bar: bool | None,
) -> Result:
    if directory is not None:
        files.sweep_leftovers(directory.parent)
    finished = directory is not None and results.is_finished(directory, case, check=how.check)
    if directory is not None and finished:
        if how.captures:
            # The run is made once more, for what it sends.
            with progress.of_run(case.label(), show=progress.wanted(progress_bar)) as watch:
                _guarded(case, watch, how)
        result = Result.load(directory)
    else:
        if directory is not None:
            files.refuse_unwritable(directory)
        with progress.of_run(case.label(), show=progress.wanted(progress_bar)) as watch:
            result = _guarded(case, watch, how)
        if directory is not None:
            result = results.write(result, directory, csv=csv)
    if csv:
        results.add_csv(result)
    return result


def _guarded(case: engine.Case, watch: engine.Watch | None, how: _Running) -> Result:
    try:
        return results.run_case(
            case,
            watch,
            check=how.check,
            most=how.most,
            threads=how.threads,
            captures=how.captures,
        )
    except LeafspineError:
        raise
    except (RuntimeError, MemoryError) as error:
        raise RunError(str(error) or type(error).__name__) from error


def most_bytes(memory: str | None) -> int | None:
    """Bytes that may be taken: as the caller says, or what is free; ``None``: unknown."""
    return memories.available() if memory is None else memories.parse(memory)
