"""What a run may need and do, and what becomes of one that does more."""

import json
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

import leafspine
from leafspine import memory, scenario
from leafspine.engine import CHECK, Case
from leafspine.places import side_by_side
from test_engine import SMALL, python
from test_engine import leafspine as real
from test_results import contents

Cli = Callable[..., tuple[int, str, str]]

FUZZ = Path(__file__).parent / "fuzz_api.py"
REPORT = "this is a fault of leafspine or of a scheme from outside: please report it"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


# The check


def test_a_checked_run_leaves_the_same_files(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if the check changes a result, or its name, or is not recorded."""
    monkeypatch.delenv(CHECK)
    real("run", small, "--out", tmp_path / "plain")
    real("run", small, "--out", tmp_path / "checked", "--check")
    folders = [tmp_path / "plain", tmp_path / "checked"]
    timings = [json.loads((folder / "timing.json").read_text()) for folder in folders]
    assert [timing["checked"] for timing in timings] == [False, True]
    assert contents(folders[0]) == contents(folders[1])


def test_an_unchecked_result_is_checked_when_asked(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if --check takes a result on trust, loses a file that was put beside it, or runs a
    checked one again."""
    monkeypatch.delenv(CHECK)
    out = tmp_path / "out"
    leafspine.run(scenario, out=out)
    (out / "notes.txt").write_text("mine")
    before = (out / "summary.json").read_bytes()
    assert leafspine.run(scenario, out=out, check=True).timing["checked"]
    made = (out / "timing.json").read_bytes()
    assert json.loads(made)["checked"]
    assert (out / "summary.json").read_bytes() == before
    assert (out / "notes.txt").read_text() == "mine"
    leafspine.run(scenario, out=out, check=True)
    leafspine.run(scenario, out=out)
    assert (out / "timing.json").read_bytes() == made


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_the_check_reaches_the_engine(
    cli: Cli, scenario: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if --check, or the environment, is forgotten on the way to the engine or a worker."""
    unchecked = (verb, scenario, "--set", "run.fake_check=true")
    assert cli(*unchecked, "--out", "by-environment")[0] == 0
    monkeypatch.delenv(CHECK)
    assert cli(*unchecked, "--out", "without")[0] == 1
    assert cli(*unchecked, "--out", "by-option", "--check")[0] == 0


# Panics, faults, standstill


def test_a_panic_is_an_engine_error_with_its_place(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if a panic in the engine reaches the user as anything but one line, or Python and the
    command line say different things, or the scenario is lost."""
    monkeypatch.setenv("LEAFSPINE_TEST_PANIC", "1")
    monkeypatch.setenv("RUST_BACKTRACE", "1")
    code = (
        "import sys, leafspine\n"
        "try: leafspine.run(sys.argv[1])\n"
        "except leafspine.EngineError as error:\n"
        "    assert '[topology]' in error.scenario\n"
        "    print(error)\n"
    )
    api = python("-c", code, small)
    assert api.stderr == ""
    assert api.stdout.startswith("the engine broke off at crates/py/src/guard.rs:")
    assert REPORT in api.stdout
    run = real("run", small, code=3)
    assert run.stderr == f"leafspine: {api.stdout}"
    compared = real("compare", small, code=3).stderr
    assert compared.splitlines()[-1] == f"leafspine: no run finished: {api.stdout.strip()}"


@pytest.mark.parametrize("verb", ["run", "compare"])
@pytest.mark.parametrize(("what", "code"), [("fault", 3), ("stuck", 1), ("fail", 1)])
def test_exit_codes_tell_whose_fault_it_is(
    cli: Cli, scenario: Path, verb: str, what: str, code: int
) -> None:
    """Breaks if a fault of leafspine's own looks like the user's, or the other way round."""
    found, _, err = cli(verb, scenario, "--set", f"run.fake_{what}=true")
    assert (found, "Traceback" in err) == (code, False)


def test_a_stuck_run_says_so(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if flows that cannot make it keep a run going, or the diagnosis gets lost on its way.

    Of a million packets a link loses all but one: nothing that matters here depends on which.
    """
    small.write_text(SMALL.replace('delay = "5us" }', 'delay = "5us", loss = 0.999999 }', 1))
    said = real("run", small, code=1).stderr
    assert said.startswith("leafspine: stuck at ")
    assert said.count("\n") == 1
    assert "no flow has had a new byte for " in said
    assert "under way: flow 0 (host" in said
    ended = real("run", small, "--set", "run.until=1s", "--json").stdout
    assert json.loads(ended)["flows_finished"] == 0


def test_flows_that_did_not_start_are_counted(small: Path) -> None:
    """Breaks if a run that ends early says nothing of the flows that had not begun."""
    done = real("run", small, "--set", "run.until=1ms", "--json")
    summary = json.loads(done.stdout)
    assert summary["flows"] + summary["flows_not_started"] == 60
    assert summary["flows_not_started"] > 0
    assert "had not started when the run ended" in summary["warnings"][0]


# Memory


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_what_needs_more_than_there_is_does_not_start(small: Path, verb: str) -> None:
    """Breaks if a run that cannot fit is started, or refused without a number, or with code 1."""
    flows = ("--set", "workload.0.flows=200000000", "--memory", "4GB")
    said = real(verb, small, *flows, code=2).stderr
    assert said.count("\n") == 1
    assert "needs about 113.0 GB of memory" in said.replace("113.1", "113.0")
    assert "for flows" in said
    assert "4.0 GB may be taken" in said
    assert "--memory" in said


def test_more_flows_than_can_be_numbered_are_refused(small: Path) -> None:
    """Breaks if so many flows are found out only when the last has started."""
    many = ("--set", "workload.0.flows=300000000", "--memory", "unlimited")
    said = real("run", small, *many, code=2).stderr
    assert "found 300000000 flows in all; allowed: at most 2^28" in said


def test_what_nobody_can_foresee_is_stopped(small: Path) -> None:
    """Breaks if a probe may fill the memory: how many packets it will see is not known before."""
    small.write_text(SMALL + '[[probe]]\nkind = "packets"\nports = "*"\n')
    more = ("--set", "workload.0.flows=20000", "--memory", "250MB")
    said = real("run", small, *more, code=1).stderr
    assert "the run holds " in said
    assert "rows of flows and probes" in said


SIZES = {
    "small": (8, "ecmp", 'kind = "poisson"\nload = 0.5\nflows = 1000'),
    "many flows": (8, "ecmp", 'kind = "poisson"\nload = 0.5\nflows = 300000'),
    "overload": (8, "ecmp", 'kind = "poisson"\nload = 3.0\nload_basis = "host"\nflows = 40000'),
    "tables": (512, "letflow", 'kind = "poisson"\nload = 0.5\nflows = 1000'),
    "at once": (64, "ecmp", 'kind = "long-flows"\ncount = 40000'),
    "a probe": (
        8,
        "ecmp",
        'kind = "poisson"\nload = 0.5\nflows = 2000\n'
        '[[probe]]\nkind = "queue"\nports = "leaf*"\nevery = "20ns"',
    ),
    "many ports": (
        512,
        "ecmp",
        'kind = "poisson"\nload = 0.1\nflows = 4000\n'
        '[[probe]]\nkind = "queue"\nports = "*"\nevery = "1us"',
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_the_estimate_is_near_what_is_taken(name: str) -> None:
    """Breaks if a run takes more than was thought, or less than a third of it.

    More than the estimate is what must not happen; a third, because flows and packets under way are
    guessed high, and the process's own share is a round number.
    """
    hosts, balancer, workload = SIZES[name]
    leaves = max(2, hosts // 16)
    text = f"""
        [topology]
        kind = "leaf-spine"
        leaves = {leaves}
        spines = 2
        hosts_per_leaf = {hosts // leaves}
        host_link = {{ rate = "10Gbps", delay = "1us" }}
        fabric_link = {{ rate = "40Gbps", delay = "1us" }}
        [load_balancer]
        scheme = "{balancer}"
        [[workload]]
        sizes = {{ kind = "fixed", bytes = "3KB" }}
        {workload}
    """
    code = (
        "import re, sys, leafspine\n"
        "from leafspine import scenario as s\n"
        "text, out = sys.argv[1:]\n"
        "case = s.single(s.read(text))\n"
        "leafspine.run(text, memory='unlimited')\n"
        # Not ru_maxrss, which has the largest size of the parent in it.
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())\n"
        "print(case.memory, int(peak[1]) * 1024)\n"
    )
    done = python("-c", code, text, "out")
    assert done.returncode == 0, done.stderr
    thought, taken = map(int, done.stdout.split())
    print(f"{name}: {memory.show(thought)} thought, {memory.show(taken)} taken")
    assert taken <= thought <= 3 * taken


def _case(need: int) -> Case:
    return Case("", (), 1, "", (), "", memory=need)


def test_fewer_runs_side_by_side_where_memory_is_short() -> None:
    """Breaks if workers need more memory than there is, or a case that fits alone is refused."""
    cases = [_case(300), _case(100)]
    assert side_by_side(8, cases, None) == (2, "")
    assert side_by_side(8, cases, 600) == (2, "")
    workers, remark = side_by_side(8, cases, 599)
    assert workers == 1
    assert remark.startswith("1 of 2 workers: a run takes up to ")
    assert side_by_side(8, [], 10) == (1, "")


def test_workers_share_the_memory(cli: Cli, many: Path) -> None:
    """Breaks if each of several workers may take all, or a remark about fewer does not show."""
    each = memory.PROCESS + 100_000_000
    sets = ("--set", "run.fake_memory=100000000", "--jobs", 4, "--seeds", 1)
    most = f"{2 * each}B"
    left = ("--set", f"run.fake_most={each - memory.PROCESS}")
    code, _, err = cli("compare", many, *sets, *left, "--memory", most, "--out", "a")
    assert code == 0, err
    assert "2 of 4 workers: a run takes up to 250.0 MB, and 500.0 MB of memory are free" in err
    code, _, err = cli("compare", many, *sets, "--memory", f"{each - 1}B", "--out", "b")
    assert (code, "may be taken" in err) == (2, True)


MEMINFO = "MemTotal: 900 kB\nMemFree: 10 kB\nMemAvailable:     500 kB\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"proc/meminfo": MEMINFO}, 500 * 1024),
        # Version 2: its own group, with pages that can be taken back; and one above it.
        (
            {
                "proc/self/cgroup": "0::/jobs/mine\n",
                "sys/fs/cgroup/jobs/mine/memory.max": "400000\n",
                "sys/fs/cgroup/jobs/mine/memory.current": "300000\n",
                "sys/fs/cgroup/jobs/mine/memory.stat": "anon 5\ninactive_file 50000\n",
            },
            150_000,
        ),
        (
            {
                "proc/self/cgroup": "0::/jobs/mine\n",
                "sys/fs/cgroup/jobs/mine/memory.max": "max\n",
                "sys/fs/cgroup/jobs/mine/memory.current": "300000\n",
                "sys/fs/cgroup/jobs/memory.max": "350000\n",
                "sys/fs/cgroup/jobs/memory.current": "340000\n",
            },
            10_000,
        ),
        # In a container the group's name is that of the host, and the root is its own.
        (
            {
                "proc/self/cgroup": "0::/docker/0123\n",
                "sys/fs/cgroup/memory.max": "350000\n",
                "sys/fs/cgroup/memory.current": "400000\n",
            },
            0,
        ),
        # Version 1.
        (
            {
                "proc/self/cgroup": "3:cpu:/x\n2:memory,hugetlb:/jobs\n",
                "sys/fs/cgroup/memory/jobs/memory.limit_in_bytes": "200000\n",
                "sys/fs/cgroup/memory/jobs/memory.usage_in_bytes": "80000\n",
                "sys/fs/cgroup/memory/jobs/memory.stat": "total_inactive_file 1000\n",
            },
            121_000,
        ),
    ],
)
def test_the_least_of_all_limits_counts(tmp_path: Path, files: dict[str, str], found: int) -> None:
    """Breaks if a limit of the system or of a control group is not seen, or not subtracted from."""
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory.available(tmp_path) == found


def test_the_limit_of_the_address_space_counts() -> None:
    """Breaks if a run is killed by ulimit -v instead of being refused."""
    code = (
        "import resource; from leafspine import memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))\n"
        "print(memory.available() <= 8 << 30)\n"
    )
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    assert python("-c", code).stdout == "True\n"


@pytest.mark.parametrize(
    ("text", "size"),
    [("64GB", 64 * 10**9), ("1.5KiB", 1536), ("unlimited", None), ("300B", 300)],
)
def test_sizes_of_memory(text: str, size: int | None) -> None:
    """Breaks if a size is read wrongly."""
    assert memory.parse(text) == size


@pytest.mark.parametrize("text", ["", "64", "GB", "-1GB", "0GB", "64 gb", "1e3GB", 5, None])
def test_sizes_that_are_none(text: object) -> None:
    """Breaks if a wrong size is taken for one, or refused without saying what is allowed."""
    with pytest.raises(leafspine.InputError, match="allowed: a size such as 64GB"):
        memory.parse(text)


# Arguments


def test_wrong_arguments_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks if any argument of the Python API, of whatever type or value, leads to an exception
    that is not leafspine's own, or to more than one line."""
    monkeypatch.chdir(tmp_path)
    done = python(FUZZ, 300)
    assert done.stdout == "ok\n", done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"csv": "yes"}, "csv: found 'yes' (str); allowed: True or False"),
        ({"out": 5}, "out: found 5 (int); allowed: a path"),
        (
            {"memory": 5},
            "memory: found 5 (int); allowed: a size such as 64GB or 500MiB, or unlimited",
        ),
        (
            {"run__seed": object},
            "a value of the scenario: found <class 'object'> (type); allowed: ",
        ),
    ],
)
def test_the_line_says_what_is_allowed(
    scenario: Path, arguments: dict[str, object], said: str
) -> None:
    """Breaks if an argument's error does not name it, what was found and what is allowed."""
    with pytest.raises(leafspine.InputError) as caught:
        leafspine.run(scenario, **arguments)  # type: ignore[arg-type]
    assert str(caught.value).startswith(said)


def test_a_scenario_that_contains_itself() -> None:
    """Breaks if a list within itself ends in a RecursionError."""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(leafspine.InputError, match="do not contain themselves"):
        scenario.read({"run": {"seed": endless}})
