"""What can be wrong with a stored file. Each error becomes a `Fault`, and so a finding.

DamagedError                 UnreadableError
├── HostileError             hostile-content    asks for something that no honest writer writes
├── TruncatedError           truncated-file     ends too early
├── CorruptError             corrupt-data       cannot be what its writer wrote
├── MissingError             missing-file       is named and not there, or may not be opened
├── PointerError             pointer-not-data   stands for a file that was never downloaded
├── UnfinishedError          unfinished-save    was being written when its writer stopped
└── UnsupportedError         unsupported-leaf   is stored in a way that is not read
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.fault import Fault


class DamagedError(UnreadableError):
    """A stored file, or a part of it, could not be accepted."""

    kind = "corrupt-data"
    """The rule that reports it."""

    advice = "save again, or restore an older step"

    def __init__(
        self, message: str, *, hint: str | None = None, evidence: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message, hint=hint or self.advice)
        self.fix = hint
        self.evidence = evidence or {}

    def fault(self, *, path: str | None = None, leaf: str | None = None) -> Fault:
        """The same as a fault of the checkpoint at `path`, or of one leaf of it."""
        return Fault(
            kind=self.kind, message=str(self), path=path, leaf=leaf, fix=self.fix, evidence=self.evidence
        )


class HostileError(DamagedError):
    """The file asks for something that no honest writer writes."""

    kind = "hostile-content"
    advice = "find out who wrote this file before anything opens it"


class TruncatedError(DamagedError):
    """The file ends before what it says it holds."""

    kind = "truncated-file"
    advice = "the writer or the copy was cut off: copy it again, save again, or restore an older step"


class CorruptError(DamagedError):
    """The bytes cannot be what the writer wrote."""


class MissingError(DamagedError):
    """A file is named and is not there, or may not be opened."""

    kind = "missing-file"
    advice = "copy the whole folder, with permission to read it"


class PointerError(DamagedError):
    """The file stands for another that was never downloaded."""

    kind = "pointer-not-data"
    advice = "download the file itself: git lfs pull"


class UnfinishedError(DamagedError):
    """The save was under way when its writer stopped."""

    kind = "unfinished-save"
    advice = "restore an older step; if the writer still runs, wait until it is done"


class UnsupportedError(DamagedError):
    """The values are stored in a way that is not read."""

    kind = "unsupported-leaf"
    advice = "the other leaves are judged; this one is not"


class noted:  # noqa: N801 (reads as a statement)
    """Runs a block whose damage is noted as a fault, and does not end the reading of the rest."""

    def __init__(
        self, note: Callable[[Fault], None], *, path: str | None = None, leaf: str | None = None
    ) -> None:
        self.note = note
        self.path = path
        self.leaf = leaf

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, DamagedError):
            self.note(error.fault(path=self.path, leaf=self.leaf))
            return True
        return False
