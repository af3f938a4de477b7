"""A search that is asked for: the settings that are tried, the runs, the pages of the answer."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from leafspine import arguments, places, progress, results, scenario
from leafspine.errors import refused
from leafspine.places import How
from leafspine.running import most_bytes
from leafspine.scenario import Source
from leafspine.tuning import pages, parameters, searching
from leafspine.tuning.searching import Found


class Where(NamedTuple):
    """How and where the runs of a search are done: none of it changes what is found."""

    jobs: int | None = None
    check: bool = False
    memory: str | None = None
    on: str | None = None
    store: str | None = None


def tuned(
    source: Source,
    settings: Sequence[tuple[str, str]],
    params: Sequence[str],
    *,
    lb: str | None,
    metric: str,
    trials: int,
    seeds: int,
    held_out: int,
    place: Where,
    out: Path | None,
    progress_bar: bool | None,
) -> tuple[Found, Path, list[Path]]:
    """What :func:`leafspine.tune` does with a scenario that is read: the answer, where it is, the
    figures."""
    searching.check(seeds, held_out, trials)
    chosen = tuple(parameters.parse(text, "load_balancer", trials) for text in params)
    keys = [parameter.key for parameter in chosen]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise refused(f"{twice[0]} more than once", "each key once", file="--param")
    if lb is not None:
        tuned_keys = [(scenario.Key(key, "--param"), "") for key in keys]
        scenario.refuse_both("--lb", ["load_balancer.scheme"], [*settings, *tuned_keys])
    request = searching.Request(
        source,
        tuple(settings),
        ((scenario.balancing(lb), lb),) if lb is not None else (),
        chosen,
        tuple(parameters.settings(chosen, trials, seed=1)),
        searching.goal(metric),
        seeds,
        held_out,
    )
    on = places.parse(place.on, place.store, place.jobs)
    most = most_bytes(place.memory) if on.is_here or place.memory is not None else None
    key = sha256(results.to_json(pages.plain(request)).encode()).hexdigest()
    directory = out or Path("out") / f"tune-{source.stem}-{key[:8]}"
    show = progress.wanted(progress_bar)
    how = How(on, place.jobs, False, place.check, most)
    search = searching.Search(request, directory, how, show)
    search.expand(most)
    with arguments.writing(directory):
        pages.claim(request, directory)
        found = searching.search(search, lambda text: progress.say(text, show=show))
        return found, directory, pages.write(found, directory)
