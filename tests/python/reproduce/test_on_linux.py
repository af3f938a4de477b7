"""Papers on real hosts, on the fake engine: what is run, kept and said.

The fake engine's kernels turn the order of schemes round.
"""

import csv
import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from small_paper import FIGURE, library_of_one  # noqa: F401  (the fixture library)
from test_papers import real

import fake_engine
from leafspine.errors import InputError
from leafspine.reproduce import figures, like_kernels, on_linux, plan, reproducing
from leafspine.reproduce.on_linux import Beside, Sides
from leafspine.reproduce.verdicts import Finding, Judged, Part, Verdict
from test_engine import ROOT

sys.path += [str(ROOT / "validation"), str(ROOT / "docs")]

import real_hosts

import papers_on_linux

ASKED = """
[[on_linux]]
size = "50 flows"
set = { "workload.0.flows" = 50 }
sweep = { "run.seed" = [1, 2] }
claims = ["C1"]
notes = ["Their own timeouts."]
"""


def on_real_hosts(folder: Path, *words: str) -> int:
    """The script, on a folder of papers."""
    out = folder.parent / "on-linux"
    return papers_on_linux.main(["--papers", str(folder), "--out", str(out), "--jobs", "1", *words])


@pytest.fixture
def asking(library: Path) -> Path:
    """A library whose first figure asks for real hosts."""
    (library / "some" / "fig1" / "figure.toml").write_text(FIGURE + ASKED)
    return library


def the_sides(folder: Path) -> Sides:
    """What is kept of the first figure."""
    (found,) = figures.papers(folder)
    (sides,) = on_linux.sides(found.figures[0], found.claims, on_linux.kept(found.figures[0]))
    return sides


def with_verdict(judged: Judged, verdict: Verdict) -> Judged:
    """A claim judged otherwise."""
    return replace(judged, findings=(Finding((Part(verdict, "", ()),)),))


