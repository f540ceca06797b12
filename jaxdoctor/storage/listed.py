"""Short lists of names, for what readers say."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 3
LONGEST = 200


def listed(names: Sequence[str]) -> str:
    """Gives the first names of a list, and how many follow: "a, b, c and 4 more"."""
    shown = ", ".join(name[:LONGEST] for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def are_missing(names: Sequence[str]) -> str:
    """Says so of a list: "a is missing", "a, b are missing", "a, b, c and 4 more are missing"."""
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} missing"
