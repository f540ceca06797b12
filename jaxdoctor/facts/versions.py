"""Version numbers, compared by their release part."""

from __future__ import annotations

import re

Release = tuple[int, ...]

NEWEST_JAX = "0.12.0.1"
"""The newest that jaxdoctor was tried with: docs/versions.md."""


def release(version: str) -> Release:
    """The release part of a version: "0.5.3.dev20250101" is (0, 5, 3)."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def within(version: str | None, first: Release, end: Release) -> bool:
    """Whether a version lies from `first` up to and without `end`. An unknown one does not."""
    if version is None:
        return False
    return first <= release(version) < end
