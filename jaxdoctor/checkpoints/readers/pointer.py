"""Files that stand for a checkpoint that was never downloaded: Git LFS pointers, and saved web pages."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.placeholders import LFS, pointer

PAGE_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".svg", ".xml", ".md", ".txt"})
"""Under these names a page is what it should be."""

MEDIA_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".webp", ".mp4", ".webm", ".mov", ".wav", ".mp3", ".ogg", ".pdf"}
    | {".stl", ".obj", ".dae", ".ply", ".glb", ".usd", ".usdz", ".ttf", ".otf", ".csv", ".ipynb"}
)
"""What nobody takes for a checkpoint, wherever it is."""


def _recognizes(found: Candidate) -> bool:
    suffix = found.suffix.lower()
    if suffix in MEDIA_SUFFIXES:
        return False
    if suffix in PAGE_SUFFIXES:
        return found.head.startswith(LFS)
    return pointer(found) is not None


def _read(path: Path, budget: Budget) -> Contents:
    found = Candidate(path)
    error = pointer(found)
    budget.count(len(found.head))
    return Contents(faults=() if error is None else (error.fault(path=str(path)),))


READER = Reader(recognizes=_recognizes, read=_read, order=10)
