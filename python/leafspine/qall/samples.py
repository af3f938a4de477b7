"""What ports were observed to do: queue occupancy, dequeue interval and traffic, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leafspine.engine import Case
from leafspine.errors import RunError
from leafspine.facts import Amount
from leafspine.qall.defaults import PROBE
from leafspine.results import Result

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Samples:
    """What ports were seen to do: one item a sample.

    ``occupancy`` in whole percent, ``interval`` in whole microseconds, ``traffic`` in kb/s.
    """

    occupancy: Ints
    interval: Ints
    traffic: Floats

    def __len__(self) -> int:
        return len(self.traffic)

    def take(self, which: Ints) -> "Samples":
        """The samples with these numbers."""
        return Samples(self.occupancy[which], self.interval[which], self.traffic[which])

    def table(self) -> pa.Table:
        """An Arrow table of the three columns."""
        return pa.table(
            {
                "occupancy_percent": self.occupancy,
                "interval_us": self.interval,
                "traffic_kbps": self.traffic,
            }
        )

    @staticmethod
    def joined(parts: Sequence["Samples"]) -> "Samples":
        """Those of several ports or runs, one after the other."""
        return Samples(
            np.concatenate([part.occupancy for part in parts]),
            np.concatenate([part.interval for part in parts]),
            np.concatenate([part.traffic for part in parts]),
        )


def observe_port(
    starts: Ints,
    waited: Ints,
    sizes: Ints,
    *,
    period: int,
    tau: int,
    buffer: Amount,
    since: int = 0,
) -> Samples:
    """Samples of one port from its packets: starts of transmission, in order, and waits, in ps.

    ``sizes`` in bytes on the wire; ``period`` and ``tau`` in ps. The first sample's traffic and
    interval are not known: it is left out. Nothing before ``since`` is in any sample.
    """
    behind = returns(starts, period)
    behind = behind[starts[behind] >= since]
    which, before = behind[1:], behind[:-1]
    # What began no later than this packet came no longer waited.
    gone = np.searchsorted(starts, starts[which] - waited[which], side="right")
    bytes_before = np.concatenate([[0], np.cumsum(sizes)])
    waiting = bytes_before[which] - bytes_before[gone] if buffer.in_bytes else which - gone
    waiting = np.maximum(waiting, 0)
    interval = np.minimum(starts[which] - starts[which - 1], tau) // 10**6
    sent = (bytes_before[which] - bytes_before[before]) * 8
    # Bits in picoseconds, as kb/s.
    traffic = sent / (starts[which] - starts[before]) * 1e9
    return Samples(np.minimum(waiting * 100 // buffer.count, 100), interval, traffic)


def returns(starts: Ints, period: int) -> Ints:
    """Which packets' dequeues return state: the first more than ``period`` after the last."""
    # Of another type each search would convert, and copy, all of them.
    starts = starts.astype(np.int64, copy=False)
    found: list[int] = []
    last = 0
    while True:
        at = int(np.searchsorted(starts, last + period, side="right"))
        if at == len(starts):
            return np.array(found, dtype=np.int64)
        found.append(at)
        last = int(starts[at])


def observe(case: Case, result: Result, *, period: int, tau: int) -> Samples:
    """Samples of all ports that a run's probe has watched after its warm-up, port by port."""
    table = result.probes[PROBE]
    port = table["port"].combine_chunks()
    if not isinstance(port, pa.DictionaryArray):
        port = port.dictionary_encode()
    numbers = port.indices.to_numpy()
    buffer = case.facts.buffer
    if buffer is None:
        raise RunError(f"{case.label()}: the engine does not say how large buffers are")
    since = result.summary.get("warmup_ps", 0)
    columns = [table[name].to_numpy().astype(np.int64) for name in ("time_ps", "waited_ps", "size")]
    parts = []
    for code in range(int(numbers.max(initial=-1)) + 1):
        own = np.flatnonzero(numbers == code)
        starts, waited, sizes = (column[own] for column in columns)
        parts.append(
            observe_port(starts, waited, sizes, period=period, tau=tau, buffer=buffer, since=since)
        )
    return Samples.joined(parts) if parts else _nothing()


def _nothing() -> Samples:
    none = np.zeros(0, dtype=np.int64)
    return Samples(none, none, none.astype(np.float64))
