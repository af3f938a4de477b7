"""What can go wrong, typed.

The command line exits with 2 for an :class:`InputError` (the user can correct it), with 3 for an
:class:`EngineError` (a bug in leafspine or a scheme), with 1 for everything else.
"""

import re
from typing import Any


def printable(text: str) -> str:
    """A text in which nothing acts on a terminal: control characters, which a damaged file or a
    path may have, are escaped, and so are marks that turn the direction of writing."""
    return _ACTING.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class LeafspineError(Exception):
    """Base of all errors that leafspine raises on purpose."""

    def __str__(self) -> str:
        return printable(super().__str__())


class InputError(LeafspineError, ValueError):
    """Bad input: the scenario, an option, a missing file, a wrong directory.

    ``str(error)`` is one line. Where a value is refused (:func:`refused`) its parts are attributes:
    ``file`` (or the option), ``line``, ``key``, what was ``found``, what is ``allowed``, and the
    ``nearest`` name. Those that are not known are ``None``.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        found: str | None = None,
        allowed: str | None = None,
        nearest: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.key = key
        self.found = found
        self.allowed = allowed
        self.nearest = nearest

    def parts(self) -> dict[str, Any]:
        """The attributes by name, as the constructor takes them."""
        return {
            "file": self.file,
            "line": self.line,
            "key": self.key,
            "found": self.found,
            "allowed": self.allowed,
            "nearest": self.nearest,
        }


class ScenarioError(InputError):
    """A scenario that cannot be run.

    ``case`` is the key of the run that was refused, where several are made.
    """

    case: str | None = None

    def within(self, file: str) -> "ScenarioError":
        """The same error, at the file that was given if it is of a resolved scenario, which nobody
        has written."""
        if self.file is not None:
            return self
        return ScenarioError(f"{file}: {self}", **{**self.parts(), "file": file})


def refused(
    found: str,
    allowed: str,
    *,
    file: str | None = None,
    line: int | None = None,
    key: str | None = None,
    nearest: str | None = None,
) -> InputError:
    """The error of a value, in the words that the engine has for its own:
    ``FILE:LINE: KEY: found FOUND; allowed: ALLOWED; did you mean "NEAREST"?``."""
    place = file if line is None else f"{file}:{line}"
    where = "".join(f"{part}: " for part in (place, key) if part)
    hint = f'; did you mean "{nearest}"?' if nearest else ""
    return InputError(
        f"{where}found {found}; allowed: {allowed}{hint}",
        file=file,
        line=line,
        key=key,
        found=found,
        allowed=allowed,
        nearest=nearest,
    )


class TooLargeError(InputError):
    """A scenario that needs more memory than there is; nothing has run."""


class RunError(LeafspineError, RuntimeError):
    """A run that failed although its scenario is good."""


class StuckError(RunError):
    """A run that got nowhere and was stopped: the message says which flows wait, and where."""


class EngineError(RunError):
    """A fault of leafspine or of a scheme from outside, not of the scenario: please report it.

    A panic in the engine, or a violated invariant (``check=True``). ``scenario`` is the
    resolved scenario of the run, if it was one.
    """

    scenario: str | None = None


class DamagedError(InputError):
    """A file of a result is truncated, changed, missing or not leafspine's: it is not read."""


class WriteError(RunError, OSError):
    """Results cannot be written: a full disk, no permission. What had finished is kept."""


class Interrupted(LeafspineError):
    """Ctrl-C. What had finished is kept; the message says how to go on."""
