"""What some tests need and not every machine has: a browser, a packet analyser, a Linux kernel.

Without it they are skipped, since ``make test`` asks for nothing that has to be installed by hand.
Where it has been installed for them (``.ci/run``), a skipped test would hide what is wrong: there
``LEAFSPINE_NEEDS`` names what must be found, as in ``LEAFSPINE_NEEDS="chromium tshark"``.
"""

import os
import shutil
from typing import NoReturn

import pytest

NAMES = {"chromium": ("chromium", "google-chrome"), "tshark": ("tshark",), "iperf3": ("iperf3",)}


def installed(program: str) -> str | None:
    """The path of a program of ``NAMES``, if this machine has it."""
    return next(filter(None, map(shutil.which, NAMES[program])), None)


def missing(what: str, why: str) -> NoReturn:
    """End the test, as a failure where this must be found."""
    if what in os.environ.get("LEAFSPINE_NEEDS", "").split():
        pytest.fail(why)
    pytest.skip(why)


def need(program: str) -> str:
    """The path of a program, or the end of the test."""
    found = installed(program)
    if found is None:
        missing(program, f"{program} is not installed (Debian, Ubuntu: apt install {program})")
    return found
