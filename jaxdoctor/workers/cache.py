"""Where compiled programs are kept between runs."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxdoctor.facts.versions import since
from jaxdoctor.workers.interpreter import jaxlib

MOST_BYTES = 2**30
MOST_DAYS = 30

COMPILED = "JAX_COMPILATION_CACHE_DIR"

SAFE_SINCE = "0.6"
"""With jaxlib 0.5.3 a process that loads a kept MJX step dies of SIGSEGV or SIGABRT, in 2 of 2 tries; with
0.6.2 in none of 2, nor with later ones."""


def cache_folder() -> Path:
    """The user's cache folder for this tool, as the platform has it."""
    from platformdirs import user_cache_path  # noqa: PLC0415 (only a command that replays needs it)

    return user_cache_path("jaxdoctor")


def cache_variables(*, wanted: bool) -> Mapping[str, str | None]:
    """What makes a worker keep its compiled programs, and find those of an earlier run.

    A cache that the user has configured for JAX is left as it is. Where no folder can be made, there is none,
    nor with a jaxlib that cannot load what it kept.
    No maximum size is set: with one, JAX wants `filelock`, which it does not depend on, and caches nothing
    without it (jax/_src/lru_cache.py). `prune` keeps the folder small instead.
    """
    if not wanted or not since(jaxlib(), SAFE_SINCE):
        return {COMPILED: None}
    if os.environ.get(COMPILED):
        return {}
    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return {}
    prune(folder)
    return {
        COMPILED: str(folder),
        "JAX_COMPILATION_CACHE_MAX_SIZE": "-1",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def prune(folder: Path, *, most_bytes: int = MOST_BYTES, most_days: float = MOST_DAYS) -> None:
    """Removes what was not used for long, then what was not used for longest, until the rest is small enough.

    Args:
        folder: of compiled programs; one that is not there holds nothing.
        most_bytes: what may stay, in bytes.
        most_days: what was neither written nor read for so many days goes.
    """
    oldest = time.time() - most_days * 86_400
    size = 0
    for used, path, length in sorted(_entries(folder), reverse=True):
        size += length
        if used < oldest or size > most_bytes:
            # Another command may remove it at the same moment.
            with contextlib.suppress(OSError):
                path.unlink()


def _entries(folder: Path) -> Iterator[tuple[float, Path, int]]:
    """Each file with when it was last written or read, and its size in bytes."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    seen = entry.stat(follow_symlinks=False)
                    yield max(seen.st_mtime, seen.st_atime), Path(entry.path), seen.st_size
