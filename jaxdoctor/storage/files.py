"""Opens the files of a checkpoint: regular ones only, inside its folder only, read in bounded pieces."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import HostileError, MissingError, TruncatedError

KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a folder",
}
LONGEST_NAME = 4096
"""Linux's PATH_MAX. A name beyond it cannot be a file."""


def inside(root: Path, name: str) -> Path:
    """The path that a file's own content calls `name`, when it stays in the folder `root`.

    Raises:
        HostileError: the name is absolute, climbs with "..", or a link on its way leaves the folder.
    """
    parts = PurePosixPath(name).parts
    if not name or "\0" in name or "\\" in name or len(os.fsencode(name)) > LONGEST_NAME:
        raise HostileError(f"the name {name[:80]!r} is not a file's")
    if name.startswith("/") or ".." in parts:
        raise HostileError(f"the name {name[:200]!r} leaves the folder of the checkpoint")
    path = root.joinpath(*parts)
    follow(path, root=root)
    return path


def follow(path: Path, *, root: Path | None = None) -> Path:
    """Where `path` really stands. Links are followed within `root`, or to the blobs of a hub cache.

    Without a root, that is the folder `path` stands in.

    Raises:
        HostileError: a link leads out.
        MissingError: a link leads in a circle.
    """
    base = path.parent if root is None else root
    if _is_plainly_below(os.fspath(path), os.fspath(base)):
        return path
    try:
        home = base.resolve()
        real = path.resolve()
        # From Python 3.13 on a circle of links is resolved as far as it goes, and no error.
        if real.is_symlink():
            real.stat()
    except (OSError, RuntimeError) as error:
        raise MissingError(f"{path} cannot be followed: {error}") from error
    if real.is_relative_to(home) or _is_blob(path, real):
        return real
    raise HostileError(f"{path} is a link that leaves the folder of the checkpoint")


def _is_plainly_below(path: str, base: str) -> bool:
    """Whether no part of a path below its root is a link, so that it is known to be inside."""
    if not path.startswith(f"{base}/") and base != ".":
        return False
    place = base
    for part in (path if base == "." else path[len(base) + 1 :]).split("/"):
        place = f"{place}/{part}"
        try:
            if part in {"", ".."} or stat.S_ISLNK(os.lstat(place).st_mode):
                return False
        except (OSError, ValueError):
            return False
    return True


def _is_blob(path: Path, real: Path) -> bool:
    """Whether this is how the Hugging Face hub caches a file: snapshots/<revision>/... -> blobs/<hash>.

    https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    """
    for folder in path.absolute().parents:
        if folder.name == "snapshots":
            return real.parent == folder.parent.resolve() / "blobs"
    return False


def size_of(path: Path, *, root: Path | None = None) -> int:
    """The bytes of a regular file, told without opening it.

    Raises:
        DamagedError: it is missing, is no regular file, or a link leads out.
    """
    try:
        status = os.lstat(follow(path, root=root))
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from error
    _insist_regular(path, status)
    return status.st_size


def open_regular(path: Path, *, root: Path | None = None) -> BinaryIO:
    """Opens a regular file, unbuffered. Never waits on a FIFO, never follows a link that leaves the folder.

    Raises:
        DamagedError: it is missing, is no regular file, a link leads out, or it may not be read.
    """
    return os.fdopen(open_descriptor(path, root=root), "rb", buffering=0)


