"""The figures of one run, one method each: ``result.plot.queue()``; and all of them as files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from matplotlib.figure import Figure

from leafspine import distributions, heat, kept_scenario, link_changes, timelines
from leafspine.distributions import Sample
from leafspine.drawing import Plot, save, settings
from leafspine.engine import ALL_FLOWS
from leafspine.errors import InputError, refused
from leafspine.labels import slug
from leafspine.looks import scheme_of
from leafspine.nearest import nearest
from leafspine.probe_kinds import kind_of
from leafspine.saved import Saved
from leafspine.style import of_scheme

MOST_JOBS = 4
"""Jobs whose timelines are drawn with all other figures."""

PAUSED = (
    "Over the measurement window: for how long the far end of each link had some priority of the "
    "port paused."
)


class Run(Protocol):
    """What of a :class:`leafspine.Result` is drawn."""

    @property
    def scenario(self) -> str: ...
    @property
    def summary(self) -> Mapping[str, Any]: ...
    @property
    def ports(self) -> pa.Table: ...
    @property
    def probes(self) -> dict[str, pa.Table]: ...
    @property
    def flows(self) -> pa.Table: ...
    @property
    def measured_flows(self) -> pa.Table: ...
    @property
    def jobs(self) -> dict[str, pa.Table]: ...


@dataclass(frozen=True)
class RunFigures:
    """Figures of a run. Each method returns a Matplotlib figure, which notebooks show.

    Those over time need a probe of their kind (``[[probe]]`` in the scenario), and raise
    :class:`leafspine.InputError` without one. ``probe``: its name, where there are several.
    Where links changed there are marks.
    """

    run: Run

    def cdf(self) -> Figure:
        """The distribution of completion times of the finished flows."""
        return self._of_flows(distributions.cdf)

    def ccdf(self) -> Figure:
        """The share of flows that took longer, both axes logarithmic."""
        return self._of_flows(distributions.ccdf)

    def slowdown(self) -> Figure:
        """Slowdown (completion time over the ideal one) against flow size: p50, p95, p99."""
        with settings():
            return distributions.slowdown([self._sample()])

    def fabric(self) -> Figure:
        """The fabric, its links coloured by their use over the measurement window."""
        ports = self.run.ports
        with settings():
            return heat.draw(ports, ports["utilisation"].to_pylist())

    def paused(self) -> Figure:
        """The fabric, its links coloured by how long flow control had them paused."""
        ports = self.run.ports
        summary = self.run.summary
        window = summary["window_end_ps"] - summary["window_start_ps"]
        with settings():
            return heat.paused([("", ports, heat.paused_shares(ports, window))])

    def queue(self, probe: str | None = None) -> Figure:
        """Packets and bytes waiting at ports, from a ``queue`` probe."""
        return self._over_time("queue", probe)

    def utilisation(self, probe: str | None = None) -> Figure:
        """Use of links, from a ``utilisation`` probe."""
        return self._over_time("utilisation", probe)

    def window(self, probe: str | None = None) -> Figure:
        """Congestion windows of flows, from a ``window`` probe."""
        return self._over_time("window", probe)

    def tcp_info(self, probe: str | None = None) -> Figure:
        """Windows and round trip times that kernels tell, from a ``tcp-info`` probe."""
        return self._over_time("tcp-info", probe)

    def pause(self, probe: str | None = None) -> Figure:
        """Time for which ports were paused, from a ``pause`` probe."""
        return self._over_time("pause", probe)

    def signals(self, probe: str | None = None) -> Figure:
        """Marked and dropped packets, from a ``signals`` probe."""
        return self._over_time("signals", probe)

    def state(self, probe: str | None = None) -> Figure:
        """What load balancers keep, from a ``state`` probe."""
        return self._over_time("state", probe)

    def paths(self, probe: str | None = None) -> Figure:
        """By which port each flow's packets went, from a ``packets`` probe."""
        return self._over_time("packets", probe)

    def timeline(self, job: int = 0) -> Figure:
        """The messages of a job, a row a rank and a colour an iteration."""
        from leafspine import job_figures

        ranks = self.run.jobs.get("ranks")
        known = sorted(set(ranks["job"].to_pylist())) if ranks is not None else []
        if ranks is None or job not in known:
            allowed = ", ".join(map(str, known)) or "none: the run has no job"
            raise refused(repr(job), allowed, key="job")
        with settings():
            return job_figures.timeline(self.run.flows, self.run.jobs["collectives"], ranks, job)

    def all(self) -> Iterator[Plot]:
        """Every figure that the run has data for, one after the other."""
        with settings():
            yield Plot("fabric", "Use of the links", "Over the measurement window.", self.fabric())
            # A result of before there was flow control has no such column.
            ports = self.run.ports
            if "pause_ps" in ports.column_names and any(ports["pause_ps"].to_pylist()):
                yield Plot("paused", "Paused links", PAUSED, self.paused())
            if "ranks" in self.run.jobs:
                for job in sorted(set(self.run.jobs["ranks"]["job"].to_pylist()))[:MOST_JOBS]:
                    yield Plot(
                        f"job-{job}",
                        f"Messages of job {job}",
                        "A row a rank, a bar a message that it sends, a colour an iteration; "
                        "dashed: a collective is complete.",
                        self.timeline(job),
                    )
            for name, table in self.run.probes.items():
                kind = kind_of(table)
                if kind is not None and table.num_rows:
                    make, title = timelines.MAKERS[kind]
                    yield Plot(slug(name), title, f"Probe {name}.", make(table, self._changes()))

    def _of_flows(self, draw: Any) -> Figure:
        sample = self._sample()
        fct = sample.pooled(1)
        scale, unit = timelines.unit_of(float(fct.mean()) if len(fct) else 1e9)
        with settings():
            figure: Figure = draw([sample], [(ALL_FLOWS, "all flows", 1e6 / scale, unit)])
        return figure

    def _sample(self) -> Sample:
        try:
            scheme = scheme_of(kept_scenario.case(self.run.scenario))
        except InputError:
            scheme = ""  # this engine does not have it: an extension's, which is not installed here
        return Sample("", of_scheme(scheme), (distributions.finished(self.run.measured_flows),))

    def _changes(self) -> list[link_changes.Change]:
        return link_changes.of_run(self.run.summary)

    def _over_time(self, kind: str, name: str | None) -> Figure:
        tables = {
            found: table for found, table in self.run.probes.items() if kind_of(table) == kind
        }
        if not tables:
            raise InputError(
                f'the run has no probe of kind "{kind}": add [[probe]] kind = "{kind}" to the '
                "scenario and run it again"
            )
        if name is not None and name not in tables:
            allowed = ", ".join(f'"{known}"' for known in tables)
            raise refused(repr(name), allowed, key="probe", nearest=nearest(str(name), tables))
        make, _ = timelines.MAKERS[kind]
        with settings():
            return make(tables[name or next(iter(tables))], self._changes())


def write(run: Run, directory: Path) -> list[Saved]:
    """Every figure of a run as ``<name>.pdf`` and ``.png`` in a directory."""
    return [save(plot, directory) for plot in RunFigures(run).all()]
