"""The model's hosts with the settings of a kernel's TCP: the side between a paper's and kernels'.

Of a scenario's ``[transport]`` kernels take the congestion control, ECN and the size of packets,
and have their own defaults for all else; ``hosts.sysctl`` changes them. Beside a case with kernels
:func:`case_of` gives that with the model's hosts under ``transport.profile = "linux"`` and nothing
else of the paper's TCP, so that both differ in who the hosts are alone.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leafspine import scenario
from leafspine.engine import Case
from leafspine.errors import refused
from leafspine.nearest import nearest
from leafspine.scenario import Source

CONTROLS = {"reno": "newreno", "cubic": "cubic", "dctcp": "dctcp", "bbr": "bbr1"}
"""The model's name for a kernel's congestion control."""

RTO_MIN = "net.ipv4.tcp_rto_min_us"

HEADER = 52
"""Bytes of IP and TCP in a kernel's packets, timestamps included, whatever the model's have."""

UNNAMED = "unnamed"
"""A kernel's name where only its settings are asked for, so that none has to be there."""


def case_of(case: Case, file: Path) -> Case:
    """The model's case beside one with kernels, which a file asks for. Raises :class:`InputError`
    for a setting of the kernels that the model does not have."""
    table = tomllib.loads(case.toml)
    table["transport"] = transport(table.pop("hosts"), table["transport"], file)
    source = Source(scenario.to_toml(table), f"{file}, under profile linux", case.base_dir)
    return replace(
        scenario.single(source), variant=case.variant, point=case.point, title=case.title
    )


def transport(hosts: Mapping[str, Any], taken: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The model's ``[transport]`` for kernels' resolved tables ``[hosts]`` and ``[transport]``,
    which come of a file."""
    found = {
        "scheme": _control(hosts["congestion"], file),
        "profile": "linux",
        "ecn": taken["ecn"],
        "mss": taken["mss"] + taken["header"] - HEADER,
        "header": HEADER,
    }
    if "interrupt_moderation" in hosts:
        moderated = repr(hosts["interrupt_moderation"])
        key = "hosts.interrupt_moderation"
        raise refused(moderated, "nothing", file=str(file), key=key)
    for name, value in hosts.get("sysctl", {}).items():
        if name != RTO_MIN:
            key, near = f'hosts.sysctl."{name}"', nearest(name, [RTO_MIN])
            lacking = "a setting that the model's hosts do not have"
            raise refused(lacking, RTO_MIN, file=str(file), key=key, nearest=near)
        found["min_rto"] = f"{value}us"
    return found


def _control(congestion: str, file: Path) -> str:
    if congestion not in CONTROLS:
        key, near = "hosts.congestion", nearest(congestion, CONTROLS)
        allowed = ", ".join(CONTROLS)
        raise refused(repr(congestion), allowed, file=str(file), key=key, nearest=near)
    return CONTROLS[congestion]
