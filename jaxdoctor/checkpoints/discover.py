"""Finds the checkpoints under what the user named: by what they are, not by their suffix."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jaxdoctor.checkpoints.reader import READERS, Reader
from jaxdoctor.checkpoints.run_folder import dangling_pointers, empty_saves, lost_parts
from jaxdoctor.checkpoints.unrecognized import is_unfinished_copy, unrecognized
from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.facts.fault import Fault
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import DamagedError, HostileError
from jaxdoctor.storage.files import follow

DEEPEST = 8
"""Folders below the one that was named. Runs keep their checkpoints at depth three or so."""

MOST_ENTRIES = 200_000
"""Files and folders looked at under one name, against a folder that is the root of a disk."""

KEPT_IN_PARTS = frozenset({"verl"})
"""Formats of which a step keeps several checkpoints side by side: actor, critic, loader of data."""

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

    fault: Fault | None = None
    """What is wrong with a thing that no reader recognizes."""

    other: str | None = None
    """The format of a model that is not read: "GGUF"."""

    link: Path | None = None
    """Where it was met, when that is a link to a file elsewhere."""


def expand(names: Iterable[str], stdin: Iterable[str]) -> list[Path]:
    """The paths that the arguments mean: globs spelled out, `-` replaced by the lines of stdin.

    Raises:
        UsageError: an argument names nothing on this disk.
    """
    paths: list[Path] = []
    for name in names:
        if name == "-":
            paths += _listed(stdin)
        else:
            paths += _meant(name)
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"{path} does not exist", hint="check the name; quote glob patterns")
    return list(dict.fromkeys(paths))


def _listed(stdin: Iterable[str]) -> list[Path]:
    """The names on stdin: one a line, or ended by NUL as `find -print0` and `git diff -z` write them.

    Raises:
        NothingExaminedError: there is none.
    """
    text = "".join(stdin)
    lines = text.split("\0") if "\0" in text else re.split(r"\r?\n", text)
    paths = [Path(line) for line in lines if line.strip()]
    if not paths:
        raise NothingExaminedError(
            "stdin names no checkpoint", hint="write one name a line, or call this only where there is one"
        )
    return paths


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
    walk = _Walk(path)
    yield from walk.named(path)
    if walk.left <= 0:
        yield Found(path=path, reason=f"more than {MOST_ENTRIES} entries; the rest was not looked at")


class _Walk:
    """One walk below one name. Every file is opened once, for all readers together."""

    def __init__(self, root: Path) -> None:
        self.root = os.path.realpath(root)
        self.left = MOST_ENTRIES
        self.followed: set[str] = set()
        """Folders elsewhere that links led to."""

        self.links: dict[str, Path] = {}
        """Links to files elsewhere, by what they lead to."""

    def named(self, path: Path) -> Iterator[Found]:
        """What stands at the path that the walk begins with."""
        real = _where_it_lies(os.fspath(path))
        if real != os.fspath(path):
            self.links[real] = path
        yield from self.at(Candidate(real), 0, named=True)

    def at(self, found: Candidate, depth: int, *, named: bool = False) -> Iterator[Found]:
        """What stands at one path."""
        self.left -= 1
        if self.left <= 0:
            return
        if unfinished_names().search(found.name):
            yield Found(path=found.path, unfinished=True)
        elif found.is_folder:
            yield from self._folder(found, depth)
        elif found.is_file:
            yield from self._file(found, named=named)
        elif named or (found.mode and found.suffix in suffixes()):
            yield Found(path=found.path, reason=_odd(found))

    def _file(self, found: Candidate, *, named: bool) -> Iterator[Found]:
        if is_unfinished_copy(found, suffixes()) and not named:
            yield Found(path=found.path, unfinished=True)
            return
        name = recognized(found)
        if name is not None:
            yield Found(path=found.path, reader=name, link=self.links.get(found.spelled))
            return
        what = unrecognized(found, suffixes(), named=named)
        if what is not None:
            link = self.links.get(found.spelled)
            yield Found(path=found.path, fault=what.fault, other=what.other, reason=what.reason, link=link)

    def _folder(self, found: Candidate, depth: int) -> Iterator[Found]:
        name = recognized(found)
        if name is not None:
            yield Found(path=found.path, reader=name)
        elif depth < DEEPEST:
            try:
                children = self._children(found)
            except OSError as error:
                yield Found(path=found.path, reason=(error.strerror or str(error)).lower())
                return
            yield from self._below(found, children, depth)

    def _below(self, folder: Candidate, children: Sequence[Candidate], depth: int) -> Iterator[Found]:
        """What stands in a folder that is no checkpoint itself: the saves of a run, perhaps."""
        saves, empty = [], []
        parts: dict[str, list[str]] = {}
        ranked = False
        for child in children:
            held = told = False
            for one in self.at(child, depth + 1):
                held, told = held or one.reader is not None, True
                if one.reader is not None and child.is_folder and one.path != child.path:
                    parts.setdefault(child.name, []).append(str(one.path.relative_to(child.path)))
                    ranked = ranked or one.reader in KEPT_IN_PARTS
                yield one
            if held:
                saves.append(child.name)
            elif not told and _holds_nothing(child):
                empty.append(child.name)
        wrong = [*dangling_pointers(folder, saves), *empty_saves(folder, empty, saves)]
        if ranked:
            wrong += lost_parts(folder, parts)
        for path, fault in wrong:
            yield Found(path=path, fault=fault)

    def _children(self, folder: Candidate) -> list[Candidate]:
        with os.scandir(folder.spelled) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        return [found for entry in listed if (found := self._child(entry)) is not None]

    def _child(self, entry: os.DirEntry[str]) -> Candidate | None:
        """None of a link to nothing, and of one to what is found under its own name."""
        try:
            if not entry.is_symlink():
                return Candidate(entry.path, entry.stat(follow_symlinks=False), link=False)
            if entry.is_dir() and not self._follows(entry.path):
                return None
            entry.stat()
        except OSError:
            return None
        return Candidate(entry.path) if entry.is_dir() else self._linked_file(entry.path)

    def _linked_file(self, link: str) -> Candidate | None:
        """A file that a link leads to; read where it lies when that is beyond the folder of the link."""
        real = _where_it_lies(link)
        if real != link:
            if not self._follows(link):
                return None
            self.links[real] = Path(link)
        return Candidate(real)

    def _follows(self, link: str) -> bool:
        """Whether a link leads to a folder outside of what is walked, where it was not before.

        Steps are moved to another disk and linked from their run; "latest" leads to a neighbour.
        """
        real = os.path.realpath(link)
        inside = os.path.commonpath([real, self.root])
        if inside in {real, self.root} or real in self.followed:
            return False
        self.followed.add(real)
        return True


def _where_it_lies(path: str) -> str:
    """The path itself, or of a link to a file beyond its folder what it leads to.

    Runs are moved to another disk and linked file by file; what a user names or keeps in a run is meant.
    """
    if not os.path.islink(path) or not os.path.isfile(path):  # noqa: PTH113, PTH114 (asked of every file)
        return path
    try:
        follow(Path(path))
    except HostileError:
        return os.path.realpath(path)
    except DamagedError:
        return path
    return path


def _holds_nothing(found: Candidate) -> bool:
    return not found.entries if found.is_folder else found.is_file and not found.size


def _odd(found: Candidate) -> str:
    if not found.mode:
        return _unseen(found)
    return "no regular file and no folder"


def _unseen(found: Candidate) -> str:
    try:
        found.path.stat()
    except FileNotFoundError:
        return "a link to nothing"
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return "it changed while it was looked at"


def recognized(found: Candidate) -> str | None:
    """The name of the first reader that knows the path. A suffix decides nothing."""
    for name, recognizes in recognizers(folders=found.is_folder):
        try:
            if recognizes(found):
                return name
        except (OSError, ValueError):
            continue
    return None


@lru_cache(maxsize=2)
def recognizers(*, folders: bool) -> tuple[tuple[str, Callable[[Candidate], bool]], ...]:
    """The question of every reader of folders, or of files, in the order in which they are asked."""
    return tuple((name, reader.recognizes) for name, reader in readers() if reader.folders is folders)


@lru_cache(maxsize=1)
def readers() -> list[tuple[str, Reader]]:
    """Every reader with its name, in the order in which they are asked."""
    named = [(name, READERS.load(name)) for name in READERS.names()]
    return sorted(named, key=lambda pair: pair[1].order)


@lru_cache(maxsize=1)
def suffixes() -> frozenset[str]:
    """What files of checkpoints are called."""
    return frozenset(suffix for _, reader in readers() for suffix in reader.suffixes)


@lru_cache(maxsize=1)
def unfinished_names() -> re.Pattern[str]:
    """The names of saves that are still being written."""
    return re.compile("|".join(pattern for _, reader in readers() for pattern in reader.unfinished))
