"""Finds the checkpoints under what the user named: by what they are, not by their suffix."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jaxdoctor.checkpoints.reader import READERS, Reader
from jaxdoctor.errors import UsageError

DEEPEST = 8
"""Folders below the one that was named. Runs keep their checkpoints at depth three or so."""

MOST_ENTRIES = 200_000
"""Files and folders looked at under one name, against a folder that is the root of a disk."""

UNFINISHED = re.compile(r"\.orbax-checkpoint-tmp|^checkpoint_tmp$|\.tmp-\d|^tmp-checkpoint-|^tmp_")
"""What Orbax, Flax, T5X and Transformers call a save that is still being written."""

NAMED_STEP = re.compile(
    r"(?:(?:^|(?<=[_=]))(?P<signed>-?\d{1,18})|(?:(?<=[A-Za-z]-)|(?<=step)|(?<=iter)|(?<=epoch))(?P<plain>\d{1,18}))"
    r"(?:\.[A-Za-z][\w.-]*)?$"
)
"""The number at the end of a name: "checkpoint-500", "model_100.pt", "epoch12". Only where nothing but a "_"
or "=" stands before it is a dash its sign: "-01627389952". "v2" and "2026-11-21" tell no step."""

NAMED_FOLDER = re.compile(r"(?:.*(?:step|iter|epoch|checkpoint|ckpt)s?[_=-]?)?-?\d{1,18}", re.IGNORECASE)
"""What a folder is called that holds the parts of one step: "global_step_40", "1000"."""

SUFFIXES = (".safetensors", ".npz", ".npy", ".pt", ".pth", ".bin", ".ckpt", ".msgpack", ".pkl", ".h5", ".eqx")
"""A special or a locked file below a folder is named when it is called like a checkpoint."""

CLOUD = re.compile(r"^[a-z][a-z0-9+.-]+://")


@dataclass(frozen=True, kw_only=True)
class Found:
    """One thing that can be judged, or must be named."""

    path: Path
    reader: str | None = None
    """Which one recognized it; None: nothing reads it."""

    unfinished: bool = False
    reason: str | None = None
    """Why it cannot be read: "a FIFO"."""


def expand(names: Iterable[str], stdin: Iterable[str]) -> list[Path]:
    """The paths that the arguments mean: globs spelled out, `-` replaced by the lines of stdin.

    Raises:
        UsageError: an argument names nothing on this disk.
    """
    paths: list[Path] = []
    for name in names:
        if name == "-":
            paths += [Path(line.rstrip("\n")) for line in stdin if line.strip()]
        else:
            paths += _meant(name)
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"{path} does not exist", hint="check the name; a glob may need quotes")
    return list(dict.fromkeys(paths))


def _meant(name: str) -> list[Path]:
    if CLOUD.match(name):
        raise UsageError(
            f"{name} is not on this disk",
            hint="copy the checkpoint here, or mount the bucket; metadata alone is a few files",
        )
    if os.path.lexists(name) or not glob.has_magic(name):
        return [Path(name)]
    found = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (the pattern may be absolute, which Path.glob refuses)
    if not found:
        raise UsageError(f"nothing matches {name}", hint="check the pattern, and quote it")
    return [Path(path) for path in found]


def discover(path: Path) -> Iterator[Found]:
    """Every checkpoint at or under `path`, folders in the order of their names."""
    left = [MOST_ENTRIES]
    yield from _look(path, 0, left, named=True)
    if left[0] <= 0:
        yield Found(path=path, reason=f"more than {MOST_ENTRIES} entries; the rest was not looked at")


def _look(path: Path, depth: int, left: list[int], *, named: bool) -> Iterator[Found]:
    left[0] -= 1
    if left[0] <= 0:
        return
    if UNFINISHED.search(path.name):
        yield Found(path=path, unfinished=True)
        return
    kind = _kind(path, named=named)
    if kind not in {"file", "folder"}:
        if kind is not None:
            yield Found(path=path, reason=kind)
        return
    name = recognized(path)
    if name is not None or (named and kind == "file"):
        yield Found(path=path, reader=name)
    elif kind == "folder" and depth < DEEPEST:
        for child in _children(path):
            yield from _look(child, depth + 1, left, named=False)


def _kind(path: Path, *, named: bool) -> str | None:
    """What may be opened is "file" or "folder"; None is passed over; anything else is a reason why not."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            status = path.stat()
            # A link to a folder, such as "latest", is found under its own name. Hub caches link files.
            if not named and stat.S_ISDIR(status.st_mode):
                return None
    except FileNotFoundError:
        return "a link to nothing" if named else None
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        return "no regular file and no folder" if named or path.suffix in SUFFIXES else None
    regular = stat.S_ISREG(status.st_mode)
    if not os.access(path, os.R_OK):
        return "permission denied" if named or not regular or path.suffix in SUFFIXES else None
    return "file" if regular else "folder"


def _children(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries)


def recognized(path: Path) -> str | None:
    """The name of the first reader that knows the path.

    A suffix decides nothing. Where it is the name of a reader, that one looks first, which saves loading all
    the others to judge a single "model.npz".
    """
    hint = path.suffix.removeprefix(".")
    if hint in READERS.names() and _knows(READERS.load(hint), path):
        return hint
    return next((name for name, reader in _readers() if _knows(reader, path)), None)


def _knows(reader: Reader, path: Path) -> bool:
    try:
        return reader.recognizes(path)
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=1)
def _readers() -> list[tuple[str, Reader]]:
    named = [(name, READERS.load(name)) for name in READERS.names()]
    return sorted(named, key=lambda pair: pair[1].order)


def step_named(path: Path) -> int | None:
    """The step that its name ends in, or else the name of the step's folder it stands in."""
    for name in _telling(path):
        found = NAMED_STEP.search(name)
        if found is not None:
            return int(found["signed"] or found["plain"])
    return None


def _telling(path: Path) -> tuple[str, ...]:
    folder = path.parent.name
    return (path.name, folder) if NAMED_FOLDER.fullmatch(folder) else (path.name,)


def run_of(path: Path) -> tuple[Path, str]:
    """The folder of the run that a checkpoint belongs to, and what the names in it have in common."""
    for numbered, name in zip((path, path.parent), _telling(path), strict=False):
        found = NAMED_STEP.search(name)
        if found is not None:
            start, end = found.span("signed" if found["signed"] else "plain")
            rest = "" if numbered == path else f"/{path.name}"
            return numbered.parent, f"{name[:start]}#{name[end:]}{rest}"
    return path, ""
