"""Refusals are values: their parts are attributes, and their one line is made of these."""

import pickle
from pathlib import Path

import pytest

from leafspine import catalogue, plain, scenario
from leafspine.errors import InputError, ScenarioError, refused
from leafspine.reproduce.figures import read_figure
from test_engine import SMALL, python

FIGURE = """\
title = "One"
place = "Fig. 1"
[runs.main]
[[panel]]
name = "a"
kind = "bra"
metric = "all.fct_mean"
"""


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "found 1; allowed: 2"),
        ({"key": "a.b"}, "a.b: found 1; allowed: 2"),
        ({"file": "f.toml", "line": 3, "key": "a"}, "f.toml:3: a: found 1; allowed: 2"),
        ({"file": "--lb", "nearest": "ecmp"}, '--lb: found 1; allowed: 2; did you mean "ecmp"?'),
    ],
)
def test_a_refusal_is_made_of_its_parts(parts: dict[str, object], said: str) -> None:
    """Breaks if a part is lost between the message and the attributes, or by a worker's pipe."""
    error = refused("1", "2", **parts)  # type: ignore[arg-type]
    assert str(error) == said
    wanted = dict.fromkeys(("file", "line", "key", "nearest"), None) | parts
    assert error.parts() == {**wanted, "found": "1", "allowed": "2"}
    assert pickle.loads(pickle.dumps(error)).parts() == error.parts()


def test_whatever_refuses_says_what_is_allowed(tmp_path: Path) -> None:
    """Breaks if a caller has to take the message apart to know what was wrong."""
    (tmp_path / "figure.toml").write_text(FIGURE)
    with pytest.raises(InputError) as caught:
        read_figure(tmp_path, "paper")
    error = caught.value
    assert (error.file, error.key) == (str(tmp_path / "figure.toml"), "panel 'a'.kind")
    assert (error.found, error.nearest) == ("'bra'", "bar")
    assert error.allowed == "line, bar, cdf, time, points, table"
    with pytest.raises(InputError) as caught:
        catalogue.find("scheme", [{"name": "ecmp"}, {"name": "letflow"}], "letflw")
    assert (
        caught.value.parts()
        == refused("'letflw'", "ecmp, letflow", key="scheme", nearest="letflow").parts()
    )
    with pytest.raises(InputError) as caught:
        plain.decode(Path("a.toml"), b"\x1f\x8b")
    assert (caught.value.file, caught.value.found) == ("a.toml", "a gzip file")
    with pytest.raises(InputError) as caught:
        scenario.refuse_options("run", {"load": 0.5})
    assert (caught.value.key, caught.value.found) == (
        "load",
        "an argument that run does not have",
    )


LINES = """
import sys
from pathlib import Path
from leafspine.errors import InputError
from leafspine.reproduce.figures import read_figure
from leafspine.reproduce.claims import read_claims
folder = Path(sys.argv[1])
for read, line, key in (
    (lambda: read_figure(folder, "paper"), 6, "panel 'a'.kind"),
    (lambda: read_claims(folder / "claims.toml"), 9, "C2.test.metrics"),
):
    try:
        read()
    except InputError as error:
        assert (error.line, error.key) == (line, key), error.parts()
        assert f".toml:{line}: {key}: found " in str(error), str(error)
    else:
        raise AssertionError(key)
"""

CLAIMS = """\
[[claim]]
id = "C1"
type = "bg"
place = "p. 1"
says = "a"
reason = "b"
[[claim]]
id = "C2"
test = [{ scheme = "x", metrics = "all.fct_mean", metric = "all.fct_mean" }]
type = "rise"
place = "p. 2"
says = "c"
"""


def test_mistakes_in_figures_and_claims_have_their_line(tmp_path: Path) -> None:
    """Breaks if a mistake among a paper's sixty claims has to be searched for."""
    (tmp_path / "figure.toml").write_text(FIGURE)
    (tmp_path / "claims.toml").write_text(CLAIMS)
    done = python("-c", LINES, tmp_path)
    assert done.returncode == 0, done.stderr


SAME = f"""
from leafspine import scenario as s
from leafspine.errors import refused
try:
    s.single(s.read('''{SMALL}'''), [("aqm.treshold", "9pkt"), ("aqm.scheme", "red")])
except s.InputError as error:
    assert error.found and error.allowed, error.parts()
    assert error.file == "--set" and error.key == "aqm.treshold", error.parts()
    parts = error.parts()
    parts["file"], parts["key"] = "--set aqm.treshold", None
    assert str(error) == str(refused(**parts)), str(error)
"""


def test_the_engine_and_the_package_have_the_same_words() -> None:
    """Breaks if a wrong key reads otherwise in a scenario than in a figure's file."""
    done = python("-c", SAME)
    assert done.returncode == 0, done.stderr
    assert issubclass(ScenarioError, InputError)
