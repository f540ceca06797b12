"""What a reader says about one checkpoint; the rest is found in the same way for all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The contents of one checkpoint, as far as they can be read."""

    leaves: Sequence[Leaf] = ()
    faults: Sequence[Fault] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """As in `Checkpoint.metadata`."""

    parts: Sequence[str] = ()
    """The names of files or folders that every save of a run has: of ranks, of items."""

    step: int | None = None
    """The step that is stored within; a step in the name is found without the reader."""

    saved_at: float | None = None
    """Seconds since 1970 when the format says that the save was committed; None: the file system tells."""

    finished: bool = True
    """Whether the save is whole enough for its values to be judged."""

    bytes_total: int | None = None
    """Bytes of all files that belong to it; None: the bytes of the one file."""
