"""Errors in the words of whoever asked: keywords of the Python API, options of the command line.

What checks values is one for both, and names options. A function of the API that refuses its input
names the keyword arguments instead.
"""

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from leafspine.errors import InputError

BY_COMMAND: ContextVar[bool] = ContextVar("by_command", default=False)
"""Whether the command line asks, which calls functions of the API, too."""

P = ParamSpec("P")
R = TypeVar("R")


def in_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors name its keywords if Python calls it."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except InputError as error:
            if not BY_COMMAND.get():
                _say_in_keywords(error)
            raise

    return called


def option(name: str) -> str:
    """An option within a sentence, as whoever asks writes it: ``--out`` or ``out=``."""
    return f"--{name}" if BY_COMMAND.get() else f"{_OTHER_NAMES.get(name, name)}="


def another_directory() -> str:
    """What to do about one that cannot be used."""
    return f"choose another directory with {option('out')}"


def _say_in_keywords(error: InputError) -> None:
    """Names the keyword where an error begins with the option that it is about; what follows is the
    same for both. It stays the same object, with its cause."""
    option, colon, rest = str(error.args[0]).partition(": ")
    if option.startswith("--"):
        error.args = (_keyword(option) + colon + rest, *error.args[1:])
    if error.file and error.file.startswith("--"):
        error.file = _keyword(error.file if error.key is None else f"--set {error.key}")


def _keyword(option: str) -> str:
    """An option, with its value if it has one, as a keyword argument."""
    name, _, value = option.removeprefix("--").partition(" ")
    if name == "set" and value:
        return value.replace(".", "__")
    keyword = _OTHER_NAMES.get(name, name)
    return f"{keyword}={value}" if value else keyword


_OTHER_NAMES = {"param": "params", "held-out": "held_out"}
