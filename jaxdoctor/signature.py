"""The dtypes and weak types that go into an update function and come out of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LeafSignature:
    """One leaf of the state, before and after one call."""

    path: str
    dtype_in: str | None
    """None: the leaf is new."""

    dtype_out: str | None
    """None: the leaf is gone."""

    shape_in: tuple[int, ...] | None
    shape_out: tuple[int, ...] | None
    weak_in: bool = False
    weak_out: bool = False


@dataclass(frozen=True, kw_only=True)
class Signature:
    """An update function as abstract tracing sees it."""

    target: str
    leaves: tuple[LeafSignature, ...]
    rounds: int | None
    """Calls until the state's dtypes, shapes and weak types no longer change; None: they never settle."""
