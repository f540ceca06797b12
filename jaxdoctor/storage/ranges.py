"""Values that lie uncompressed in one range of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxdoctor.facts.leaf import Values
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import TruncatedError
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.files import opened, read_exactly, read_into

PIECE = 1 << 20
"""Bytes of one piece of a stream: small enough to stay in a cache, and few enough calls."""

PLACES = 8
"""Places of an array that a sample looks at."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """Elements one after the other in a file."""

    path: Path
    root: Path | None = None
    """The folder that links may not leave; None: the file's own."""

    offset: int
    elements: int
    kind: Element


def range_values(stored: Range, budget: Budget) -> Values:
    """Reads that range: a stream from end to end, a sample from `PLACES` places."""
    return Values(
        stream=lambda: _stream(stored, budget),
        sample=lambda most: _sample(stored, most, budget),
    )


def _stream(stored: Range, budget: Budget) -> Iterator[Any]:
    import numpy as np

    kind = stored.kind.numpy()
    left = stored.elements * stored.kind.width
    file = opened(stored.path, budget, root=stored.root)
    _insist_whole(stored, os.fstat(file.fileno()).st_size)
    budget.allow(PIECE, "a part of a file")
    # New memory for each piece would take longer to be mapped than the file to be read.
    room = memoryview(bytearray(min(left, PIECE)))
    offset = stored.offset
    while left:
        piece = room[: min(left, PIECE)]
        read_into(file, offset, piece, budget)
        offset += len(piece)
        left -= len(piece)
        yield np.frombuffer(piece, kind)


def _insist_whole(stored: Range, size: int) -> None:
    end = stored.offset + stored.elements * stored.kind.width
    if end > size:
        raise TruncatedError(f"{stored.path} ends at byte {size}, and its values need {end}")


def _sample(stored: Range, most: int, budget: Budget) -> Any:
    import numpy as np

    kind = stored.kind.numpy()
    file = opened(stored.path, budget, root=stored.root)
    parts = [
        np.frombuffer(
            read_exactly(file, stored.offset + first * stored.kind.width, count * stored.kind.width, budget),
            kind,
        )
        for first, count in places(stored.elements, most // stored.kind.width)
    ]
    return np.concatenate(parts) if parts else np.empty(0, kind)


def places(elements: int, most: int, count: int = PLACES) -> list[tuple[int, int]]:
    """Where a sample of `most` out of `elements` looks: (first, how many), spread from end to end."""
    if elements <= most:
        return [(0, elements)] if elements else []
    each = most // count
    if each == 0:
        return [(0, most)] if most else []
    return [((elements - each) * place // (count - 1), each) for place in range(count)]
