"""Zarr arrays, versions 2 and 3, read chunk by chunk.

A chunk is as large as the writer's share of the array, in Orbax often the whole of it, compressed as one
frame: so chunks are decoded as streams, and a sample is a beginning.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from jaxdoctor.facts.leaf import Values
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.crc import crc32c
from jaxdoctor.storage.damage import CorruptError, TruncatedError
from jaxdoctor.storage.json_text import parse
from jaxdoctor.storage.spans import Span
from jaxdoctor.storage.zarr.codecs import PIECE, decoded
from jaxdoctor.storage.zarr.layout import CHECKSUM, DESCRIBERS, Layout, Shard

T = TypeVar("T")

ABSENT = (1 << 64) - 1
"""What a shard's index says of an inner chunk that was not written."""

INDEX_ENTRY = 16
"""Bytes of an offset and a length."""

MOST_PLACES = 64
"""Parts that a sample looks at, at most: each costs a read of its own."""

INDEX_MEMORY = 64
"""Bytes of memory for each byte of a shard's index."""

MOST_METADATA = 1 << 20
"""Bytes of an array's metadata at most."""


@dataclass(frozen=True, kw_only=True)
class _Part:
    """What is decoded in one go."""

    span: Span
    origin: tuple[int, ...]
    """Its first element's place in the array."""

    shape: tuple[int, ...]


