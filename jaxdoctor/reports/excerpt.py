"""The line of a source file that a finding points at, so that its reader need not open the file."""

from __future__ import annotations

import itertools
import stat
from dataclasses import replace
from pathlib import Path

from jaxdoctor.facts.finding import Location

MOST_BYTES = 4 << 20
"""A file that is larger was not written by hand."""

MOST_LETTERS = 200
"""A line that is longer is no source that people read."""


def with_source(location: Location) -> Location:
    """The location with the text of its line; as it was where no line is known or the file cannot be read."""
    if location.path is None or location.line is None or location.source is not None:
        return location
    source = line_of(Path(location.path), location.line)
    return location if source is None else replace(location, source=source)


def line_of(path: Path, number: int) -> str | None:
    """One line of a text file, counted from 1, without its end; None: there is none that people read."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            return None
        with path.open(encoding="utf-8", errors="replace") as stream:
            line = next(itertools.islice(stream, number - 1, None), "")
    except (OSError, ValueError):
        return None
    line = line.rstrip().expandtabs(4)
    return line if line and len(line) <= MOST_LETTERS else None
