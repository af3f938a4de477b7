"""Metrics of queues, load sharing, duplicate ACKs, control loops, fits: on tables made by hand."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from leafspine.engine import Case
from leafspine.facts import Amount, Facts, Scheme
from leafspine.qall import samples
from leafspine.reproduce import fits, metrics, queues, series  # noqa: F401  (queues registers)
from leafspine.reproduce.metrics import Run
from leafspine.results import Result

MS = 10**9
S = 10**12
FACTS = Facts(load_balancer=Scheme("qall", {"update_period": MS}), buffer=Amount(10))


def run(
    probes: dict[str, dict[str, list[object]]] | None = None,
    flows: dict[str, list[int]] | None = None,
    window: tuple[int, int] = (0, 100 * S),
    facts: Facts = FACTS,
    key: str = "",
) -> Run:
    """A run that left these tables."""
    result = Result(
        scenario="",
        summary={"window_start_ps": window[0], "window_end_ps": window[1]},
        flows=pa.table(flows or {}),
        ports=pa.table({}),
        probes={name: pa.table(columns) for name, columns in (probes or {}).items()},
    )
    return Run(Case("P", (), 1, key, (), ".", facts=facts), result, {})


class TestQueues:
    def test_variance_over_ports_and_times(self) -> None:
        """Breaks if a probe, a port or the window is left out, or packets are no shares of it.

        Shares 0, 0.2, 0.4 and 0.6 lie within the window: mean 0.3, variance 0.05.
        """
        found = run(
            {
                "queue-up": {"time_ps": [0, 5, 10], "port": ["a", "a", "a"], "packets": [9, 0, 2]},
                "queue-down": {"time_ps": [5, 10, 11], "port": ["b"] * 3, "packets": [4, 6, 9]},
                "other": {"time_ps": [5], "port": ["c"], "packets": [7]},
            },
            window=(5, 10),
        )
        assert metrics.value(found, "own.queue_variance") == pytest.approx(0.05)

    def test_variance_in_bytes(self) -> None:
        """Breaks if a buffer in bytes is compared with packets: shares 0 and 0.5."""
        probe = {"time_ps": [1, 2], "port": ["a", "a"], "packets": [0, 3], "bytes": [0, 500]}
        found = run({"queue": probe}, facts=Facts(buffer=Amount(1000, in_bytes=True)))
        assert metrics.value(found, "own.queue_variance") == pytest.approx(0.0625)

    def test_age_of_information(self) -> None:
        """Breaks if a sample without an age counts, the window is left out, or the unit is off."""
        nan = float("nan")
        ages = {"time_ps": [0, 5, 5, 10, 11], "information_age_ps": [9e9, 1e9, nan, 2e9, 9e9]}
        found = run({"state": ages}, window=(5, 10))
        assert metrics.value(found, "own.information_age") == pytest.approx(1.5)
        none = run({"state": {"time_ps": [5], "information_age_ps": [nan]}})
        assert metrics.value(none, "own.information_age") is None

    def test_decision_delay(self) -> None:
        """Breaks if it is another column's, counts samples without one, or has no window."""
        nan = float("nan")
        state = {
            "time_ps": [0, 5, 5, 10, 11],
            "information_age_ps": [0.0] * 5,
            "decision_delay_ps": [9e9, 1e9, nan, 2e9, 9e9],
        }
        found = run({"state": state}, window=(5, 10))
        assert metrics.value(found, "own.decision_delay") == pytest.approx(1.5)
        none = run({"state": {"time_ps": [5], "decision_delay_ps": [nan]}})
        assert metrics.value(none, "own.decision_delay") is None

    def test_nothing_sampled(self) -> None:
        """Breaks if a run without samples has a variance."""
        assert metrics.value(run(), "own.queue_variance") is None