class Array:
    """One array: its layout and its chunks, as a store lists them."""

    def __init__(self, layout: Layout, chunks: Mapping[str, Span]) -> None:
        self.layout = layout
        grid = layout.grid
        places = {layout.key(name): span for name, span in chunks.items()}
        self.chunks = {
            place: span
            for place, span in sorted((place, span) for place, span in places.items() if place is not None)
            if all(index < count for index, count in zip(place, grid, strict=True))
        }

    @property
    def absent(self) -> int:
        """Chunks that the shape has room for and the store does not hold: they are all fill value."""
        return math.prod(self.layout.grid) - len(self.chunks)

    def values(self, budget: Budget) -> Values:
        """Reads the elements, in the order in which chunks lie."""
        return Values(
            stream=lambda: self._stream(budget),
            sample=lambda most: self._sample(most, budget),
            in_order=self._in_order,
        )

    @property
    def _in_order(self) -> bool:
        """Whether nothing is absent, and only the first axis is cut."""
        layout = self.layout
        last = layout.chunk if layout.shard is None else layout.shard.chunk
        cut = any(step < size for step, size in zip(last[1:], layout.shape[1:], strict=True))
        return not cut and not self.absent and not (layout.first_fastest and len(layout.shape) > 1)

    def _stream(self, budget: Budget) -> Iterator[Any]:
        if self.absent:
            yield self._filled(PIECE)
        for place, span in self.chunks.items():
            for part in self._parts(place, span, budget):
                yield from self._elements(part, budget, math.prod(part.shape), whole=True)

    def _sample(self, most: int, budget: Budget) -> Any:
        """The beginnings of parts from the first to the last: of two large ones, of more small ones."""
        import numpy as np

        found = []
        if self.absent:
            found.append(self._filled(most // 8))
            most -= found[0].nbytes
        chosen = self._spread(most, budget)
        for part in chosen:
            count = min(most // len(chosen) // self.layout.kind.width, math.prod(part.shape))
            found += self._elements(part, budget, count, whole=False)
        return np.concatenate(found) if found else np.empty(0, self.layout.kind.numpy())

    def _spread(self, most: int, budget: Budget) -> list[_Part]:
        """As many parts as `most` bytes hold whole, at least two, spread from the first to the last."""
        layout = self.layout
        size = math.prod(layout.chunk if layout.shard is None else layout.shard.chunk) * layout.kind.width
        wanted = min(max(most // size, 2), MOST_PLACES)
        places = _evenly(list(self.chunks), wanted)
        found: list[_Part] = []
        for place in places:
            parts = list(self._parts(place, self.chunks[place], budget))
            # Of the last chunk the last part is wanted, too.
            found += _evenly(parts, max(wanted // len(places), 1 + (place == places[-1])))
        return found if len(places) == 1 else _evenly(found, wanted)

    def _filled(self, most: int) -> Any:
        """One piece that stands for everything that was never written."""
        import numpy as np

        layout = self.layout
        kind = layout.kind.numpy()
        empty = math.prod(layout.shape) - sum(map(self._room, self.chunks))
        if layout.fill is None:
            return np.empty(0, kind)
        try:
            with np.errstate(all="ignore"):
                return np.full(max(min(empty, most // layout.kind.width), 0), layout.fill).astype(kind)
        except (ValueError, TypeError, OverflowError):
            return np.empty(0, kind)

    def _room(self, place: tuple[int, ...]) -> int:
        """Elements of the array that a chunk holds."""
        layout = self.layout
        return math.prod(
            min(step, size - index * step)
            for index, step, size in zip(place, layout.chunk, layout.shape, strict=True)
        )

    def _parts(self, place: tuple[int, ...], span: Span, budget: Budget) -> Iterator[_Part]:
        layout = self.layout
        origin = tuple(index * step for index, step in zip(place, layout.chunk, strict=True))
        if layout.shard is None:
            yield _Part(span=self._body(span), origin=origin, shape=layout.chunk)
            return
        inner = layout.shard.chunk
        counts = [step // cut for step, cut in zip(layout.chunk, inner, strict=True)]
        found = _index(span, layout.shard, math.prod(counts), budget)
        for entry, below in zip(found, itertools.product(*map(range, counts)), strict=True):
            start = tuple(first + index * cut for first, index, cut in zip(origin, below, inner, strict=True))
            inside = all(first < size for first, size in zip(start, layout.shape, strict=True))
            if entry is not None and inside:
                yield _Part(span=self._body(entry), origin=start, shape=inner)

    def _body(self, span: Span) -> Span:
        return span.part(0, span.size - self.layout.trailer)

    def _elements(self, part: _Part, budget: Budget, count: int, *, whole: bool) -> Iterator[Any]:
        import numpy as np

        layout = self.layout
        kind = layout.kind.numpy()
        first = 0
        for piece in decoded(part.span, layout.codec, count * layout.kind.width, budget, whole=whole):
            values = np.frombuffer(piece, kind)
            kept = _within(layout, part, first, len(values))
            first += len(values)
            yield values if kept is None else values[kept]


def _evenly(found: list[T], count: int) -> list[T]:
    """At most `count` of them, the first and the last among these."""
    if len(found) <= count:
        return found
    if count == 1:
        return found[:1]
    return [found[place * (len(found) - 1) // (count - 1)] for place in range(count)]


def _within(layout: Layout, part: _Part, first: int, count: int) -> Any:
    """Which of a part's elements are in the array: chunks at its edges reach beyond. None: all."""
    import numpy as np

    kept = None
    stride = 1
    axes = list(zip(layout.shape, part.origin, part.shape, strict=True))
    for size, start, step in axes if layout.first_fastest else reversed(axes):
        if start + step > size:
            along = np.arange(first, first + count) // stride % step < size - start
            kept = along if kept is None else kept & along
        stride *= step
    return kept


def _index(span: Span, shard: Shard, count: int, budget: Budget) -> list[Span | None]:
    """Where the inner chunks of a shard lie."""
    import numpy as np

    body = count * INDEX_ENTRY
    size = body + (CHECKSUM if shard.checksum else 0)
    if size > span.size:
        raise TruncatedError(f"a shard of {span.size:,} bytes is shorter than its index of {count:,} chunks")
    budget.allow(body * INDEX_MEMORY, "the index of a shard")
    stored = span.part(span.size - size if shard.at_end else 0, size).read(budget)
    if shard.checksum and crc32c(stored[:body]) != int.from_bytes(stored[body:], "little"):
        raise CorruptError("the index of a shard does not match its checksum")
    pairs = np.frombuffer(stored[:body], "<u8").reshape(-1, 2).tolist()
    return [None if offset == length == ABSENT else span.part(offset, length) for offset, length in pairs]


def arrays(store: Mapping[str, Span]) -> dict[str, dict[str, Span]]:
    """The keys of a store by the array that they belong to: {array: {name below it: span}}."""
    found: dict[str, dict[str, Span]] = {}
    for key in store:
        name, slash, last = key.rpartition("/")
        if slash and last in DESCRIBERS:
            found[name] = {}
    for key, span in store.items():
        owner = key.rpartition("/")[0]
        while owner and owner not in found:
            owner = owner.rpartition("/")[0]
        if owner in found:
            found[owner][key[len(owner) + 1 :]] = span
    return found


def array(members: Mapping[str, Span], budget: Budget, what: str) -> Array:
    """The array whose keys are given.

    Raises:
        DamagedError: its metadata cannot be read, or describes what cannot be.
    """
    for name, describe in DESCRIBERS.items():
        if name not in members:
            continue
        span = members[name]
        if span.size > MOST_METADATA:
            raise CorruptError(f"the metadata of {what} have {span.size:,} bytes")
        meta = parse(span.read(budget), budget, f"{what}/{name}")
        if not isinstance(meta, dict):
            raise CorruptError(f"the metadata of {what} are no object")
        return Array(describe(meta, what), members)
    raise CorruptError(f"{what} has no metadata")
