"""`--controls record:FILE`: what was played is kept, for later replays with `--controls FILE`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxdoctor.errors import UsageError

RECORD = "record:"
"""Before the file's name."""

SUFFIX = ".npz"


def kept_in(controls: str | None) -> Path | None:
    """The file that `--controls` says what is played is kept in; None: it says no such.

    Raises:
        UsageError: it cannot be written there.
    """
    if controls is None or not controls.startswith(RECORD):
        return None
    path = Path(controls.removeprefix(RECORD))
    if path.suffix.lower() != SUFFIX:
        raise UsageError(
            f"what is played is kept in a {SUFFIX} file, and --controls says {path.name or 'none'}",
            hint=f"write --controls {RECORD}played{SUFFIX}",
        )
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise UsageError(
            f"{path} cannot be written: there is no folder {path.absolute().parent}"
            if not path.is_dir()
            else f"{path} is a folder",
            hint="name a file in a folder that is there",
        )
    return path.absolute()


def keep(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes the arrays, whole or not at all: replays x steps x controls, replays x coordinates.

    Raises:
        UsageError: the file cannot be written.
    """
    import numpy as np

    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as file:
            np.savez_compressed(file, **arrays)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}", hint="name a file that can be"
        ) from error
