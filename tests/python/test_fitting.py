"""Fits of traffic to queue behaviour: samples, least squares, files, the command line."""

import json
import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leafspine.errors import DamagedError, InputError, RunError
from leafspine.facts import Amount
from leafspine.qall import defaults, fitting, model, polynomials
from leafspine.qall.model import Fit, Split
from leafspine.qall.polynomials import Bounds
from leafspine.qall.samples import Samples, observe_port
from test_engine import SMALL, leafspine

MS = 10**9
US = 10**6
TEN = Amount(10)


def split(degrees: tuple[int, ...] = (1, 2, 3)) -> Split:
    return Split(300, 100, degrees)


def array(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def observe(
    starts: list[int],
    waited: list[int],
    sizes: list[int],
    period: int = 1000,
    buffer: Amount = TEN,
    since: int = 0,
) -> Samples:
    return observe_port(
        array(starts) * US,
        array(waited) * US,
        array(sizes),
        period=period * US,
        tau=10 * MS,
        buffer=buffer,
        since=since,
    )


class TestSamples:
    def test_by_hand(self) -> None:
        """Breaks if a sample is another than: the first dequeue more than a period after the last.

        Packets begin at 1001 (the first sample, left out), 1500, 2001 (a period, not more), 2002,
        2500, 3100 us. The fourth waited 600 us: those that began at 1500 and 2001 were ahead of it.
        The sixth waited 598 us from 2502 on, when all before it had begun.
        """
        starts, waited = [1001, 1500, 2001, 2002, 2500, 3100], [0, 0, 0, 600, 0, 598]
        found = observe(starts, waited, [100, 200, 300, 400, 500, 600])
        assert found.occupancy.tolist() == [20, 0]
        assert found.interval.tolist() == [1, 600]
        # 600 bytes began within 1001 us, 900 within 1098 us.
        assert found.traffic == pytest.approx([4800 / 1001e-6 / 1e3, 7200 / 1098e-6 / 1e3])

    def test_nothing_before_the_warmups_end(self) -> None:
        """Breaks if a sample includes packets that began in the warm-up, or waiting packets of then
        are forgotten: the first return after it opens the first interval."""
        starts, waited = [1001, 1500, 2001, 2002, 2500, 3100, 4200], [0, 0, 0, 0, 0, 0, 1700]
        sizes = [100, 200, 300, 400, 500, 600, 700]
        found = observe(starts, waited, sizes, since=1_600 * US)
        # Returns at 1001, 2002, 3100, 4200 us.
        assert found.interval.tolist() == [600, 1100]
        assert found.occupancy.tolist() == [0, 10]
        assert observe(starts, waited, sizes, since=1_001 * US).interval.tolist() == [1, 600, 1100]

    def test_occupancy_in_bytes(self) -> None:
        """Breaks if a buffer in bytes counts packets: 500 of 1,250 bytes waited."""
        starts, waited = [1001, 1500, 2001, 2002], [0, 0, 0, 600]
        found = observe(starts, waited, [100, 200, 300, 400], buffer=Amount(1250, True))
        assert found.occupancy.tolist() == [40]

    def test_intervals_end_at_tau(self) -> None:
        """Breaks if an interval is longer than tau, or not cut to whole microseconds."""
        found = observe_port(
            array([2 * MS, 2 * MS + 1_999_999 + MS, 60 * MS]),
            array([0, 0, 0]),
            array([1, 1, 1]),
            period=MS,
            tau=5 * MS,
            buffer=TEN,
        )
        assert found.interval.tolist() == [1001, 5000]

    def test_a_packet_that_begins_on_arrival_does_not_wait(self) -> None:
        """Breaks if who begins at the instant of arrival counts as waiting."""
        assert observe([1001, 2000, 2010], [0, 0, 10], [1, 1, 1]).occupancy.tolist() == [0]

    def test_too_little(self) -> None:
        """Breaks if ports with no packet or one make an error, or a sample."""
        for starts in ([], [5], [5000], [5000, 5001]):
            assert len(observe(starts, [0] * len(starts), [1] * len(starts))) == 0

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=80),
        st.integers(1, 12),
    )
    def test_against_a_queue_replayed(self, packets: list[tuple[int, int]], period: int) -> None:
        """Breaks if a sample differs from what a FIFO queue, walked packet by packet, gives."""
        now, free, queue = 0, 0, []
        for pause, length in packets:
            now += pause
            begins = max(now, free)
            free = begins + length
            queue.append((now, begins, length))
        expected, last, before, sent = [], 0, None, 0
        for at, (came, begins, length) in enumerate(queue):
            if begins - last > period:
                found = sum(1 for other in queue[:at] if other[1] > came)
                if before is not None and last > 0:
                    expected.append((found * 10, begins - before, sent * 8e3 / (begins - last)))
                last, sent = begins, 0
            before, sent = begins, sent + length
        starts = [begins for _, begins, _ in queue]
        waited = [begins - came for came, begins, _ in queue]
        found = observe(starts, waited, [length for *_, length in queue], period=period)
        rows = list(
            zip(
                found.occupancy.tolist(),
                found.interval.tolist(),
                found.traffic.tolist(),
                strict=True,
            )
        )
        assert rows == [(min(a, 100), b, pytest.approx(c)) for a, b, c in expected]