class TestSharing:
    def shared(self) -> Run:
        """Two switches of two ports: accuracies 20 and 50 % in the first slot, 0 and 100 % in the
        second; the sample at 0 is no slot, that at 30 s comes after the last flow's start."""
        rows = [
            (0, 0.0, 0.0, 0.0, 0.0),
            (10, 0.5, 0.6, 0.4, 0.6),
            (20, 0.3, 0.3, 0.4, 0.2),
            (30, 0.1, 0.9, 0.1, 0.9),
        ]
        ports = ["leaf0-spine0", "leaf0-spine1", "leaf1-spine0", "leaf1-spine1"]
        table = {
            "time_ps": [time * S for time, *_ in rows for _ in ports],
            "port": ports * len(rows),
            "utilisation": [value for _, *values in rows for value in values],
        }
        return run({"share": table}, window=(0, 25 * S))

    def test_of_slots_and_switches(self) -> None:
        """Breaks if ports of unlike switches are compared, or the first or a cut slot counts."""
        found = self.shared()
        assert metrics.value(found, "own.sharing_mean") == pytest.approx(42.5)
        assert metrics.value(found, "own.sharing_max") == pytest.approx(100.0)
        assert metrics.value(found, "own.sharing_min") == pytest.approx(0.0)

    def test_against_time(self) -> None:
        """Breaks if a slot is not the mean of its switches, at its end in seconds."""
        x, y = series.of(self.shared(), "sharing")
        assert x.tolist() == [10.0, 20.0]
        assert y == pytest.approx([35.0, 50.0])

    def test_idle_port(self) -> None:
        """Breaks if the worst slot, one with an idle port, is left out of the largest, makes the
        mean infinite, or if one in which all ports are idle counts."""
        slots = {0: [0.0, 0.0], 1: [0.0, 0.5], 2: [0.4, 0.5], 3: [0.0, 0.0]}
        table = {
            "time_ps": [time * S for time in slots for _ in "bc"],
            "port": ["a-b", "a-c"] * len(slots),
            "utilisation": [value for values in slots.values() for value in values],
        }
        found = run({"share": table}, window=(0, 3 * S))
        assert metrics.value(found, "own.sharing_mean") == pytest.approx(25.0)
        assert metrics.value(found, "own.sharing_max") == math.inf
        assert metrics.value(found, "own.sharing_min") == pytest.approx(25.0)
        none = {name: values[-2:] for name, values in table.items()}
        assert metrics.value(run({"share": none}, window=(0, 3 * S)), "own.sharing_max") is None


