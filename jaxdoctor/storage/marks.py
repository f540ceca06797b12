"""Files that a writer leaves as the mark of a save's end: `DONE`, `_SUCCESS`, `commit_success.txt`."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from jaxdoctor.storage.steps import step_of

MARK = re.compile(
    r"[._]*(?:success|committed|commit_success|complete|completed|done|finished)(?:\.txt)?"
    r"|(?P<stem>.+)\.(?P<ending>done|complete|completed|finished|committed|success)",
    re.IGNORECASE,
)
MOST_ENTRIES = 10_000


def marks_of(path: Path) -> tuple[str, ...]:
    """The marks in the folder of a step, or beside a file under its name."""
    folder = path if path.is_dir() else path.parent
    try:
        named, endings = _listed(folder, folder.stat().st_mtime_ns)
    except OSError:
        return ()
    if folder == path or step_of(Path(folder.name)) is not None:
        return tuple(sorted(named.union(*endings.values())))
    return tuple(sorted(endings.get(path.name, NONE) | endings.get(path.stem, NONE)))


NONE: frozenset[str] = frozenset()


@lru_cache(maxsize=4)
def _listed(folder: Path, changed: int) -> tuple[frozenset[str], dict[str, frozenset[str]]]:  # noqa: ARG001 (a part of the key)
    """The marks in a folder: those with a name of their own, and by stem those behind another name.

    Kept for the files of one folder, of which each would list it anew.
    """
    named: set[str] = set()
    endings: dict[str, frozenset[str]] = {}
    with os.scandir(folder) as entries:
        for entry, _ in zip(entries, range(MOST_ENTRIES), strict=False):
            found = MARK.fullmatch(entry.name)
            if found is not None and found["stem"] is None:
                named.add(entry.name)
            elif found is not None:
                mark = f"*.{found['ending']}"
                endings[found["stem"]] = endings.get(found["stem"], NONE) | {mark}
    return frozenset(named), endings