class TestLeastSquares:
    def test_terms_are_those_of_the_paper(self) -> None:
        """Breaks if a cross term is missing or the order is not that of eq. 10."""
        assert polynomials.terms(1) == ((0, 0), (1, 0), (0, 1))
        assert polynomials.terms(2)[3:] == ((2, 0), (1, 1), (0, 2))
        assert polynomials.terms(3)[6:] == ((3, 0), (2, 1), (1, 2), (0, 3))
        assert [len(polynomials.terms(degree)) for degree in defaults.DEGREES] == [
            3,
            6,
            10,
            21,
            45,
            66,
        ]

    @settings(deadline=None)
    @given(
        st.integers(1, 3),
        st.lists(st.integers(-50, 50), min_size=10, max_size=10),
        st.integers(0, 1000),
    )
    def test_a_known_polynomial_is_found(self, degree: int, numbers: list[int], seed: int) -> None:
        """Breaks if the coefficients of noiseless samples are not those that made them."""
        rng = np.random.default_rng(seed)
        occupancy, interval = rng.integers(0, 101, 400), rng.integers(7, 10_001, 400)
        terms = polynomials.terms(degree)
        true = np.array([number / 10 for number in numbers[: len(terms)]])
        x = Bounds.of(occupancy).normalise(occupancy), Bounds.of(interval).normalise(interval)
        traffic = polynomials.features(*x, degree) @ true + 2000.0
        if np.ptp(traffic) < 1e-6:
            return
        samples = Samples(occupancy, interval, traffic)
        found = model.least_squares(samples, split(degrees=(degree, degree + 1)), {}, [1], 400)
        scale = np.ptp(traffic)
        shift = np.zeros_like(true)
        shift[0] = traffic.min() - 2000.0
        own = found.polynomial(degree)
        assert own.terms == terms
        assert own.coefficients == pytest.approx((true - shift) / scale, abs=1e-7)
        for fit in found.fits:
            assert fit.r2 == pytest.approx(1.0, abs=1e-9)
            assert fit.mre < 1e-9 and fit.median_relative_error < 1e-9

    def test_accuracy_is_that_of_the_test_samples(self) -> None:
        """Breaks if the training samples are judged: the test ones are all 1,000 kb/s more."""
        rng = np.random.default_rng(1)
        occupancy, interval = rng.integers(0, 101, 400), rng.integers(0, 10_001, 400)
        occupancy[:2], interval[:2] = [0, 100], [0, 10_000]
        traffic = 10.0 * occupancy + 0.1 * interval + 500.0
        traffic[300:] += 1000.0
        found = model.least_squares(
            Samples(occupancy, interval, traffic), split(degrees=(1,)), {}, [1], 400
        )
        seen = traffic[300:]
        assert found.fits[0].mre == pytest.approx(float(np.mean(1000.0 / seen)))
        assert found.fits[0].r2 == pytest.approx(1 - 100 * 1e6 / np.sum((seen - seen.mean()) ** 2))

    def test_what_is_zero_has_no_relative_error(self) -> None:
        """Breaks if idle samples divide by zero, or are not counted."""
        errors = polynomials.relative_errors(np.array([0.0, 2.0, 4.0]), np.array([1.0, 1.0, 6.0]))
        assert errors.tolist() == [0.5, 0.5]
        occupancy, interval = np.arange(400) % 101, np.arange(400) * 7 % 10_001
        traffic = np.maximum(2000.0 - interval, 0.0)
        samples = Samples(occupancy, interval, traffic)
        found = model.least_squares(samples, split(), {}, [1], 400)
        assert found.zero_traffic == 100
        assert found.fits[0].mre == 0.0

    def test_measures_by_hand(self) -> None:
        """Breaks if R² or Pearson's r is another: residuals 1, 0, 1 of a spread of 2."""
        seen, fitted = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
        assert polynomials.r_squared(seen, fitted) == 0.0
        assert polynomials.r_squared(seen, seen) == 1.0
        assert polynomials.r_squared(np.ones(3), fitted) == 0.0
        assert polynomials.pearson(seen, seen**2) == pytest.approx(0.989743318610787)
        assert polynomials.pearson(seen, -seen) == pytest.approx(-1.0)

    def test_nothing_to_fit_is_an_error(self) -> None:
        """Breaks if queues that were always empty end in a division by zero."""
        idle = Samples(np.zeros(400, np.int64), np.arange(400), np.arange(400.0))
        with pytest.raises(RunError, match="occupancy was 0 in all 400 samples"):
            model.least_squares(idle, split(), {}, [1], 400)


