"""Files that stand for a checkpoint that was never downloaded: Git LFS pointers, and saved web pages."""

from __future__ import annotations

import re
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import PointerError
from jaxdoctor.storage.files import first_bytes

SIGHT = 512
LFS = b"version https://git-lfs.github.com/spec/v1"
PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".svg", ".xml", ".md", ".txt"})
"""Under these names a page is what it should be."""

DECLARED = re.compile(rb"^size (\d{1,19})$", re.MULTILINE)


def _recognizes(found: Candidate) -> bool:
    head = found.head
    return head.startswith(LFS) or (
        found.suffix.lower() not in PAGE_SUFFIXES
        and PAGE.match(head.removeprefix(b"\xef\xbb\xbf")) is not None
    )


def _read(path: Path, budget: Budget) -> Contents:
    head = first_bytes(path, SIGHT)
    budget.count(len(head))
    if head.startswith(LFS):
        declared = DECLARED.search(head)
        whole = f" of {int(declared[1])} bytes" if declared else ""
        error = PointerError(f"{path.name} is a Git LFS pointer: the file{whole} was never downloaded")
    else:
        error = PointerError(f"{path.name} is a web page, most likely an error that was saved in its place")
    return Contents(
        faults=(error.fault(path=str(path)),),
    )


READER = Reader(recognizes=_recognizes, read=_read, order=10)
