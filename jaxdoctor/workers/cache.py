"""Where compiled programs are kept between runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

MOST_BYTES = 2**30
"""JAX drops what was not used for longest when the cache holds more."""

COMPILED = "JAX_COMPILATION_CACHE_DIR"


def cache_folder() -> Path:
    """The user's cache folder for this tool, as the platform has it.

    XDG_CACHE_HOME or ~/.cache on Linux, ~/Library/Caches on macOS, LOCALAPPDATA on Windows.
    """
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        named = Path(os.environ.get("XDG_CACHE_HOME") or "")
        # The specification wants relative paths to be ignored.
        base = named if named.is_absolute() else Path.home() / ".cache"
    return base / "jaxdoctor"


def cache_variables(*, wanted: bool) -> Mapping[str, str | None]:
    """What makes a worker keep its compiled programs, and find those of an earlier run.

    A cache that the user has configured for JAX is left as it is. Where no folder can be made, there is none.
    """
    if not wanted:
        return {COMPILED: None}
    if os.environ.get(COMPILED):
        return {}
    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return {}
    return {
        COMPILED: str(folder),
        "JAX_COMPILATION_CACHE_MAX_SIZE": str(MOST_BYTES),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
