"""Which of the checkpoints that were found are scanned: `--include` and `--exclude`, and `--dry-run`."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from jaxdoctor.checkpoints.discover import Found
from jaxdoctor.facts.text import clean, shortened

LONGEST_FORMAT = 20
MOST_LETTERS = 300


def chosen(found: Iterable[Found], include: Sequence[str], exclude: Sequence[str]) -> Iterator[Found]:
    """Those that one of the patterns includes, where there are any, and none excludes."""
    for one in found:
        if include and not _matches(one.path, include):
            continue
        if not _matches(one.path, exclude):
            yield one


def _matches(path: PurePath, patterns: Sequence[str]) -> bool:
    """Whether a pattern fits the whole path, an end of it, or the name of a folder on the way."""
    parts = path.parts
    ends = ["/".join(parts[index:]) for index in range(len(parts))]
    return any(
        fnmatch.fnmatchcase(text, pattern.rstrip("/"))
        for pattern in patterns
        for text in (str(path), *ends, *parts)
    )


def listed(found: Iterable[Found]) -> Iterator[str]:
    """A line for each: as what it would be read, how large it is, and where it lies."""
    for one in found:
        kind = "unfinished" if one.unfinished else one.reader or one.other or "not read"
        reason = f"  ({one.reason})" if one.reason else ""
        size = f"{_bytes(one.path):>16,}"
        yield f"{kind:{LONGEST_FORMAT}}{size} bytes  {shortened(clean(one.path), MOST_LETTERS)}{reason}"


def _bytes(path: Path) -> int:
    """What the files at and below a path hold, links not followed."""
    total, waiting = 0, [str(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except NotADirectoryError:
            total += path.stat().st_size
        except OSError:
            continue
    return total
