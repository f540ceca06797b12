"""Version numbers, ordered as pip orders them: 0.11.1rc1 comes before 0.11.1.

`packaging` is imported when versions are compared, not before: the workers import this module too, in
environments that need not have it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.version import Version

NEWEST_JAX = "0.12.0.1"
"""The newest that jaxdoctor was tried with: docs/versions.md."""


@functools.cache
def parsed(version: str) -> Version | None:
    """The version, or None for what is none, as a build from a checkout may call itself."""
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 (the workers import this module)

    try:
        return Version(version)
    except InvalidVersion:
        return None


def since(version: str | None, first: str) -> bool:
    """Whether a version is `first` or later. An unknown one is not."""
    found = parsed(version) if version else None
    wanted = parsed(first)
    return found is not None and wanted is not None and found >= wanted


def newer(version: str | None, than: str) -> bool:
    """Whether a version is later than another one: a local build of the same (0.10.2+cuda) is not."""
    found = parsed(version.partition("+")[0]) if version else None
    wanted = parsed(than)
    return found is not None and wanted is not None and found > wanted


def within(version: str | None, first: str, end: str) -> bool:
    """Whether a version lies from `first` up to and without `end`. An unknown one does not."""
    return since(version, first) and not since(version, end)
