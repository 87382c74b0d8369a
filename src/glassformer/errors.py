"""Mistakes that are the user's to mend: one line that says what was wrong, where, and what would be right."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_LISTED = 20  # names; more than that nobody reads


class UserError(Exception):
    """Shown by the command line as one line without a traceback, exit code 2."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that is none of `known`; it suggests the nearest."""
    names = sorted(known, key=_natural)
    near = get_close_matches(name.strip().lower().replace("-", "_"), names, n=1, cutoff=0.5)
    listed = ", ".join(names[:_LISTED]) + (
        f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    )
    return UserError(
        f"unknown {kind} {name!r}; " + (f"did you mean {near[0]!r}?" if near else f"known: {listed}")
    )


def _natural(name: str) -> str:
    """By which names are sorted so that C2 comes before C10."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(9), name)
