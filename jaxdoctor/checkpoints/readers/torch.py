"""Files of `torch.save`, zipped or legacy, read without torch. Archives of torch <= 0.1.10 are named."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import UnsupportedError
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.saved_steps import step_among
from jaxdoctor.storage.torch.files import read_torch_file
from jaxdoctor.storage.torch.marks import LEGACY_MAGIC, ROOT_ENDING, TAR_MEMBERS
from jaxdoctor.storage.zips import LOCAL, glimpsed_names

TAR_MARK = slice(257, 262)
LONGEST_NAME = 100
"""Bytes of a name in a tar header."""


def _recognizes(found: Candidate) -> bool:
    head = found.head
    if head.startswith(LOCAL):
        return any(f"/{name}".endswith(ROOT_ENDING) and "/" in name for name in glimpsed_names(found))
    return head.startswith(LEGACY_MAGIC) or _is_old_tar(head)


def _is_old_tar(head: bytes) -> bool:
    name = head[:LONGEST_NAME].partition(b"\0")[0].decode("ascii", "replace")
    return head[TAR_MARK] == b"ustar" and name.removeprefix("./").partition("/")[0] in TAR_MEMBERS


def _read(path: Path, budget: Budget) -> Contents:
    if _is_old_tar(first_bytes(path, 512)):
        raise UnsupportedError(
            f"{path} is a tar archive of torch 0.1.10 or older",
            hint="load it with torch.load, and save it again with torch.save",
        )
    file = read_torch_file(path, budget)
    return Contents(
        leaves=file.leaves,
        metadata=file.metadata,
        step=step_among(file.root),
        bytes_total=file.bytes_total,
        faults=file.faults,
    )


READER = Reader(
    recognizes=_recognizes, read=_read, restored_by_jax=False, suffixes=(".pt", ".pth", ".bin", ".ckpt")
)
