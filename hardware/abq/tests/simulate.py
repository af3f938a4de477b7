"""Builds the RTL with Icarus Verilog and runs a module of cocotb tests on it."""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

from cocotb.runner import get_runner

HERE = Path(__file__).parent
RTL = HERE.parent / "rtl"
# What Icarus prints of an assertion that does not hold; it goes on.
ASSERTION = re.compile(r"^ERROR: (\S+\.sv:\d+)", re.M)


def sources(rtl: Path = RTL) -> list[Path]:
    """All files, the package that others use (abq.sv) first."""
    return sorted(rtl.glob("*.sv"))


def run(
    top: str, module: str, parameters: Mapping[str, int], build: Path, rtl: Path = RTL
) -> tuple[int, list[str]]:
    """How many tests ran, and what failed: tests by name, and assertions by place.

    What the simulation said is in the folder `build`, in a file of the module's name.
    """
    os.environ["PYTHONPATH"] = str(HERE)
    sys.path.insert(0, str(HERE))
    runner = get_runner("icarus")
    build.mkdir(parents=True, exist_ok=True)
    log = build / f"{module}.log"
    with (build / "commands.log").open("w") as said, redirect_stdout(said):
        runner.build(
            verilog_sources=sources(rtl),
            hdl_toplevel=top,
            includes=[rtl],
            parameters=parameters,
            build_dir=build,
            build_args=["-g2012"],
            always=True,
            log_file=build / "build.log",
        )
        results = runner.test(
            hdl_toplevel=top,
            test_module=module,
            build_dir=build,
            test_dir=build,
            log_file=log,
            results_xml=f"{module}.xml",
        )
    cases = list(ElementTree.parse(results).iter("testcase"))
    failed = [case.get("name", "") for case in cases if case.find("failure") is not None]
    return len(cases), failed + sorted(set(ASSERTION.findall(log.read_text())))