def open_descriptor(path: Path, *, root: Path | None = None) -> int:
    """The same as a bare descriptor, which the caller closes."""
    real = follow(path, root=root)
    try:
        _insist_regular(path, os.lstat(real))
        # Between the look and the opening a name can change: neither a link nor a FIFO is waited for.
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from error
    try:
        _insist_regular(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


HELD_WHOLE = 64 << 10
"""Bytes of a file that is read at once when it is opened."""


class Opened:
    """A regular file that is open for reading, and is closed with the last that refers to it."""

    __slots__ = ("content", "descriptor", "name", "root")

    def __init__(self, path: Path, root: Path | None) -> None:
        self.descriptor = open_descriptor(path, root=root)
        self.name = path
        self.root = root
        small = os.fstat(self.descriptor).st_size <= HELD_WHOLE
        self.content = os.pread(self.descriptor, HELD_WHOLE, 0) if small else b""
        """All of a small file, whose parts would be read one by one otherwise."""

    def fileno(self) -> int:
        """Its descriptor."""
        return self.descriptor

    def __del__(self) -> None:
        if hasattr(self, "name"):
            os.close(self.descriptor)


def opened(path: Path, budget: Budget, *, root: Path | None = None) -> Opened:
    """The same as `open_regular`; the file that a scan opened last is kept open, since most parts lie in one.

    Raises:
        DamagedError: as for `open_regular`.
    """
    held = budget.held
    if isinstance(held, Opened) and held.name == path and held.root == root:
        return held
    budget.held = Opened(path, root)
    return budget.held


def _insist_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
    raise HostileError(f"{path} is {kind} where a file is expected")


def _refusal(path: Path, error: OSError | ValueError) -> MissingError:
    if isinstance(error, FileNotFoundError):
        return MissingError(f"{path} is missing")
    reason = getattr(error, "strerror", None) or error
    return MissingError(f"{path} cannot be opened: {reason}")


def read_exactly(file: BinaryIO | Opened, offset: int, size: int, budget: Budget) -> bytes:
    """The bytes `[offset, offset + size)` of an open file.

    Raises:
        TruncatedError: the file ends before; told before anything is allocated.
    """
    if isinstance(file, Opened) and 0 <= offset <= offset + size <= len(file.content):
        budget.count(size)
        return file.content[offset : offset + size]
    stored = os.fstat(file.fileno()).st_size
    if offset < 0 or size < 0 or offset + size > stored:
        named = getattr(file, "name", None)
        name = os.path.basename(named) if isinstance(named, str) else "the file"  # noqa: PTH119 (a name of any kind)
        raise TruncatedError(
            f"{name} ends at byte {stored}, and bytes {offset} to {offset + size} are needed"
        )
    budget.allow(size, "a part of a file")
    parts = []
    while size:
        part = os.pread(file.fileno(), size, offset)
        if not part:
            raise TruncatedError("the file became shorter while it was read")
        budget.count(len(part))
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_into(file: Opened, offset: int, room: memoryview, budget: Budget) -> None:
    """Fills the memory with the bytes from `offset` on.

    Raises:
        TruncatedError: the file ends before.
    """
    if 0 <= offset <= offset + len(room) <= len(file.content):
        budget.count(len(room))
        room[:] = file.content[offset : offset + len(room)]
        return
    while room:
        size = os.preadv(file.fileno(), [room], offset)
        if not size:
            raise TruncatedError("the file became shorter while it was read")
        budget.count(size)
        offset += size
        room = room[size:]


def read_whole(path: Path, budget: Budget, *, limit: int, root: Path | None = None) -> bytes:
    """A whole small file.

    Raises:
        DamagedError: it cannot be opened, or is larger than `limit` bytes.
    """
    with open_regular(path, root=root) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise HostileError(
                f"{path} has {size:,} bytes, and at most {limit:,} are expected of such a file"
            )
        return read_exactly(file, 0, size, budget)


def first_bytes(path: Path, size: int) -> bytes:
    """At most `size` bytes from the beginning, for recognition: nothing when it is no readable file."""
    try:
        with open_regular(path) as file:
            return os.pread(file.fileno(), size, 0)
    except (HostileError, MissingError, OSError):
        return b""


def beginning(path: str, size: int, *, link: bool = True) -> bytes:
    """The same for recognition among many files. Without `link` the walk knows that the path is no link."""
    if link:
        return first_bytes(Path(path), size)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return b""
    try:
        return os.pread(descriptor, size, 0)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


MOST_MEMBERS = 500_000
"""Entries of a folder. Orbax's oldest layout has three for each array."""

MEMBER = 800
"""Bytes of memory for each."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of a folder."""

    name: str
    """Relative to the folder, with "/"."""

    path: Path
    size: int
    """0 for what is not a regular file."""

    kind: str
    """"file", "folder", "link out", or what else it is: "a FIFO"."""


def members(root: Path, *, most: int = MOST_MEMBERS, deepest: int = 32) -> Iterator[Member]:
    """Every entry below `root`, sorted in each folder, folders before what is in them.

    Links to folders are named and not entered.

    Raises:
        HostileError: more than `most` entries, or deeper than `deepest` folders.
    """
    seen = 0
    waiting = [("", root)]
    while waiting:
        prefix, folder = waiting.pop()
        for entry in _listing(folder, most - seen + 1):
            seen += 1
            if seen > most:
                raise HostileError(f"{root} holds more than {most} entries")
            member = _member(entry, f"{prefix}{entry.name}", root)
            yield member
            if member.kind == "folder" and not entry.is_symlink():
                if member.name.count("/") >= deepest:
                    raise HostileError(f"{root} holds folders deeper than {deepest}")
                waiting.append((f"{member.name}/", member.path))


def all_members(root: Path, budget: Budget) -> list[Member]:
    """The same at once, as many as memory is allowed for.

    Raises:
        HostileError: as for `members`.
        OverBudgetError: there are more.
    """
    found = []
    for member in members(root):
        found.append(member)
        budget.allow(len(found) * MEMBER, f"the list of files in {root}")
    return found


def _listing(folder: Path, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(itertools.islice(entries, most), key=lambda entry: entry.name)
    except OSError as error:
        raise _refusal(folder, error) from error


def _member(entry: os.DirEntry[str], name: str, root: Path) -> Member:
    path = Path(entry.path)
    try:
        if entry.is_symlink():
            follow(path, root=root)
        status = entry.stat()
    except HostileError:
        return Member(name, path, 0, "link out")
    except (OSError, MissingError):
        return Member(name, path, 0, "missing")
    if stat.S_ISREG(status.st_mode):
        return Member(name, path, status.st_size, "file")
    if stat.S_ISDIR(status.st_mode):
        return Member(name, path, 0, "folder")
    return Member(name, path, 0, KINDS.get(stat.S_IFMT(status.st_mode), "no regular file"))