def a_fit(degrees: tuple[int, ...] = (1, 2, 3, 5)) -> Fit:
    rng = np.random.default_rng(3)
    samples = Samples(
        rng.integers(0, 99, 400), rng.integers(3, 9_000, 400), rng.uniform(0, 4e5, 400)
    )
    wanted = split(degrees=degrees)
    plain = {"scenario": "# none\n", "train": wanted.train, "test": wanted.test}
    return model.least_squares(samples, wanted, plain, [4, 5], 1234)


class TestFiles:
    def test_a_fit_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        """Breaks if a number changes between writing and reading, or a file is missing."""
        written = fitting.write(a_fit(), tmp_path / "fit")
        assert fitting.load(tmp_path / "fit") == written
        names = {path.name for path in (tmp_path / "fit").iterdir()}
        wanted = "fit.json coefficients.toml scenario.toml samples.parquet SHA256SUMS"
        assert names == set(wanted.split())

    def test_the_snippet_has_the_variants_that_qall_can_take(self) -> None:
        """Breaks if a degree is under a wrong name, or one that no switch evaluates is there."""
        found = a_fit()
        variants = tomllib.loads(found.snippet())["variant"]
        keys = [variant["set"] for variant in variants]
        assert [key["load_balancer.variant"] for key in keys] == ["linear", "poly2", "poly3"]
        assert [len(key["load_balancer.coefficients"]) for key in keys] == [3, 6, 10]
        for key, fit in zip(keys, found.fits, strict=False):
            assert key["load_balancer.coefficients"] == pytest.approx(fit.coefficients, abs=1e-6)
            assert key["load_balancer.idle_growth"] is False
            low, high, *_ = key["load_balancer.normalise"]
            assert (low, high) == (found.occupancy.low, found.occupancy.high)

    def test_other_directories_are_left_alone(self, tmp_path: Path) -> None:
        """Breaks if a directory with something else, or another fit, is taken or overwritten."""
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(InputError, match="something else"):
            fitting._is_finished(tmp_path, {})
        found = fitting.write(a_fit(), tmp_path / "fit")
        assert fitting._is_finished(tmp_path / "fit", found.request)
        with pytest.raises(InputError, match="another scenario"):
            fitting._is_finished(tmp_path / "fit", {**found.request, "train": 7})
        (tmp_path / "fit" / "fit.json").write_text("{}")
        with pytest.raises(DamagedError, match=r"fit\.json is truncated, changed"):
            fitting.load(tmp_path / "fit")


BUSY = SMALL.replace("load = 0.5", "load = 0.9").replace("flows = 60", "flows = 2000")
OPTIONS = ("--train", 1000, "--test", 200, "--degrees", "1,2,3", "--period", "50us")


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    path = tmp_path / "busy.toml"
    path.write_text(BUSY)
    return path


