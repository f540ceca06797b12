"""Shapes as files declare them, checked in Python integers before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError
from jaxdoctor.storage.elements import Element

MOST_AXES = 64
"""NumPy's own limit since 2.0."""

LARGEST = 1 << 63
"""No address space holds as many elements."""


def shape(declared: object, what: str) -> tuple[int, ...]:
    """A declared shape, when it can be one.

    Raises:
        CorruptError: it is no list of integers.
        HostileError: an axis is negative, or the product cannot exist.
    """
    if not isinstance(declared, Sequence) or isinstance(declared, (str, bytes)):
        raise CorruptError(f"{what} declares a shape that is no list: {str(declared)[:80]}")
    if len(declared) > MOST_AXES:
        raise HostileError(f"{what} declares {len(declared)} axes")
    for axis in declared:
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise CorruptError(f"{what} declares an axis that is no integer: {str(axis)[:80]}")
        if not 0 <= axis < LARGEST:
            raise HostileError(f"{what} declares an axis of {str(axis)[:40]}")
    if math.prod(declared) >= LARGEST:
        raise HostileError(f"{what} declares more elements than any memory holds: {list(declared)}")
    return tuple(declared)


def fits(elements: int, kind: Element, stored: int, what: str) -> None:
    """Insists that as many elements are stored as the shape says.

    Raises:
        TruncatedError: fewer.
        CorruptError: more.
    """
    needed = elements * kind.width
    if stored < needed:
        raise TruncatedError(
            f"{what} needs {needed:,} bytes for {elements:,} {kind.name}, and {stored:,} are stored"
        )
    if stored > needed:
        raise CorruptError(
            f"{what} needs {needed:,} bytes for {elements:,} {kind.name}, and {stored:,} are stored"
        )
