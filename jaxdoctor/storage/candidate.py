"""One path that may be a checkpoint: kind, size, first bytes and names, fetched once for all readers."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from jaxdoctor.storage.files import beginning

HEAD = 4096
"""Bytes that are read of each file, in one go."""

MOST_NAMES = 10_000
"""Entries of a folder that recognition looks at."""


class Candidate:
    """What readers are asked about. Nothing is opened before it is needed, and nothing twice.

    Among a hundred thousand files this is what each of them costs, so it is kept plain.
    """

    __slots__ = (
        "_entries",
        "_head",
        "answers",
        "is_file",
        "is_folder",
        "link",
        "mode",
        "name",
        "size",
        "spelled",
        "suffix",
    )

    def __init__(self, path: Path | str, status: os.stat_result | None = None, *, link: bool = True) -> None:
        self.spelled = os.fspath(path)
        self.link = link
        """Whether the path may be a link, which is followed with care. False: a walk saw that it is none."""

        self.name = self.spelled[self.spelled.rfind("/") + 1 :]
        """Its last part."""

        dot = self.name.rfind(".")
        self.suffix = self.name[dot:] if dot > 0 else ""
        """What stands behind the name's last dot, with the dot."""

        self.mode, self.size = _looked(self.spelled) if status is None else (status.st_mode, status.st_size)
        """The kind of thing that stands there, 0 where nothing can be seen; the bytes of a file."""

        self.is_file = stat.S_ISREG(self.mode)
        self.is_folder = stat.S_ISDIR(self.mode)
        self._head: bytes | None = None
        self._entries: dict[str, bool] | None = None
        self.answers: dict[str, Any] = {}
        """What was found out about it once and is asked by several readers, by name."""

    @property
    def path(self) -> Path:
        """The path."""
        return Path(self.spelled)

    @property
    def head(self) -> bytes:
        """The first `HEAD` bytes of a file; nothing of anything else, or of one that may not be read."""
        if self._head is None:
            self._head = beginning(self.spelled, HEAD, link=self.link) if self.is_file else b""
        return self._head

    def longer_head(self, size: int) -> bytes:
        """More of the beginning, up to `size` bytes."""
        if len(self.head) < HEAD:
            return self.head
        return beginning(self.spelled, size, link=self.link)

    @property
    def entries(self) -> dict[str, bool]:
        """The names in a folder, sorted, each with whether it is a folder; nothing of anything else."""
        if self._entries is None:
            self._entries = _listed(self.spelled) if self.is_folder else {}
        return self._entries

    @property
    def folders(self) -> list[str]:
        """The names of the folders in it."""
        return [name for name, is_folder in self.entries.items() if is_folder]

    def has(self, name: str) -> bool:
        """Whether something of that name is in the folder, whatever it is."""
        if len(self.entries) < MOST_NAMES:
            return name in self.entries
        return os.path.lexists(os.path.join(self.spelled, name))  # noqa: PTH118 (a `Path` costs more)

    def child(self, name: str) -> Candidate:
        """What stands under that name in the folder."""
        return Candidate(os.path.join(self.spelled, name))  # noqa: PTH118 (as above)


def _looked(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116 (as above)
    except (OSError, ValueError):
        return 0, 0
    return status.st_mode, status.st_size


def _listed(folder: str) -> dict[str, bool]:
    try:
        with os.scandir(folder) as found:
            listed = [
                (entry.name, _is_folder(entry)) for entry, _ in zip(found, range(MOST_NAMES), strict=False)
            ]
    except OSError:
        return {}
    return dict(sorted(listed))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
