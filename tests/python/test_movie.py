"""The page in which the fabric moves: what is in it, how large it is, and that it plays."""

import base64
import json
import re
import subprocess
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import leafspine
from conftest import SCENARIO, VARIANTS
from leafspine import comparison_movie, movie, results
from leafspine.movie import Part
from test_engine import leafspine as engine
from test_plot import leaf_spine
from test_report import CHROMIUM, screenshot

MS = 10**9

CHANGED = [
    {
        "at_ps": at * MS,
        "link": "leaf0-spine1",
        "rate_bps": rate * 10**9,
        **dict.fromkeys(("delay_ps", "loss", "up", "flap")),
        "restores": rate == 10,
    }
    for at, rate in ((4, 2), (8, 10))
]
"""A link of 10 Gb/s has 2 Gb/s for a time."""

OWN = """\
[topology]
kind = "file"
path = "own.csv"
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "10Gbps", delay = "1us" }

[[topology.change]]
link = "top-rack-b*"
at = "20us"
rate = "2Gbps"

[[workload]]
kind = "trace"
path = "flows.csv"

[[probe]]
kind = "utilisation"
ports = "*"
every = "10us"

[[probe]]
kind = "packets"
ports = "*"
"""
"""Hosts and switches with names of all kinds."""


@dataclass
class Run:
    """A run with probes of all ports, made up."""

    names: list[str]
    probes: dict[str, pa.Table] = field(default_factory=dict)
    end: int = 10 * MS

    @property
    def summary(self) -> dict[str, Any]:
        return {"end_ps": self.end, "link_changes": CHANGED}

    @property
    def ports(self) -> pa.Table:
        return pa.table({"name": self.names})

    @property
    def flows(self) -> pa.Table:
        return pa.table({"flow": [0, 7], "src": [0, 1], "dst": [3, 2], "bytes": [1000, 2_000_000]})

    def see(self, name: str, samples: int, **columns: Any) -> "Run":
        """Adds a probe with so many samples of every port; columns are ports by samples."""
        times = np.linspace(0, self.end, samples).astype(np.uint64)
        table = {"time_ps": np.tile(times, len(self.names))}
        table["port"] = pa.array(self.names).take(
            pa.array(np.repeat(np.arange(len(self.names)), samples))
        )
        for column, values in columns.items():
            table[column] = np.broadcast_to(values, (len(self.names), samples)).ravel()
        self.probes[name] = pa.table(table)
        return self


def small(seed: int = 1) -> Run:
    """Two leaves, two spines, use and queues that change from sample to sample."""
    names = leaf_spine(2, 2, 2)
    draw = np.random.default_rng(seed)
    shape = (len(names), 101)
    run = Run(names).see("use", 101, utilisation=draw.random(shape))
    queue = draw.integers(0, 90, shape)
    queue[4, 45] = 500
    run.see("queue", 101, packets=queue.astype(np.uint64), bytes=queue * 1500)
    marks = (draw.random(shape) < 0.1).astype(np.uint64)
    drops = (draw.random(shape) < 0.02).astype(np.uint64) * 9
    run.see("signals", 101, marks=marks, drops=drops)
    run.probes["packets"] = pa.table(
        {
            "time_ps": np.array([MS, 2 * MS, 2 * MS, 9 * MS], dtype=np.uint64),
            "port": ["leaf0-spine0", "leaf0-spine1", "spine1-leaf1", "leaf0-spine0"],
            "flow": [0, 0, 0, 7],
            "segment": [0, 1, 1, 0],
            "flags": [64, 64, 64, 2],
        }
    )
    return run