class TestLoop:
    def test_busiest_port(self) -> None:
        """Breaks if a return is another packet than the first more than a period after the last.

        Of port a's packets those at 1.5 and 3 ms return state (2.5 is a period later, not more);
        of b's one does. 20 bytes within 10 ms are 0.002 MB/s.
        """
        times = [500, 1500, 2500, 3000, 3500, 4000]
        probe = {
            "time_ps": [time * MS // 1000 for time in times],
            "port": ["a", "a", "a", "a", "b", "a"],
        }
        found = run({"loop": probe}, window=(0, 10 * MS))
        assert metrics.value(found, "own.loop_overhead") == pytest.approx(0.002)


class TestFlows:
    def test_duplicate_acks(self) -> None:
        """Breaks if "more than 3" is "at least 3", or the share is not in percent of all flows."""
        found = run(flows={"dup_acks": [0, 0, 1, 3, 4]})
        assert metrics.value(found, "own.dup_acks_1") == pytest.approx(60.0)
        assert metrics.value(found, "own.dup_acks_4") == pytest.approx(20.0)
        x, y = series.of(found, "dup_acks")
        assert (x[3], y[3], y[2], y[30]) == pytest.approx((3.0, 20.0, 40.0, 0.0))

    def test_mice_and_elephants(self) -> None:
        """Breaks if a flow of 100 KB is no mouse, or one of 10 MB an elephant."""
        found = run(flows={"bytes": [1, 100_000, 100_001, 10_000_000, 10_000_001]})
        assert metrics.value(found, "own.mice_share") == pytest.approx(40.0)
        assert metrics.value(found, "own.elephants_share") == pytest.approx(20.0)


class TestFits:
    def fitted(self, packets: int = 4000, gap: int = 1_100_000_000) -> Run:
        """A port that sends one packet, or two, between samples; waits grow and shrink."""
        generator = np.random.default_rng(7)
        starts = np.cumsum(gap + generator.integers(0, gap // 2, packets))
        probe = {
            "time_ps": starts,
            "port": pa.array(["a"] * packets).dictionary_encode(),
            "waited_ps": generator.integers(0, 8 * gap, packets),
            "size": generator.integers(100, 1500, packets),
        }
        return run({"fit-qall": probe}, key="fitted")

    def test_numbers_are_those_of_one_fit(self) -> None:
        """Breaks if a metric reads another degree, coefficient or sample than its name says."""
        found = self.fitted()
        fit = fits.fit_of(found)
        assert fit is not None
        assert metrics.value(found, "own.fit_pearson_occupancy") == fit.correlation[0]
        assert metrics.value(found, "own.fit_pearson_interval") == fit.correlation[1]
        third = fit.polynomial(3)
        assert metrics.value(found, "own.fit_r2_3") == third.r2
        assert metrics.value(found, "own.fit_mre_3") == third.mre
        # 1; L, T; LL, LT, TT; LLL, LLT, LTT, TTT
        for name, place in {"1": 0, "L": 1, "T": 2, "LT": 4, "LLT": 7, "TTT": 9}.items():
            value = metrics.value(found, f"own.fit_coefficient_3_{name}")
            assert value == third.coefficients[place]
        steps = np.diff([entry.r2 for entry in fit.fits])
        assert metrics.value(found, "own.fit_r2_least_step") == pytest.approx(steps.min())
        assert metrics.value(found, "own.fit_r2_after_cubic") == pytest.approx(steps[2:].sum())

    def test_samples_are_shuffled_and_divided(self) -> None:
        """Breaks if other than three quarters are fitted to, or samples stay in order of time."""
        found = fits.fit_of(self.fitted())
        assert found is not None and found.samples is not None
        run = self.fitted()
        plain = fits.observe(run.case, run.result, period=fits.PERIOD, tau=fits.TAU)
        assert len(found.samples) == len(plain)
        assert sorted(found.samples.traffic) == sorted(plain.traffic)
        assert found.samples.traffic.tolist() != plain.traffic.tolist()

    def test_nothing_to_fit(self) -> None:
        """Breaks if a run whose queues never grew ends in an error instead of no value."""
        probe = {
            "time_ps": pa.array(range(0, 100 * 2 * MS, 2 * MS)),
            "port": pa.array(["a"] * 100).dictionary_encode(),
            "waited_ps": [0] * 100,
            "size": [100] * 100,
        }
        found = run({"fit-qall": probe}, key="idle")
        assert metrics.value(found, "own.fit_r2_1") is None
        assert len(series.of(found, "fit_r2")[0]) == 0

    def test_curves(self) -> None:
        """Breaks if traffic is not averaged over samples that are alike."""
        x, y = fits.binned(
            np.array([1.0, 3.0, 5.0]), np.array([10.0, 20.0, 60.0]), np.array([0, 0, 1])
        )
        assert x.tolist() == [2.0, 5.0]
        assert y.tolist() == [15.0, 60.0]
        degrees, _ = series.of(self.fitted(), "fit_mre")
        assert degrees.tolist() == [1, 2, 3, 5, 8, 10]


def test_returns_are_searched_among_numbers_of_one_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if a return is not the first packet more than a period after the last, or if each
    search copies all times into another type, which took minutes for a run."""
    searched = []
    search = np.searchsorted

    def watched(times: Any, value: Any, side: Any) -> Any:
        searched.append(times)
        return search(times, value, side)

    monkeypatch.setattr(np, "searchsorted", watched)
    times = np.array([5, 12, 15, 22, 23, 40], dtype=np.uint64)
    assert samples.returns(times, 10).tolist() == [1, 4, 5]
    assert {found.dtype for found in searched} == {np.dtype(np.int64)}
    assert len({id(found) for found in searched}) == 1
