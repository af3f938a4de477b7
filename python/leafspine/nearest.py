"""The name that was probably meant."""

import difflib
from collections.abc import Iterable


def nearest(found: str, allowed: Iterable[str]) -> str | None:
    """The nearest of the names allowed, if one is near."""
    close = difflib.get_close_matches(found, list(allowed), n=1, cutoff=0.5)
    return close[0] if close else None
