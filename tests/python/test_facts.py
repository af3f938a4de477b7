"""What the engine says of a resolved scenario, held against the scenario's own text."""

from test_engine import SCENARIOS, python

# Directories of comparisons are named by this, and their manifests hold it.
FAMILY = """
import json, sys, tomllib
from hashlib import sha256
from pathlib import Path
from leafspine import scenario as s
from leafspine.reproduce import layers
for path in sys.argv[1:]:
    for case in s.expand(layers.read(Path(path)).source):
        tree = tomllib.loads(case.toml)
        del tree["version"], tree["run"]["seed"]
        text = json.dumps(tree, sort_keys=True)
        assert case.family == sha256(text.encode()).hexdigest()[:16], (path, case.label())
"""

NAMES = """
import sys, tomllib
from pathlib import Path
from leafspine import scenario as s
from leafspine.reproduce import layers
for path in sys.argv[1:]:
    case = s.expand(layers.read(Path(path)).source)[0]
    tree = tomllib.loads(case.toml)
    for place in ("load_balancer", "aqm", "hold", "host_edge", "transport"):
        scheme = getattr(case.facts, place)
        assert tree[place]["scheme"] == (scheme.name if scheme else "none"), (path, place)
    probes = [(probe["name"], probe["kind"]) for probe in tree.get("probe", [])]
    assert [(probe.name, probe.kind) for probe in case.facts.probes] == probes, path
    assert case.facts.pauses == (tree["switch"].get("pfc", "off") != "off"), path
    assert case.facts.recovery == ("recovery" in tree.get("measure", {})), path
"""

FABRIC = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_link = { rate = "1Gbps", delay = "5us" }
fabric_link = { rate = "1Gbps", delay = "5us" }
[[workload]]
kind = "poisson"
sizes = "web-search"
load = 0.5
flows = 60
"""

VALUES = f"""
from leafspine import scenario as s
from leafspine.facts import Amount
def facts(**more):
    return s.single(s.read('''{FABRIC}'''), s.to_settings(more)).facts
def buffer(**more):
    return facts(**more).buffer
assert buffer(switch__buffer="64pkt") == Amount(64)
assert buffer(switch__buffer="375KB") == Amount(375_000, in_bytes=True)
assert buffer(switch__buffer="1.5MiB") == Amount(1_572_864, in_bytes=True)
assert buffer(switch__shared_buffer="9MB") == Amount(9_000_000, in_bytes=True)
for written, found in (("10us", 10**7), ("1.5ms", 15 * 10**8), ("2s", 2 * 10**12)):
    qall = dict(load_balancer__scheme="qall", load_balancer__update_period=written)
    assert facts(**qall).load_balancer.params["update_period"] == found
ecn = facts(aqm__scheme="ecn-threshold", aqm__threshold="30KB").aqm.params
assert ecn["threshold"] == Amount(30_000, in_bytes=True)
assert facts().hold is None and facts().host_edge is None and facts().probe("a") is None
"""

SEEDS = f"""
from leafspine import scenario as s
def seeds(text, **more):
    source = s.read(text)
    return [case.seed for case in s.expand(source, s.comparing(source, more.items(), seeds=2))]
text = '''{FABRIC}'''
assert seeds(text) == [1, 2]
assert seeds(text + "[run]\\nseed = 1e3\\n") == [1000, 1001]
assert seeds(text + "[run]\\nseed = 5\\n", **{{"run.seed": "7"}}) == [7, 8]
try:
    seeds(text, **{{"run.seed": "often"}})
except s.InputError as error:
    assert error.key == "run.seed" and error.found.startswith('"often"'), vars(error)
else:
    raise AssertionError("a seed that is none is taken")
"""

LOOKS = f"""
from leafspine import kept_scenario, looks, scenario as s, style
from leafspine.run_figures import RunFigures
from types import SimpleNamespace
import pyarrow as pa
flows = pa.table({{"fct_ps": pa.array([], pa.uint64()), "ideal_fct_ps": pa.array([], pa.uint64()),
                   "bytes": pa.array([], pa.uint64())}})
def look(text):
    run = SimpleNamespace(scenario=text, summary={{}}, measured_flows=flows)
    return RunFigures(run)._sample().style
def text(**more):
    return s.single(s.read('''{FABRIC}'''), s.to_settings(more)).toml
assert look(text()) == style.of_scheme("ecmp")
linear = text(load_balancer__scheme="qall", load_balancer__variant="linear")
assert look(linear) == style.of_scheme("qall-linear")
bent = text(host_edge__scheme="flowbender", aqm__scheme="ecn-threshold")
assert look(bent) == style.of_scheme("flowbender")
# Of a scheme that this engine does not have, and with a trace that is gone.
assert look(text().replace('"ecmp"', '"mine"')) == style.of_scheme("")
gone = text() + '[[workload]]\\nkind = "trace"\\npath = "gone.csv"\\n'
assert look(gone) == style.of_scheme("ecmp")
"""


def passes(code: str, *words: object) -> None:
    done = python("-c", code, *words)
    assert done.returncode == 0, done.stderr


def test_families_are_hashes_of_what_the_scenario_says() -> None:
    """Breaks if the engine writes a number or a text otherwise than before: the directories of all
    comparisons would get other names, and older ones could not be extended."""
    passes(FAMILY, *SCENARIOS)


def test_schemes_and_probes_are_those_of_the_scenario() -> None:
    """Breaks if a figure is drawn in the style of a scheme that the run did not have."""
    passes(NAMES, *SCENARIOS)


def test_quantities_are_numbers_of_one_unit() -> None:
    """Breaks if a unit of a scenario is taken for another."""
    passes(VALUES)


def test_seeds_count_from_the_scenarios_own() -> None:
    """Breaks if ``--seeds`` starts elsewhere than at ``run.seed``, or takes a word for 1."""
    passes(SEEDS)


def test_a_run_has_the_look_of_what_it_is_about() -> None:
    """Breaks if a run's own figure has another colour than its variant in a comparison, if a file
    that is gone keeps it from being drawn, or a scheme of an extension that is not installed."""
    passes(LOOKS)
