"""Wrong arguments of every kind for the Python API on the real engine: a program of its own.

Each call has good arguments but one, which is junk. It may work, if the junk happens to be good; if
not, the exception is one of leafspine's own with one line of text.
"""

import datetime
import decimal
import pathlib
import sys

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import leafspine

SCENARIO = """\
[topology]
kind = "star"
hosts = 4
host_link = { rate = "10Gbps", delay = "1us" }

[[workload]]
kind = "long-flows"
count = 3
sizes = { kind = "fixed", bytes = "3KB" }
"""


class Unshowable:
    """Even its repr is broken."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr\nfor you")


CYCLE: list[object] = []
CYCLE.append(CYCLE)

ODD: list[object] = [
    None, True, False, 0, 1, -1, 2**63, 2**70, -(2**70), 0.5, float("nan"), float("inf"), 1j,
    "", "x", "\0", "a\nb", "\ud800", "none", "3KB", "64GB", "unlimited", b"bytes", bytearray(b"x"),
    [], [1], ["ecmp"], ["no-such"], [None], [[1]], [True], ["\ud800"], (), (0.5,), {}, {"a": 1},
    {1: 2}, {"run": 5}, {"run": {"seed": Unshowable()}}, {"\ud800": 1}, set(), range(3), object(),
    object, print, Unshowable(), CYCLE, {"a": CYCLE}, pathlib.Path("/dev/null/x"),
    pathlib.Path(), pathlib.Path("/proc/self/mem"), decimal.Decimal(1),
    datetime.date(2000, 1, 1), [Unshowable()], {"workload.0.count": [1, Unshowable()]},
    {"workload.0.count": 5}, {"": [1]}, {"a..b": [1]}, {"run.seed": []}, {"run.seed": [CYCLE]},
]  # fmt: skip

JUNK = st.sampled_from(range(len(ODD))).map(ODD.__getitem__) | st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)

# A call that fails before anything is started keeps the program fast: comparisons start processes.
GOOD = {
    "run": {},
    "compare": {"lb": ["no-such-scheme"]},
    "sweep": {"": {"no.such.key": [1]}},
    "fit_qall": {"degrees": [-5]},
}
NAMES = {
    "run": ["scenario", "out", "csv", "check", "memory", "progress_bar", "run__seed", "no__such"],
    "compare": ["scenario", "lb", "load", "seeds", "jobs", "out", "csv", "check", "memory",
                "progress_bar", "command", "topology__hosts", "variant"],
    "sweep": ["scenario", "", "seeds", "jobs", "out", "csv", "check", "memory", "run__seed"],
    "fit_qall": ["scenario", "train", "test", "degrees", "period", "tau", "ports", "out",
                 "progress_bar", "run__seed", "a b"],
}  # fmt: skip
CALLS = [(verb, name) for verb, names in NAMES.items() for name in names]


def call(verb: str, name: str, junk: object) -> None:
    arguments = {**GOOD[verb], name: junk}
    scenario = arguments.pop("scenario", SCENARIO)
    places = [scenario, arguments.pop("")] if "" in arguments else [scenario]
    try:
        getattr(leafspine, verb)(*places, **arguments)
    except leafspine.LeafspineError as error:
        assert str(error).strip(), f"{verb}({name}): no text"
        assert "\n" not in str(error), f"{verb}({name}): more than one line: {error}"


@settings(
    max_examples=int(sys.argv[1]),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.sampled_from(CALLS), JUNK)
@example(("run", "scenario"), "\ud800")
def wrong_arguments(where: tuple[str, str], junk: object) -> None:
    call(*where, junk)


if __name__ == "__main__":
    wrong = []
    for verb, name in CALLS:
        for at, odd in enumerate(ODD):
            try:
                call(verb, name, odd)
            except Exception as error:
                wrong.append(f"{verb}({name}=ODD[{at}], {type(odd)}): {error!r}")
    if wrong:
        sys.exit("\n".join(wrong))
    wrong_arguments()
    print("ok")
