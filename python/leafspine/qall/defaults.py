"""Defaults of ``fit-qall``: numbers of QALL's Table I and of its switch."""

DEGREES = (1, 2, 3, 5, 8, 10)
TRAIN = 150_000
TEST = 50_000
PERIOD = "1ms"
TAU = "10ms"
PORTS = "spine*"
"""The ports that are watched where neither the scenario nor an option says so."""

PROBE = "fit-qall"
"""A scenario's probe of this name says which ports are watched."""