def kept_rows(folder: Path) -> list[dict[str, str]]:
    """The rows that are kept of it."""
    path = folder / "some" / "fig1" / "linux" / "data.csv"
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_verdict_that_changes(
    asking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if kernels are judged otherwise than the model, at another size, or if what changes is
    not said."""
    assert on_real_hosts(asking) == 0
    words = (
        "With kernels 1 verdict changes of 1 (0 of them alike under the model's profile linux): "
        "C1 (reproduced; profile linux: reproduced; kernels: not reproduced)."
    )
    assert f"some/fig1: {words}\n" in capsys.readouterr().out
    sides = the_sides(asking)
    (beside,) = sides.claims
    verdicts = [judged.verdict for judged in beside.all]
    assert verdicts == [Verdict.REPRODUCED, Verdict.REPRODUCED, Verdict.NOT]
    assert sides.seeds == 2
    assert [row["runs"] for row in kept_rows(asking)] == [
        *["main~the model's hosts"] * 8,
        *["main~the model's hosts, profile linux"] * 8,
        *["main~Linux kernels"] * 8,
    ]
    assert len(list((tmp_path / "on-linux" / "runs").iterdir())) == 24


def test_a_verdict_that_settings_change(asking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if what Linux's settings change in the model, too, passes for what only kernels show,
    or the other way round."""
    figure = asking / "some" / "fig1" / "figure.toml"
    figure.write_text(FIGURE + ASKED.replace("= 50 }", '= 50, "run.fake_settings" = true }'))
    assert on_real_hosts(asking) == 0
    assert "of 1 (1 of them alike under the model's profile linux)" in capsys.readouterr().out
    sides = the_sides(asking)
    assert "Under the profile alone" not in sides.summary
    (beside,) = sides.claims
    assert (beside.changes, beside.by_settings, beside.changes_in_model) == (True, True, True)
    # Another verdict than the paper's, and than the kernels', is not alike.
    apart = replace(beside, profile=with_verdict(beside.profile, Verdict.DIRECTION))
    assert (apart.changes, apart.by_settings, apart.changes_in_model) == (True, False, True)
    alone = replace(beside, kernels=beside.model)
    assert (alone.changes, alone.by_settings, alone.changes_in_model) == (False, False, True)
    assert replace(sides, claims=(alone,)).summary == (
        "With kernels no verdict changes (of 1). Under the profile alone 1 verdict changes: "
        "C1 (reproduced; profile linux: not reproduced; kernels: reproduced)."
    )
    unmade = replace(beside, profile=with_verdict(beside.profile, Verdict.MISSING))
    assert replace(sides, claims=(unmade,)).summary == "There are no numbers yet."


def test_who_made_the_numbers(
    asking: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Breaks if it is not said which kernel and which leafspine numbers are of, if that of the
    model's numbers is said of the kernels', or if results without kernels get the column."""
    monkeypatch.setattr(plan, "commit", lambda: "before")
    assert on_real_hosts(asking) == 0
    monkeypatch.setattr(plan, "commit", lambda: "after")
    assert on_real_hosts(asking, "--kept") == 0
    sides = the_sides(asking)
    assert (sides.kernel, sides.switches, sides.model) == (
        "6.0-fake",
        "0.0.1+before",
        "0.0.1+after",
    )
    kernels = [row["kernel"] for row in kept_rows(asking)]
    assert kernels == [""] * 16 + ["6.0-fake"] * 8
    chosen = reproducing.choose(["some"], asking)
    reproducing.reproduce(chosen, "paper", tmp_path / "plain")
    heads, *_ = (tmp_path / "plain/some/fig1/data.csv").read_text().splitlines()
    assert heads.endswith(",trace_hash")


def test_pages_need_no_kernel(
    asking: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks if pages are not made of the kept numbers alone, or lack what came of real hosts."""
    chosen = reproducing.choose(["some"], asking)
    reproducing.reproduce(chosen, "paper", tmp_path / "one", keep_in=asking)
    reproducing.from_kept(chosen, tmp_path / "before")
    assert "There are no numbers yet." in (tmp_path / "before/some/fig1/page.md").read_text()
    assert on_real_hosts(asking) == 0

    def no_kernel(*_: object) -> None:
        raise AssertionError("a page asks for a kernel")

    monkeypatch.setattr(on_linux, "wanted", no_kernel)
    reproducing.from_kept(chosen, tmp_path / "two")
    page = (tmp_path / "two/some/fig1/page.md").read_text()
    assert "## With Linux kernels as hosts" in page
    assert (
        "50 flows, 2 seeds, the same on all three sides. With kernels 1 verdict changes of 1"
        in page
    )
    assert "Their own timeouts. Kernel 6.0-fake, between leafspine's switches of 0.0.1" in page
    assert "| the model's hosts | the model's hosts, profile linux | Linux kernels |" in page
    assert "| C1 | reproduced | reproduced | not reproduced |" in page
    report = (tmp_path / "two/report.html").read_text()
    assert "kernels: not reproduced" in report and "<th>profile linux found</th>" in report
    assert "Linux kernels" not in (tmp_path / "two/some/fig2/page.md").read_text()


def test_a_failed_run_loses_nothing(asking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if numbers that were kept go when a run fails, or if that is no error."""
    assert on_real_hosts(asking) == 0
    kept = asking / "some" / "fig1" / "linux" / "data.csv"
    before = kept.read_bytes()
    figure = asking / "some" / "fig1" / "figure.toml"
    failing = ASKED.replace("= 50 }", '= 60, "run.fake_fail" = "no kernel answers" }')
    figure.write_text(FIGURE + failing)
    assert on_real_hosts(asking) == 1
    said = capsys.readouterr().err
    assert "some/fig1: no numbers of main~Linux kernels" in said
    assert "what was kept stays" in said
    assert kept.read_bytes() == before


def test_the_table_of_all_figures(asking: Path, tmp_path: Path) -> None:
    """Breaks if docs/linux.md counts a verdict that Linux's settings change for the real kernels',
    leaves out one that they alone change, or does not say who made the numbers."""
    assert on_real_hosts(asking) == 0
    chosen = reproducing.choose(["some"], asking)
    (chapter,) = reproducing.from_kept(chosen, tmp_path / "pages").chapters
    sides = chapter.pages[0].on_linux[0]
    (beside,) = sides.claims
    turned = beside.kernels
    claims = (
        beside,
        replace(beside, profile=turned),
        replace(beside, profile=with_verdict(turned, Verdict.DIRECTION)),
        replace(beside, profile=turned, kernels=beside.model),
        replace(beside, kernels=beside.model),
    )
    page = replace(chapter.pages[0], on_linux=(replace(sides, claims=claims),))
    said, table = real_hosts.papers_section([replace(chapter, pages=(page,))])
    assert said.startswith(
        "Of 5 claims in 1 figure, each judged by the same test on all three sides"
    )
    assert ", 3 get a different verdict with Linux kernels" in said
    assert "In 2 of these 3 the verdict also changes in the model" in said
    assert "(in 1 to the kernels' verdict); 1 changes with real kernels only." in said
    assert " 1 more changes under the profile but not with kernels. In 2 of the 5 the" in said
    assert "Linux 6.0 (fake), with leafspine's switches of 1 build (listed in" in said
    assert said.endswith(f"the model's runs: leafspine {sides.model}.")
    assert [line.split(" | ")[4:] for line in table.splitlines()[2:]] == [
        ["reproduced", "reproduced", "not reproduced |"],
        ["reproduced", "not reproduced", "not reproduced |"],
        ["reproduced", "direction only", "not reproduced |"],
        ["reproduced", "not reproduced", "reproduced |"],
    ]


NOT, AS_IT_IS = Verdict.NOT, Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (
            [(AS_IT_IS, AS_IT_IS)] * 2,
            "none gets a different verdict|In 2 of the 2 the profile and the kernels agree.",
        ),
        (
            [(NOT, AS_IT_IS)],
            "Of 1 claim in 1 figure|none gets a|them. 1 changes under the profile but not with "
            "kernels. In none of the 1 do the profile and the kernels agree.",
        ),
        (
            [(NOT, NOT)],
            "1 gets a different verdict|The verdict also changes in the model under `profile = |"
            "(in 1 to the kernels' verdict). In 1 of the 1 the profile",
        ),
        (
            [(AS_IT_IS, NOT)] * 2,
            "2 get a different verdict|All 2 change with real kernels only. In none of the 2 do",
        ),
    ],
)
def test_the_sentence_on_all_figures(
    verdicts: list[tuple[Verdict, Verdict]], words: str, asking: Path
) -> None:
    """Breaks if docs/linux.md says nonsense where nothing changes, or one verdict alone."""
    assert on_real_hosts(asking) == 0
    (beside,) = the_sides(asking).claims
    claims = [
        Beside(
            with_verdict(beside.model, AS_IT_IS),
            with_verdict(beside.profile, profile),
            with_verdict(beside.kernels, kernels),
        )
        for profile, kernels in verdicts
    ]
    said = real_hosts._sentence(claims, 1)
    for part in words.split("|"):
        assert part in said


def sixty_flows(folder: Path) -> None:
    """Change what the figure asks for."""
    figure = folder / "some" / "fig1" / "figure.toml"
    asked = ASKED.replace("= 50 }", "= 60 }").replace("50 flows", "60 flows")
    figure.write_text(FIGURE + asked)


def runs_made(out: Path) -> list[str]:
    """Which sides' runs are finished in a folder, one entry a run."""
    texts = [path.read_text() for path in out.glob("runs/*/scenario.toml")]
    return sorted(
        "kernels" if "[hosts]" in text else "profile" if "profile" in text else "model"
        for text in texts
    )


def test_kernels_are_not_run_again(asking: Path, tmp_path: Path) -> None:
    """Breaks if kernels' numbers that are kept cost a run, or those of another scenario or kernel
    are taken for them; or if the model's are taken for those of the present build."""
    out = tmp_path / "again"
    words = ["--papers", str(asking), "--out", str(out), "--jobs", "1"]
    assert on_real_hosts(asking) == 0
    assert papers_on_linux.main(words) == 0
    assert runs_made(out) == ["model"] * 8 + ["profile"] * 8
    made = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/summary.json")}
    assert papers_on_linux.main(words) == 0
    assert all(path.stat().st_mtime_ns > before for path, before in made.items())
    sixty_flows(asking)
    assert papers_on_linux.main(words) == 0
    assert runs_made(out).count("kernels") == 8


def test_kernels_are_run_again(
    asking: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if kernels are never run with switches that were changed, neither kept runs nor those
    that are finished, or if it is not said that they are not."""

    def versions() -> dict[str, int]:
        return Counter(row["version"] for row in kept_rows(asking) if row["kernel"])

    monkeypatch.setattr(plan, "commit", lambda: "before")
    assert on_real_hosts(asking) == 0
    assert "runs with kernels are kept" not in capsys.readouterr().out
    monkeypatch.setattr(plan, "commit", lambda: "after")
    assert on_real_hosts(asking) == 0
    said = (
        "some/fig1: 8 of 8 runs with kernels are kept ones, with leafspine's switches of "
        "0.0.1+before; --rerun makes them again\n"
    )
    assert said in capsys.readouterr().out
    assert versions() == {"0.0.1+before": 8}
    runs = asking.parent / "on-linux" / "runs"
    made = {path: path.stat().st_mtime_ns for path in runs.glob("*/summary.json")}
    assert len(made) == 24
    assert on_real_hosts(asking, "--rerun") == 0
    assert "runs with kernels are kept" not in capsys.readouterr().out
    assert versions() == {"0.0.1+after": 8}
    assert all(path.stat().st_mtime_ns > before for path, before in made.items())


def test_rerun_is_not_from_kept(asking: Path) -> None:
    """Breaks if of two that contradict each other one is taken."""
    with pytest.raises(SystemExit) as ended:
        on_real_hosts(asking, "--kept", "--rerun")
    assert ended.value.code == 2


def test_without_a_kernel(
    asking: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Breaks if the model's numbers beside kept ones need the kernels' runs, or their kernel; or if
    kernels' numbers of another scenario, or none, are taken for those."""
    assert on_real_hosts(asking, "--kept") == 2
    assert "some/fig1: no numbers of a kernel are kept" in capsys.readouterr().err
    assert on_real_hosts(asking) == 0
    before = [row for row in kept_rows(asking) if row["kernel"]]
    monkeypatch.setattr(fake_engine, "KERNEL", "7.0-other")
    out = tmp_path / "kept"
    words = ["--papers", str(asking), "--out", str(out), "--jobs", "1", "--kept"]
    assert papers_on_linux.main(words) == 0
    assert runs_made(out) == ["model"] * 8 + ["profile"] * 8
    assert [row for row in kept_rows(asking) if row["kernel"]] == before
    sixty_flows(asking)
    all_before = kept_rows(asking)
    assert papers_on_linux.main(words) == 1
    assert "no numbers of main~Linux kernels" in capsys.readouterr().err
    assert "kernels" not in runs_made(out)
    assert kept_rows(asking) == all_before


def test_stale_numbers_are_found(asking: Path) -> None:
    """Breaks if kept numbers pass for those of a scenario that was changed, or of runs that nothing
    asks for any more."""

    def stale() -> list[str]:
        (found,) = figures.papers(asking)
        return on_linux.stale(found.figures[0], found.claims)

    assert len(stale()) == 24
    assert on_real_hosts(asking) == 0
    assert stale() == []
    sixty_flows(asking)
    assert len(stale()) == 24
    figure = asking / "some" / "fig1" / "figure.toml"
    figure.write_text(FIGURE + ASKED.replace("[1, 2]", "[1]"))
    found = stale()
    assert len(found) == 12
    assert all(line.endswith("seed=2: nothing asks for it") for line in found)


@pytest.mark.parametrize("runs", ["main", "Linux kernels", "main~Linux kernels"])
@pytest.mark.parametrize("number", [0, 1])
def test_sides_are_told_by_what_is_added(runs: str, number: int) -> None:
    """Breaks if runs with the model's hosts pass for the kernels' because of what they are called,
    or if those that a figure asks for a second time do not."""
    assert not on_linux.is_of_kernels("Linux kernels")
    for who in on_linux.SIDES:
        name = f"{runs}{on_linux.suffix(number, who)}"
        assert on_linux.is_of_kernels(name) == (who == on_linux.KERNELS), name


def test_settings_of_a_kernel() -> None:
    """Breaks if the model's hosts keep settings of a paper that kernels do not take, have other
    packets than kernels, or lack what a kernel is told."""
    hosts = {"congestion": "reno", "sysctl": {like_kernels.RTO_MIN: "10000"}}
    taken = {"ecn": False, "mss": 1446, "header": 54}
    assert like_kernels.transport(hosts, taken, Path("figure.toml")) == {
        "scheme": "newreno",
        "profile": "linux",
        "ecn": False,
        "mss": 1448,
        "header": 52,
        "min_rto": "10000us",
    }


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            '"hosts.congestion" = "renoo"',
            "hosts.congestion: found 'renoo'; allowed: reno, cubic, dctcp, bbr; "
            'did you mean "reno"?',
        ),
        (
            '"hosts.sysctl" = { "net.ipv4.tcp_rto_min" = 5 }',
            'hosts.sysctl."net.ipv4.tcp_rto_min": found a setting that the model\'s hosts do not '
            "have; allowed: net.ipv4.tcp_rto_min_us; "
            'did you mean "net.ipv4.tcp_rto_min_us"?',
        ),
        (
            '"hosts.interrupt_moderation" = "9us"',
            "hosts.interrupt_moderation: found '9us'; allowed: nothing",
        ),
    ],
)
def test_settings_that_the_model_lacks(
    setting: str, words: str, asking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Breaks if the model's hosts are put beside kernels that have what they have not, or if it is
    not said which figure asks for that."""
    figure = asking / "some" / "fig1" / "figure.toml"
    figure.write_text(FIGURE + ASKED.replace("= 50 }", f"= 50, {setting} }}"))
    assert on_real_hosts(asking) == 2
    assert capsys.readouterr().err == f"papers on linux: {figure}: {words}\n"


RESOLVE = """
import json, tomllib
from leafspine import scenario
from leafspine.reproduce import figures, like_kernels, on_linux
def plain(case):
    table = tomllib.loads(case.toml)
    taken = {key: table["transport"][key] for key in ("scheme", "ecn")}
    table["transport"] = {"profile": "linux", **taken}
    del table["version"]
    source = scenario.Source(scenario.to_toml(table), "plain", case.base_dir)
    return tomllib.loads(scenario.single(source).toml)["transport"]
found = {}
for paper in figures.papers():
    for figure in paper.figures:
        for who in on_linux.SIDES:
            claims = paper.claims_of(figure.name)
            for entry in on_linux.wanted(figure, claims, who, like_kernels.UNNAMED):
                place = " ".join((figure.path, entry.case.label()))
                sides = found.setdefault(place, {})
                sides[who] = tomllib.loads(entry.case.toml)
                if who == on_linux.PROFILE:
                    sides["plain"] = plain(entry.case)
print(json.dumps(found))
"""

OF_SCENARIO = ("min_rto", "mss", "header")
"""What the profile leaves to the scenario: the kernels' ``hosts.sysctl``, and their packets."""


def test_only_hosts_differ_between_the_sides() -> None:
    """Breaks if a scenario under the profile differs from that of kernels in more than its hosts,
    from the paper's in more than its TCP, or from the profile in what a paper's TCP has."""
    found = json.loads(real("-c", RESOLVE))
    assert len(found) == 142
    for place, by_side in found.items():
        model, profile, kernels = (dict(by_side[who]) for who in on_linux.SIDES)
        tables = [side.pop("transport") for side in (model, profile, kernels)]
        hosts = kernels.pop("hosts")
        assert model == profile == kernels, place
        assert like_kernels.CONTROLS[hosts["congestion"]] == tables[1]["scheme"], place
        assert tables[0]["scheme"] == tables[1]["scheme"], place
        assert tables[1]["ecn"] == tables[2]["ecn"], place
        profile, plain = tables[1], by_side["plain"]
        shortest = "10ms" if "sysctl" in hosts else "200ms"
        assert [profile.pop(key) for key in OF_SCENARIO] == [shortest, 1448, 52], place
        assert profile == {key: plain[key] for key in plain if key not in OF_SCENARIO}, place


WRONG = [
    ('claims = ["C1"]', 'claims = ["C3"]', "no claim 'C3'"),
    ('size = "50 flows"\n', "", "size"),
    ('size = "50 flows"', 'size = "50 flows"\nextends = "mian"', "main"),
    ('size = "50 flows"', 'size = "50 flows"\nflows = 3', "does not belong here"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG)
def test_wrong_tables_are_one_error(asking: Path, old: str, new: str, words: str) -> None:
    """Breaks if a figure asks for what there is not and nobody says so."""
    path = asking / "some" / "fig1" / "figure.toml"
    path.write_text(FIGURE + ASKED.replace(old, new))
    with pytest.raises(InputError, match=words):
        figures.papers(asking)


def test_a_figure_that_asks_for_nothing(asking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Breaks if the name of such a figure is no error."""
    assert on_real_hosts(asking, "some/fig2") == 2
    words = "figures: found 'some/fig2'; allowed: some/fig1; did you mean \"some/fig1\"?"
    assert capsys.readouterr().err == f"papers on linux: {words}\n"
