"""What a replay takes of the memory, as the compiler planned it, and what the judged card has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Bytes of one replay in a compiled program of many, and the run that it stands for."""

    replay: float
    """In float32, in bytes."""

    x64: float | None = None
    """In float64, in bytes; None: it was not compiled."""

    batch: int | None = None
    """Environments that the user's run steps at once; None: not said."""

    card: int | None = None
    """What the judged card has, in bytes; None: not known."""

    @property
    def ratio(self) -> float | None:
        """How many times the memory of float32 x64 takes."""
        return None if self.x64 is None or not self.replay else self.x64 / self.replay

    def needed(self, *, x64: bool) -> float | None:
        """Bytes that the step of the user's batch takes; None where one of the two is not known."""
        each = self.x64 if x64 else self.replay
        return None if self.batch is None or each is None else self.batch * each
