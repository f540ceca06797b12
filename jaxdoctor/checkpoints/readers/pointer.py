"""Files that stand for a checkpoint that was never downloaded: Git LFS pointers, and saved web pages."""

from __future__ import annotations

import re
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import PointerError
from jaxdoctor.storage.files import first_bytes, size_of

SIGHT = 512
LFS = b"version https://git-lfs.github.com/spec/v1"
PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".svg", ".xml", ".md", ".txt"})
"""Under these names a page is what it should be."""

DECLARED = re.compile(rb"^size (\d{1,19})$", re.MULTILINE)


def _recognizes(path: Path) -> bool:
    head = first_bytes(path, SIGHT)
    return head.startswith(LFS) or (
        path.suffix.lower() not in PAGE_SUFFIXES
        and PAGE.match(head.removeprefix(b"\xef\xbb\xbf")) is not None
    )


def _read(path: Path, budget: Budget) -> Checkpoint:
    head = first_bytes(path, SIGHT)
    budget.count(len(head))
    size = size_of(path)
    if head.startswith(LFS):
        declared = DECLARED.search(head)
        whole = f" of {int(declared[1])} bytes" if declared else ""
        error = PointerError(f"{path.name} is a Git LFS pointer: the file{whole} was never downloaded")
    else:
        error = PointerError(f"{path.name} is a web page, most likely an error that was saved in its place")
    return Checkpoint(
        path=str(path),
        format="pointer",
        leaves=(),
        bytes_total=size,
        bytes_read=len(head),
        faults=(error.fault(path=str(path)),),
    )


READER = Reader(recognizes=_recognizes, read=_read, order=10)
