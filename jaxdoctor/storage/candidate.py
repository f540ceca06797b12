"""One path that may be a checkpoint: kind, size, first bytes and names, fetched once for all readers."""

from __future__ import annotations

import os
import stat
from functools import cached_property
from pathlib import Path

from jaxdoctor.storage.files import beginning

HEAD = 4096
"""Bytes that are read of each file, in one go."""

MOST_NAMES = 10_000
"""Entries of a folder that recognition looks at."""


class Candidate:
    """What readers are asked about. Nothing is opened before it is needed, and nothing twice."""

    def __init__(self, path: Path | str, status: os.stat_result | None = None, *, link: bool = True) -> None:
        self.spelled = os.fspath(path)
        self._status = status
        self.link = link
        """Whether the path may be a link, which is followed with care. False: a walk saw that it is none."""

    @cached_property
    def path(self) -> Path:
        """The path."""
        return Path(self.spelled)

    @cached_property
    def name(self) -> str:
        """Its last part."""
        return os.path.basename(self.spelled)  # noqa: PTH119 (a `Path` costs more than all readers' answers)

    @cached_property
    def suffix(self) -> str:
        """What stands behind the name's last dot, with the dot."""
        return os.path.splitext(self.spelled)[1]  # noqa: PTH122 (as above)

    @cached_property
    def mode(self) -> int:
        """The kind of thing that stands there; 0: nothing, or nothing that may be seen."""
        return self._status.st_mode if self._status else self._looked[0]

    @cached_property
    def size(self) -> int:
        """Bytes of the file."""
        return self._status.st_size if self._status else self._looked[1]

    @cached_property
    def _looked(self) -> tuple[int, int]:
        try:
            status = os.stat(self.spelled)  # noqa: PTH116 (as above)
        except (OSError, ValueError):
            return 0, 0
        return status.st_mode, status.st_size

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)

    @cached_property
    def head(self) -> bytes:
        """The first `HEAD` bytes of a file; nothing of anything else, or of one that may not be read."""
        return beginning(self.spelled, HEAD, link=self.link) if self.is_file else b""

    def longer_head(self, size: int) -> bytes:
        """More of the beginning, up to `size` bytes."""
        if len(self.head) < HEAD:
            return self.head
        return beginning(self.spelled, size, link=self.link)

    @cached_property
    def entries(self) -> dict[str, bool]:
        """The names in a folder, sorted, each with whether it is a folder; nothing of anything else."""
        if not self.is_folder:
            return {}
        try:
            with os.scandir(self.spelled) as found:
                listed = [
                    (entry.name, _is_folder(entry))
                    for entry, _ in zip(found, range(MOST_NAMES), strict=False)
                ]
        except OSError:
            return {}
        return dict(sorted(listed))

    @cached_property
    def folders(self) -> list[str]:
        """The names of the folders in it."""
        return [name for name, is_folder in self.entries.items() if is_folder]

    def has(self, name: str) -> bool:
        """Whether something of that name is in the folder, whatever it is."""
        if len(self.entries) < MOST_NAMES:
            return name in self.entries
        return os.path.lexists(os.path.join(self.spelled, name))  # noqa: PTH118 (as above)

    def child(self, name: str) -> Candidate:
        """What stands under that name in the folder."""
        return Candidate(os.path.join(self.spelled, name))  # noqa: PTH118 (as above)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
