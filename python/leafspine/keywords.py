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
    file = error.file or ""
    path = "" if file.startswith("--") else file

    def said(text: str) -> str:
        # A message begins with the file that it is of, whose name is as it is.
        kept = path if text.startswith(path) else ""
        return kept + worded(text[len(kept) :])

    error.args = tuple(said(part) if isinstance(part, str) else part for part in error.args)
    if file == "--set" and error.key:
        error.file = _key(error.key)
    elif file and not path:
        error.file = worded(file)
    error.key, error.found, error.allowed = (
        text if text is None else worded(text) for text in (error.key, error.found, error.allowed)
    )


def worded(text: str) -> str:
    """A message with keywords in the place of options; what is quoted, or part of a path, stays."""
    text = text.replace("--memory, or memory= in Python", "memory=")
    text = _replaced(r"--set ([\w.-]+)", lambda found: _key(found[1]), text)
    # Before a value or within a sentence as it is written, before a colon as other arguments are.
    text = _replaced(rf"--({_NAMES}) (?=[\w'\"\[])", lambda found: f"{_name(found)}=", text)
    text = _replaced(rf"^--({_NAMES})(?=:|$)", _name, text)
    return _replaced(rf"--({_NAMES})\b(?![\w-])", lambda found: f"{_name(found)}=", text)


def _replaced(option: str, by: Callable[[re.Match[str]], str], text: str) -> str:
    return re.sub(
        rf"{_QUOTED}|(?<![\w/.\"'-]){option}",
        lambda found: found[0] if found[1] is None else by(found),
        text,
    )


def _name(option: re.Match[str]) -> str:
    return _OTHER_NAMES.get(option[1], option[1])


def _key(key: str) -> str:
    """A scenario's key as a keyword."""
    return key.replace(".", "__")


_QUOTED = r'"(?:[^"\\]|\\.)*"|(?<!\w)\'(?:[^\'\\]|\\.)*\''
"""Somebody's own words: not from an apostrophe on."""
_OTHER_NAMES = {"param": "params", "held-out": "held_out"}
_NAMES = "seeds?|lb|load|jobs|threads|memory|out|on|store|shard|pcap|metric|trials|param|held-out"