class TestCommandLine:
    def test_a_fit_from_observation_to_a_run(self, busy: Path, tmp_path: Path) -> None:
        """Breaks if coefficients that were found cannot be simulated, or a fit is made twice."""
        words = ("fit-qall", "--scenario", busy, *OPTIONS, "--out", tmp_path / "fit")
        done = leafspine(*words, "--json")
        found = json.loads(done.stdout)
        assert "seed=1: 0 of 1200 samples so far" in done.stderr
        assert found["seeds"][0] == 1 and found["observed"] >= 1200
        assert [fit["degree"] for fit in found["fits"]] == [1, 2, 3]
        assert found["correlation"]["interval"] < 0
        again = leafspine(*words)
        assert again.stderr == ""
        assert "paper's R²" in again.stdout and "0.7824" in again.stdout
        refit = tmp_path / "refit.toml"
        refit.write_text(BUSY + (tmp_path / "fit" / "coefficients.toml").read_text())
        compared = json.loads(
            leafspine("compare", refit, "--out", tmp_path / "compared", "--json").stdout
        )
        assert compared["variants"] == [f"QALL-{v}, refitted" for v in ("linear", "poly2", "poly3")]
        assert compared["failures"] == []

    def test_more_seeds_are_run_until_there_are_enough_samples(
        self, busy: Path, tmp_path: Path
    ) -> None:
        """Breaks if one run's samples must do, or seeds repeat."""
        few = ("--set", "workload.0.flows=300", "--seed", 7, "--train", 8000)
        options = (*OPTIONS, *few, "--out", tmp_path / "fit")
        found = json.loads(leafspine("fit-qall", "--scenario", busy, *options, "--json").stdout)
        seeds = found["seeds"]
        assert len(seeds) > 1 and seeds == list(range(7, 7 + len(seeds)))

    def test_the_scenario_that_ships(self, tmp_path: Path) -> None:
        """Breaks if the default scenario does not run, or its own probe is not taken."""
        shorter = ("--set", "run.until=2s", "--set", "workload.0.load=3")
        words = ("--train", 2000, "--test", 100, "--degrees", "1", *shorter)
        found = json.loads(
            leafspine("fit-qall", *words, "--out", tmp_path / "fit", "--json").stdout
        )
        text = found["request"]["scenario"]
        assert 'ports = "spine*-leaf1*"' in text and text.count("[[probe]]") == 1
        more = ("--ports", "spine0-*", "--out", tmp_path / "fit2", "--json")
        text = json.loads(leafspine("fit-qall", *words, *more).stdout)["request"]["scenario"]
        assert 'ports = "spine0-*"' in text and text.count("[[probe]]") == 1

    @pytest.mark.parametrize(
        ("words", "code", "part"),
        [
            (["--degrees", "1,x"], 2, "expected whole numbers with commas"),
            (["--degrees", "0"], 2, "whole numbers from 1 to 12"),
            (["--train", "9"], 2, "10 coefficients"),
            (["--test", "1"], 2, "at least 2"),
            (["--period", "1"], 2, "period '1': expected a whole number of microseconds"),
            (["--tau", "0.5us"], 2, "tau '0.5us': expected a whole number of microseconds"),
            (["--ports", "leaf9-*"], 2, "leaf9-*"),
            (["--scenario", "missing.toml"], 2, "no such file"),
            (["--set", "sweep={ 'run.seed' = [1, 2] }"], 2, "describes 2 runs"),
            (["--period", "10s"], 1, "nothing to observe"),
        ],
    )
    def test_mistakes_are_one_line(
        self, busy: Path, tmp_path: Path, words: list[str], code: int, part: str
    ) -> None:
        """Breaks if a mistake is a traceback, has another exit code, or is not named."""
        start = ("--scenario", busy, *OPTIONS, "--out", tmp_path / "fit")
        done = leafspine("fit-qall", *start, *words, code=code)
        errors = [line for line in done.stderr.splitlines() if line.startswith("leafspine: ")]
        assert len(errors) == 1 and part in errors[0]
        assert not (tmp_path / "fit").exists()
