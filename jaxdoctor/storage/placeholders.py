"""Files that hold no data: Git LFS pointers, saved web pages, empty files, and files of zeros."""

from __future__ import annotations

import re

from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import CorruptError, DamagedError, PointerError, TruncatedError

LFS = b"version https://git-lfs.github.com/spec/v1"
DECLARED = re.compile(rb"^size (\d{1,19})$", re.MULTILINE)
PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def pointer(found: Candidate) -> PointerError | None:
    """What stands in place of a file that was never downloaded; None of any other file."""
    if found.head.startswith(LFS):
        declared = DECLARED.search(found.head)
        size = f"{_size(int(declared[1]))} were" if declared else "the file itself was"
        return PointerError(
            f"{found.name} is a Git LFS pointer: {size} never downloaded", hint="git lfs pull"
        )
    if PAGE.match(found.head):
        return PointerError(
            f"{found.name} is a web page, most likely an error that was saved in its place",
            hint="download the file itself: the page often asks for a login",
        )
    return None


def placeholder(found: Candidate) -> DamagedError | None:
    """Why a regular file that should hold data holds none; None where it may."""
    if found.is_file and not found.size:
        return TruncatedError(f"{found.name} is empty", hint=SAVE_AGAIN)
    if found.head and not found.head.strip(b"\0"):
        return CorruptError(f"{found.name} begins with {len(found.head):,} bytes of zeros", hint=SAVE_AGAIN)
    return pointer(found)


SAVE_AGAIN = (
    "copy it again if the original is whole, else restore an older step; look whether the disk is full"
)


def insist_data(found: Candidate) -> None:
    """Insists that a file is not a mere placeholder.

    Raises:
        DamagedError: it is one.
    """
    error = placeholder(found)
    if error is not None:
        raise error


def _size(size: int) -> str:
    for unit, name in SIZES:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"
