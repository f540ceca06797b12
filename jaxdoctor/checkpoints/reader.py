"""The contract of a checkpoint reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jaxdoctor.checkpoints.replay import replay_of
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.registry import Folder
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.marks import marks_of
from jaxdoctor.storage.steps import step_of


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One checkpoint format. It describes, runs nothing in the file, and does not judge."""

    recognizes: Callable[[Candidate], bool]
    """Whether this is one checkpoint of the format, told by its first bytes or its members' names."""

    read: Callable[[Path, Budget], Contents]
    """Its leaves, lazily: no large array is read before one of `Leaf.values` is called.

    Raises:
        UnreadableError: nothing at all can be said about the file. What can still be said of a damaged
            one is returned, with the damage in `Contents.faults`.
    """

    folders: bool = False
    """Whether its checkpoints are folders, so that it is never asked about a file. False: they are files."""

    order: int = 50
    """Readers are asked in this order; a format that another one contains says a smaller number."""

    restored_by_jax: bool = True
    """Whether a JAX process restores the format. False: 64-bit integers are ordinary in it."""

    suffixes: tuple[str, ...] = ()
    """What its files are called: ".npz". A file of that name that no reader recognizes is reported."""

    unfinished: tuple[str, ...] = ()
    """Regular expressions that its writer's unfinished saves match: `storage/unfinished.py`."""


READERS = Folder("jaxdoctor.checkpoints.readers", Reader, noun="checkpoint format")


def describe(name: str, path: Path, budget: Budget) -> Checkpoint:
    """What the reader of that name says of a path, with what is found in the same way for every format.

    Raises:
        UnreadableError: as for `Reader.read`.
    """
    reader = READERS.load(name)
    before = budget.bytes_read
    contents = reader.read(path, budget)
    step = step_of(path)
    if step is None and path.is_symlink():
        step = step_of(path.resolve())
    return Checkpoint(
        path=str(path),
        format=name,
        leaves=tuple(contents.leaves),
        metadata=contents.metadata,
        step=step if contents.step is None else contents.step,
        named_step=step,
        bytes_total=path.stat().st_size if contents.bytes_total is None else contents.bytes_total,
        bytes_read=budget.bytes_read - before,
        saved_at=_written(path) if contents.saved_at is None else contents.saved_at,
        copied_time=contents.saved_at is None,
        marks=marks_of(path),
        replay=replay_of(path, contents.leaves, contents.metadata) if contents.finished else None,
        finished=contents.finished,
        parts=tuple(contents.parts),
        faults=tuple(contents.faults),
        written_by_jax=reader.restored_by_jax,
    )


def _written(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None
