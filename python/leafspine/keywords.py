"""Errors in the words of whoever asked: keywords of the Python API, options of the command line.

What checks values is one for both, and names options. A function of the API that refuses its input
names the keyword arguments instead.
"""

import functools
import re
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


def _say_in_keywords(error: InputError) -> None:
    """Changes an error's text and parts; it stays the same object, with its cause and its place."""
    error.args = tuple(worded(part) if isinstance(part, str) else part for part in error.args)
    set_by = error.file == "--set" and error.key
    error.file = _key(error.key) if set_by and error.key else worded(error.file or "") or None
    error.key, error.found, error.allowed = (
        text if text is None else worded(text) for text in (error.key, error.found, error.allowed)
    )


def worded(text: str) -> str:
    """A message with keywords in the place of options."""
    text = text.replace("--memory, or memory= in Python", "memory=")
    text = re.sub(r"--set ([\w.-]+)", lambda found: _key(found[1]), text)
    # Before a value or within a sentence as it is written, before a colon as other arguments are.
    text = re.sub(rf"--({_NAMES}) (?=[\w'\"\[])", lambda found: f"{_name(found)}=", text)
    text = re.sub(rf"^--({_NAMES})(?=:|$)", _name, text)
    return re.sub(rf"--({_NAMES})\b", lambda found: f"{_name(found)}=", text)


def _name(option: re.Match[str]) -> str:
    return _OTHER_NAMES.get(option[1], option[1])


def _key(key: str) -> str:
    """A scenario's key as a keyword."""
    return key.replace(".", "__")


_OTHER_NAMES = {"param": "params", "held-out": "held_out"}
_NAMES = "seeds?|lb|load|jobs|threads|memory|out|on|store|shard|pcap|metric|trials|param|held-out"
