"""The contract of a checkpoint reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.registry import Folder
from jaxdoctor.storage.budget import Budget


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One checkpoint format. It describes, runs nothing in the file, and does not judge."""

    recognizes: Callable[[Path], bool]
    """Whether this path is one checkpoint of the format, told by its first bytes or its members' names."""

    read: Callable[[Path, Budget], Checkpoint]
    """Its leaves, lazily: no large array is read before one of `Leaf.values` is called.

    Raises:
        UnreadableError: nothing at all can be said about the file. What can still be said of a damaged
            one is returned, with the damage in `Checkpoint.faults`.
    """

    order: int = 50
    """Readers are asked in this order; a format that another one contains says a smaller number."""


READERS = Folder("jaxdoctor.checkpoints.readers", Reader, noun="checkpoint format")
