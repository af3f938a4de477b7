"""Builds the RTL with Icarus Verilog and runs a module of cocotb tests on it."""

import os
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

from cocotb.runner import get_runner

HERE = Path(__file__).parent
RTL = HERE.parent / "rtl"


def sources(rtl: Path = RTL) -> list[Path]:
    return sorted(rtl.glob("*.sv"))


def run(
    top: str,
    module: str,
    parameters: Mapping[str, int],
    build: Path,
    rtl: Path = RTL,
    quiet: bool = False,
) -> tuple[int, int]:
    """How many tests ran, and how many failed."""
    os.environ["COCOTB_LOG_LEVEL"] = "WARNING" if quiet else "INFO"
    os.environ["PYTHONPATH"] = str(HERE)
    sys.path.insert(0, str(HERE))
    runner = get_runner("icarus")
    build.mkdir(parents=True, exist_ok=True)
    log = build / "build.log"
    runner.build(
        verilog_sources=sources(rtl),
        hdl_toplevel=top,
        parameters=parameters,
        build_dir=build,
        build_args=["-g2012"],
        always=True,
        log_file=log,
    )
    results = runner.test(
        hdl_toplevel=top,
        test_module=module,
        build_dir=build,
        test_dir=build,
        log_file=build / f"{module}.log" if quiet else None,
        results_xml=f"{module}.xml",
    )
    cases = list(ElementTree.parse(results).iter("testcase"))
    failed = sum(case.find("failure") is not None for case in cases)
    return len(cases), failed