def data_of(page: str) -> dict[str, Any]:
    """What the page plays."""
    [text] = re.findall('<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found: dict[str, Any] = json.loads(text)
    return found


def planes(data: Mapping[str, Any], run: int = 0) -> np.ndarray:
    """Use, queue and signals, and pauses where they were watched, by port and frame."""
    raw = zlib.decompress(base64.b64decode(data["runs"][run]["planes"]))
    return np.frombuffer(raw, np.uint8).reshape(-1, len(data["ports"]), data["frames"])


def test_every_frame_is_what_was_measured() -> None:
    """Breaks if a link has another's colour, another time's, or a queue another length."""
    run = small()
    data = data_of(movie.render([Part("RPS", "#E69F00", run)], "x"))
    # The sample at 0 is of no time.
    assert data["frames"] == 100
    use, queue, signals = planes(data)
    port = run.names.index("leaf1-spine0#1")
    table = run.probes["use"].to_pandas()
    shares = table[table["port"] == "leaf1-spine0#1"]["utilisation"].to_numpy()
    assert np.abs(use[port] / movie.LEVELS - shares[1:]).max() < 0.01
    told = run.probes["signals"].to_pandas()
    own = told[told["port"] == "leaf1-spine0#1"]
    assert int((signals[port] & 15 > 0).sum()) == int((own["marks"][1:] > 0).sum())
    assert int((signals[port] >> 4 > 0).sum()) == int((own["drops"][1:] > 0).sum())
    assert [tuple(at) for at in np.argwhere(queue == movie.LEVELS)] == [(4, 44)]
    assert data["mostQueue"] == 500


def test_pauses_are_those_that_were_measured() -> None:
    """Breaks if a port is shown as paused that was not, or then, or for another share of the frame:
    a sample is of the time before it; or if a page without such probes has room for them."""
    run = small()
    assert len(planes(data_of(movie.render([Part("", "#000000", run)], "x")))) == 3
    step = run.end // 100
    paused = np.zeros((len(run.names), 101), dtype=np.uint64)
    paused[2, 11:13] = [step // 2, step]
    paused[7, 60] = 1
    run.see("pauses", 101, paused_ps=paused, pauses=(paused > 0).astype(np.uint64))
    data = data_of(movie.render([Part("", "#000000", run)], "x"))
    assert data["runs"][0]["watched"]["pause"] is True
    found = planes(data)[3]
    half = -(-movie.LEVELS // 2)
    assert {tuple(at): found[tuple(at)] for at in np.argwhere(found)} == {
        (2, 10): half,
        (2, 11): movie.LEVELS,
        (7, 59): 1,
    }


def test_many_samples_become_few_frames() -> None:
    """Breaks if a frame shows one of its samples instead of all: drops between frames get lost."""
    names = leaf_spine(2, 2, 2)
    drops = np.zeros((len(names), 4001), dtype=np.uint64)
    drops[3, 1234] = 1
    packets = np.zeros((len(names), 4001), dtype=np.uint64)
    packets[5, 777] = 50
    run = Run(names).see("queue", 4001, packets=packets, bytes=packets)
    run.see("signals", 4001, marks=0 * drops, drops=drops)
    data = data_of(movie.render([Part("", "#000000", run)], "x"))
    _, queue, signals = planes(data)
    assert data["frames"] == movie.FRAMES
    assert [tuple(at) for at in np.argwhere(signals)] == [(3, 61)]
    assert [tuple(at) for at in np.argwhere(queue)] == [(5, 38)]
    assert data["runs"][0]["watched"]["utilisation"] is False


def test_runs_go_in_step() -> None:
    """Breaks if a run that ends sooner is stretched, or goes on moving after its end."""
    long, short = small(1), small(2)
    long.end = 20 * MS
    for name in ("use", "queue", "signals"):
        times = long.probes[name]["time_ps"].to_numpy() * 2
        long.probes[name] = long.probes[name].set_column(0, "time_ps", pa.array(times))
    data = data_of(movie.render([Part("a", "#000000", long), Part("b", "#111111", short)], "x"))
    use = planes(data, 1)[0]
    assert use[:, :50].any()
    assert not use[:, 51:].any()


def test_paths_and_changes_are_those_of_the_run() -> None:
    """Breaks if an ACK is taken for a flow's path, or a link that is whole again for a slow one."""
    [run] = data_of(movie.render([Part("", "#000000", small())], "x"))["runs"]
    assert [change[1:] for change in run["changes"]] == [
        ["leaf0-spine1", "2 Gb/s", False],
        ["leaf0-spine1", "10 Gb/s", True],
    ]
    [flow] = run["flows"]
    assert flow["text"] == "0: host0 to host3, 1 KB"
    names = leaf_spine(2, 2, 2)
    went = [{names[port] for port in ports} for ports in flow["hops"].values()]
    # The hosts' own links were not watched, but there is no other way.
    hosts = {"host0-leaf0", "leaf1-host3"}
    assert went == [{"leaf0-spine0", *hosts}, {"leaf0-spine1", "spine1-leaf1", *hosts}]


def test_a_path_is_completed_where_there_is_one_way() -> None:
    """Breaks if a followed flow ends in the air, or a link is guessed among parallel ones."""
    names = [name for name in leaf_spine(2, 2, 2) if "spine0" in name or "#" not in name]
    ways = movie._Ways(names)

    def complete(port: str) -> set[str]:
        found = movie._certain(ways, "host0", "host3", [names.index(port)])
        return {names[at] for at in found}

    assert complete("leaf0-spine1") == {"host0-leaf0", "leaf1-host3", "spine1-leaf1"}
    assert complete("leaf0-spine0#1") == {"host0-leaf0", "leaf1-host3"}


def test_nodes_have_the_names_of_the_users_file(tmp_path: Path) -> None:
    """Breaks if a host of a file of links is called by its number, a switch with one link passes
    for a host, or a changed link is not found under its own name."""
    (tmp_path / "own.csv").write_text(
        "source,target,target_role\nweb-1,rack-a,\nhost7,rack-b,\ndb,rack-b,\n"
        "rack-a,top,\nrack-b,top,\nrack-b,top,\ntop,stub,switch\n"
    )
    (tmp_path / "flows.csv").write_text("start_us,src,dst,bytes\n1,web-1,db,100000\n")
    (tmp_path / "own.toml").write_text(OWN)
    engine("run", tmp_path / "own.toml", "--out", tmp_path / "out")
    run = leafspine.Result.load(tmp_path / "out")
    data = data_of(movie.render([Part("", "#000000", run)], "x"))
    assert {name: tier for name, tier, *_ in data["nodes"]} == {
        **dict.fromkeys(["web-1", "host7", "db"], 0),
        "rack-a": 1,
        "rack-b": 1,
        "top": 2,
        "stub": 3,
    }
    [shown] = data["runs"]
    assert [change[1:3] for change in shown["changes"]] == [
        ["rack-b-top", "2 Gb/s"],
        ["rack-b-top#1", "2 Gb/s"],
    ]
    [flow] = shown["flows"]
    assert (flow["src"], flow["dst"]) == ("web-1", "db")
    assert flow["text"] == "0: web-1 to db, 100 KB"
    went = {data["ports"][port] for ports in flow["hops"].values() for port in ports}
    down = went & {"top-rack-b", "top-rack-b#1"}
    assert went == {"web-1-rack-a", "rack-a-top", "rack-b-db"} | down and len(down) == 1


def test_a_thousand_hosts_fit_into_five_megabytes() -> None:
    """Breaks if the page of a large fabric is too large to be sent: even what does not compress."""
    names = [name for name in leaf_spine(32, 16, 32) if "#" not in name]
    draw = np.random.default_rng(1)
    runs = []
    for at in range(4):
        run = Run(names).see("use", 201, utilisation=draw.random((len(names), 201)))
        packets = draw.integers(0, 200, (len(names), 201)).astype(np.uint64)
        run.see("queue", 201, packets=packets, bytes=packets)
        runs.append(Part(f"variant {at}", "#000000", run))
    page = movie.render(runs, "large")
    data = data_of(page)
    assert sum(name.startswith("host") for name, *_ in data["nodes"]) == 1024
    assert len(page.encode()) <= movie.MOST_BYTES
    assert data["frames"] == 200
    assert len(data["runs"]) >= 2


def test_runs_on_another_fabric_are_left_out() -> None:
    """Breaks if two fabrics are drawn as one."""
    other = Part("b", "#111111", Run(leaf_spine(3, 2, 2)).see("use", 9, utilisation=0.5))
    data = data_of(movie.render([Part("a", "#000000", small()), other], "x"))
    assert [run["name"] for run in data["runs"]] == ["a"]


def test_names_cannot_act() -> None:
    """Breaks if a variant's name ends the script, or a title is markup."""
    evil = "</script><script>alert(1)</script>"
    page = movie.render([Part(evil, "#000000", small())], evil)
    assert page.count("<script") == 2
    assert data_of(page)["runs"][0]["name"] == evil


# Where it is


def probed(comparison: leafspine.Comparison) -> None:
    """Gives every run of a comparison probes, as the fake engine has none of ports."""
    made = small()
    for case in comparison.cases:
        folder = comparison.directory / "runs" / case.key
        names = comparison.result(case).ports["name"].to_pylist()
        run = Run(names).see("use", 20, utilisation=0.5)
        for name, table in run.probes.items():
            results.write_parquet(table, folder / f"{name}.parquet")
        from leafspine import files

        known = {path.name for path in folder.iterdir()} - {files.SUMS, files.TIMING}
        files._write_sums(folder, known)
    assert made.probes


def test_a_comparison_with_probes_has_the_page(tmp_path: Path) -> None:
    """Breaks if the report does not lead to it, or it is made again for nothing."""
    (tmp_path / "many.toml").write_text(SCENARIO + VARIANTS)
    comparison = leafspine.compare(tmp_path / "many.toml", out=tmp_path / "out")
    page = tmp_path / "out" / comparison_movie.NAME
    assert comparison_movie.NAME not in comparison.write().read_text()
    assert not page.exists()
    probed(comparison)
    found = leafspine.load(tmp_path / "out")
    assert isinstance(found, leafspine.Comparison)
    assert f'href="{comparison_movie.NAME}"' in found.write().read_text()
    assert [run["name"] for run in data_of(page.read_text())["runs"]] == ["ECMP", "LetFlow"]
    assert found.unknown_files() == []
    before = page.stat().st_mtime_ns
    found.write()
    assert page.stat().st_mtime_ns == before
    page.write_text(page.read_text().replace("Play", "Go"))
    found.write()
    assert ">Play<" in page.read_text()


# In a browser


class Slow(SimpleHTTPRequestHandler):
    """Serves a folder, and ``/wait`` only after a while: until then the browser looks on."""

    def do_GET(self) -> None:
        if self.path != "/wait":
            return super().do_GET()
        time.sleep(SECONDS)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        return self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


SECONDS = 4


def frame_after_a_while(page: Path) -> int:
    """Which frame the page shows, playing, some seconds after it was opened."""
    (page.parent / "watch.html").write_text(
        f'<iframe src="{page.name}#play" style="width:1200px;height:800px"></iframe>'
        "<img src=/wait><pre id=o></pre><script>onload = () => { o.textContent = 'FRAME ' + "
        "frames[0].document.documentElement.dataset.frame }</script>"
    )
    serve = partial(Slow, directory=str(page.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        words.append(f"http://127.0.0.1:{server.server_port}/watch.html")
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
        server.shutdown()
    found = re.search("FRAME ([0-9]+)", done.stdout)
    assert found, done.stdout[-500:]
    return int(found[1])


def console(page: Path, at: str) -> tuple[str, str]:
    """The document after a few seconds, and what the console has said."""
    words = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += ["--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom"]
    done = subprocess.run(
        [*words, page.as_uri() + at], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.mark.usefixtures("chromium")
def test_the_page_plays_and_scrubs(tmp_path: Path) -> None:
    """Breaks if the page has an error, does not start, does not move, or shows one time at all."""
    page = tmp_path / "fabric.html"
    parts = [Part("RPS", "#E69F00", small(1)), Part("ECMP", "#333333", small(2))]
    movie.write(parts, "A test", page)
    document, said = console(page, "")
    assert said == ""
    assert 'data-ready="yes"' in document
    assert 'data-frame="0"' in document
    assert document.count('<section class="side">') == 2
    assert frame_after_a_while(page) >= 5
    document, said = console(page, "#frame=40&flow=0")
    assert (said, 'data-frame="40"' in document) == ("", True)
    assert 'Without a probe of kind "packets"' not in document
    # Beside both runs, and in the script.
    assert document.count("the followed flow sends nothing in this frame") == 3
    shots = []
    for at in (10, 40):
        moved = tmp_path / f"at{at}.html"
        moved.write_text(page.read_text().replace("location.hash.slice(1)", f'"frame={at}"'))
        shots.append(screenshot(moved, 1200, 800).astype(int))
    # Of the two fabrics at least a hundredth of all pixels.
    assert (np.abs(shots[0] - shots[1]).max(axis=2) > 40).mean() > 0.01


@pytest.mark.usefixtures("chromium")
def test_pauses_are_drawn(tmp_path: Path) -> None:
    """Breaks if a paused port looks as any other, or the key tells of pauses nobody watched."""
    shots, keys = [], []
    for paused in (0, 1):
        run = Run(leaf_spine(2, 2, 2)).see("use", 30, utilisation=0.5)
        step = np.uint64(paused * run.end // 29)
        run.see("pauses", 30, paused_ps=step, pauses=np.uint64(paused))
        page = tmp_path / f"paused{paused}.html"
        movie.write([Part("", "#000000", run)], "A test", page)
        document, said = console(page, "#frame=5")
        assert said == ""
        keys.append('id="pausekey" style="color:var(--pause)" hidden' in document)
        shots.append(screenshot(page, 1200, 800).astype(int))
    assert keys == [False, False]
    assert (np.abs(shots[0] - shots[1]).max(axis=2) > 40).sum() > 200
    plain = tmp_path / "plain.html"
    run = Run(leaf_spine(2, 2, 2)).see("use", 30, utilisation=0.5)
    movie.write([Part("", "#000000", run)], "A test", plain)
    assert 'style="color:var(--pause)" hidden' in console(plain, "")[0]


def test_its_words_can_be_read_on_either_paper() -> None:
    """Breaks if a colour of the page's words has less contrast than 4.5 with its paper, by day or
    by night: WCAG 2.1, 1.4.3."""
    page = movie.render([Part("RPS", "#E69F00", small())], "x")
    papers = re.findall(r":root \{(.*?)\}", page, re.DOTALL)
    assert len(papers) == 2
    for paper in papers:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", paper))
        named = ("ink", "soft", "accent", "use", "queue", "mark", "drop", "path", "pause")
        for name in named:
            assert contrast(colours[name], colours["paper"]) >= 4.5, name


def contrast(*colours: str) -> float:
    """Of two colours, by WCAG 2.1."""
    light = []
    for colour in colours:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
    return max(light) / min(light)


@pytest.mark.usefixtures("chromium")
def test_the_page_says_what_was_not_measured(tmp_path: Path) -> None:
    """Breaks if a run without a packets probe looks as if nothing had gone anywhere."""
    page = tmp_path / "fabric.html"
    run = Run(leaf_spine(2, 2, 2)).see("use", 30, utilisation=0.5)
    movie.write([Part("", "#000000", run)], "A test", page)
    document, said = console(page, "")
    assert said == ""
    for kind in ("queue", "signals", "packets"):
        assert f'Without a probe of kind "{kind}"' in document
    assert 'id="follow" hidden' in document
