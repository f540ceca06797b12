"""Files called like checkpoints that no reader recognizes: damaged ones, and formats that are not read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from jaxdoctor.facts.fault import Fault
from jaxdoctor.storage import gguf
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import CorruptError, DamagedError
from jaxdoctor.storage.foreign import foreign_format
from jaxdoctor.storage.placeholders import placeholder
from jaxdoctor.storage.unfinished import COPIED

SHARED = frozenset({".bin", ".ckpt", ".pt", ".pth", ".pkl", ".pickle", ".msgpack", ".h5", ".hdf5"})
"""Suffixes that programs of other kinds use too: under them other content is no damage."""

BINARY = re.compile(
    r"(?:pytorch_model|adapter_model|diffusion_pytorch_model|model|optimizer|scheduler|scaler|training_args)"
    r"[\w.-]*\.bin"
)
"""The only files of that suffix that are taken for a checkpoint's; others hold firmware, images, tables."""

OTHERS = frozenset({".gguf", ".onnx", ".joblib"})
"""Of the suffixes of other formats, those under which people keep models beside checkpoints."""

DENIED = "permission denied"


@dataclass(frozen=True)
class Unrecognized:
    """What is said of such a file."""

    fault: Fault | None = None
    """It is damaged."""

    other: str | None = None
    """It is of another format, or of none that is known: "GGUF"."""

    reason: str | None = None
    """It may not be looked at."""


def unrecognized(found: Candidate, suffixes: frozenset[str], *, named: bool = False) -> Unrecognized | None:
    """What a regular file is that no reader recognizes; None: nothing that matters to a scan.

    Args:
        found: the file.
        suffixes: those of all readers.
        named: whether the user named this very file.
    """
    if not (named or _is_called_like_one(found, suffixes)):
        return None
    other = foreign_format(found)
    if not found.head and found.size and not os.access(found.spelled, os.R_OK):
        return Unrecognized(reason=DENIED)
    error = placeholder(found) or _damage(found, suffixes, other)
    if error is not None:
        return Unrecognized(fault=error.fault(path=found.spelled))
    if other is None and named:
        return Unrecognized()
    if found.suffix == ".pth" and found.head.isascii():
        # Python's own path files, which stand in every site-packages.
        return None
    return Unrecognized(other=other or "unknown")


def _is_called_like_one(found: Candidate, suffixes: frozenset[str]) -> bool:
    if found.suffix == ".bin":
        return BINARY.fullmatch(found.name) is not None
    return found.suffix in suffixes or found.suffix in OTHERS or found.head.startswith(gguf.MAGIC)


def _damage(found: Candidate, suffixes: frozenset[str], other: str | None) -> DamagedError | None:
    if other == "GGUF":
        try:
            gguf.insist_whole(found.path, Budget())
        except DamagedError as error:
            return error
    if other is None and found.suffix in suffixes - SHARED:
        return CorruptError(f"{found.name} does not begin as a {found.suffix} file does")
    return None


def is_unfinished_copy(found: Candidate, suffixes: frozenset[str]) -> bool:
    """Whether a name says that the file is still being written or downloaded: "model.pt.tmp"."""
    if found.suffix not in COPIED:
        return False
    stem = found.name.removesuffix(found.suffix)
    return stem[stem.rfind(".") :] in suffixes
