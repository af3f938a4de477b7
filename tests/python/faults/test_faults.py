"""Comparisons that things happen to: none loses a finished run, none leaves another result."""

import os
import random

import pytest
from fault_kinds import KINDS, Unavailable, World
from fault_lab import Lab, build_shim

import fake_plots
from conftest import child_path

FEW = [
    *("worker-killed", "command-killed", "interrupted", "interrupted-twice", "terminated"),
    *("disk-full", "read-only", "permission-revoked", "file-limit"),
    *("operation-fails", "killed-at-operation"),
    *("file-truncated", "bit-flipped", "file-foreign", "file-of-another-run"),
    *("file-of-another-kind", "place-taken", "manifest-damaged", "foreign-files", "output-damaged"),
]
"""One of each; ``make faults`` has many of every kind."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("faults")
    environment = {**os.environ, "PYTHONPATH": child_path(), "LEAFSPINE_FAKE_PLOTS": "1"}
    lab = Lab(root, environment, inside=True)
    return World(lab, lab.prepare(), build_shim(root))


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafspine.plots.write", fake_plots.write)


@pytest.mark.parametrize("name", FEW)
def test_a_rerun_completes(world: World, name: str) -> None:
    """Breaks if a fault of this kind, at this seeded point, leaves a half or another result, goes
    unnoticed, loses a finished run, leaves processes or files behind, or says it in a traceback."""
    try:
        KINDS[name][1](world, random.Random(name))
    except Unavailable as reason:
        pytest.skip(str(reason))
