"""A failing replay that was written into a bundle."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RecordedFailure:
    """Where it was written, and which replay it is."""

    path: str
    precision: str
    """"tf32 (emulated)"."""

    replay: int
    step: int
    field: str
    steps: int
    """How many before it are recorded, the one that fails among them."""

    bytes: int
    """Of the file."""

    policy: str | None = None
    """The policy that was to be in it; None: that was not asked for."""

    policy_left_out: str | None = None
    """Why only its name is there."""
