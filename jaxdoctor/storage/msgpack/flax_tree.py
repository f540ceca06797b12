"""The leaves of a tree in Flax's msgpack, as `flax.serialization.to_bytes` and older Orbax write it.

Arrays are extensions that hold a msgpack list of shape, dtype name and bytes; arrays above 2^30 bytes are a
map of chunks. https://github.com/google/flax/blob/main/flax/serialization.py
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf, Values
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, DamagedError, UnsupportedError
from jaxdoctor.storage.elements import element
from jaxdoctor.storage.files import open_regular
from jaxdoctor.storage.msgpack.walker import Blob, Empty, Walker
from jaxdoctor.storage.ranges import Range, range_values
from jaxdoctor.storage.shapes import fits, shape

ARRAY, COMPLEX, SCALAR = 1, 2, 3
"""Flax's extension codes: an array, a Python complex, a NumPy scalar."""

CHUNKED = "__msgpack_chunked_array__"
"""The key that marks a map as one array in chunks."""

MOST_PARTS = 80
"""Values in an array's header at most: 64 axes, a dtype, the bytes."""

Keys = tuple[str, ...]


@dataclass(frozen=True)
class StoredArray:
    """An array, in one range of the file or in several."""

    shape: tuple[int, ...]
    ranges: tuple[Range, ...]

    @property
    def dtype(self) -> str:
        """The name of its elements' type."""
        return self.ranges[0].kind.name

    def values(self, budget: Budget) -> Values:
        """Reads the chunks one after the other."""
        return joined([range_values(stored, budget) for stored in self.ranges])


@dataclass
class Tree:
    """What a file holds."""

    entries: dict[Keys, Any] = field(default_factory=dict)
    """A `StoredArray`, a Python number, None, text, `Empty`, or a `Blob` that nothing is known about."""

    faults: list[Fault] = field(default_factory=list)


def read_tree(path: Path, budget: Budget, *, root: Path | None = None) -> Tree:
    """Every leaf of the file. What comes before a damage is told, with the damage as a fault.

    Raises:
        DamagedError: the file cannot be opened.
    """
    tree = Tree()
    with open_regular(path, root=root) as file:
        walker = Walker(file, budget)
        try:
            for keys, value in walker.leaves():
                if keys in tree.entries:
                    tree.faults.append(_twice(path, keys))
                tree.entries[keys] = _told(keys, value, _Source(path, root, walker), tree)
        except DamagedError as error:
            tree.faults.append(error.fault(path=str(path)))
        else:
            if walker.position < walker.end:
                left = walker.end - walker.position
                tree.faults.append(
                    CorruptError(f"{left:,} bytes follow the end of the tree").fault(path=str(path))
                )
    _join_chunks(tree, path)
    return tree


@dataclass(frozen=True)
class _Source:
    path: Path
    root: Path | None
    walker: Walker


def _twice(path: Path, keys: Keys) -> Fault:
    return CorruptError(
        f"the key {'/'.join(keys)[:200]!r} stands twice, and Flax restores the last one alone",
        hint="see what wrote it: no writer of a state does so; save it again from the state itself",
    ).fault(path=str(path))


def _told(keys: Keys, value: Any, source: _Source, tree: Tree) -> Any:
    if not isinstance(value, Blob) or value.extension is None:
        return value
    try:
        return _extension(value, source, "/".join(keys))
    except DamagedError as error:
        tree.faults.append(error.fault(path=str(source.path), leaf="/".join(keys)))
        return value


def _extension(blob: Blob, source: _Source, what: str) -> Any:
    if blob.extension not in {ARRAY, COMPLEX, SCALAR}:
        raise UnsupportedError(f"{what} is an extension of type {blob.extension}")
    parts = _parts(source.walker, blob, what)
    if blob.extension == COMPLEX:
        return _complex(parts, what)
    sizes = [value for keys, value in parts if len(keys) == 2 and keys[0] == "0"]  # noqa: PLR2004 (an axis)
    rest = {keys[0]: value for keys, value in parts if len(keys) == 1}
    kind = element(rest.get("1"))
    if kind is None:
        raise UnsupportedError(f"{what} has the dtype {str(rest.get('1'))[:80]!r}")
    axes = shape(sizes if isinstance(rest.get("0", Empty("list")), Empty) else rest["0"], what)
    content = rest.get("2")
    if not isinstance(content, Blob):
        raise CorruptError(f"{what} is an array without bytes")
    fits(math.prod(axes), kind, content.size, what)
    stored = Range(
        path=source.path, root=source.root, offset=content.offset, elements=math.prod(axes), kind=kind
    )
    return StoredArray(axes, (stored,))


def _parts(walker: Walker, blob: Blob, what: str) -> list[tuple[Keys, Any]]:
    try:
        with walker.within(blob):
            return list(itertools.islice(walker.leaves(), MOST_PARTS))
    except DamagedError as error:
        raise CorruptError(f"{what} is an array that cannot be decoded: {error}") from error


def _complex(parts: Sequence[tuple[Keys, Any]], what: str) -> complex:
    numbers = [value for _, value in parts]
    if len(numbers) != 2 or not all(isinstance(value, int | float) for value in numbers):  # noqa: PLR2004
        raise CorruptError(f"{what} is a complex number that cannot be decoded")
    return complex(*numbers)


def _join_chunks(tree: Tree, path: Path) -> None:
    """Makes one array of each map that Flax cut an array into."""
    found: dict[Keys, dict[Keys, Any]] = {keys[:-1]: {} for keys in tree.entries if keys[-1:] == (CHUNKED,)}
    if not found:
        return
    for keys in list(tree.entries):
        stem = keys[:-2] if keys[:-2] in found else keys[:-1]
        if stem in found:
            found[stem][keys[len(stem) :]] = tree.entries.pop(keys)
    for stem, members in found.items():
        try:
            tree.entries[stem] = _chunked("/".join(stem), members)
        except DamagedError as error:
            tree.faults.append(error.fault(path=str(path), leaf="/".join(stem)))


def _chunked(what: str, members: dict[Keys, Any]) -> StoredArray:
    sizes = [value for keys, value in members.items() if keys[0] == "shape"]
    chunks = [value for keys, value in members.items() if keys[0] == "chunks"]
    arrays = [value for value in chunks if isinstance(value, StoredArray)]
    axes = shape(sizes, what)
    if not arrays or len(arrays) != len(chunks) or len({array.dtype for array in arrays}) != 1:
        raise CorruptError(f"{what} is an array in chunks that do not fit together")
    ranges = tuple(stored for array in arrays for stored in array.ranges)
    kind = ranges[0].kind
    fits(math.prod(axes), kind, sum(stored.elements for stored in ranges) * kind.width, what)
    return StoredArray(axes, ranges)


def joined(parts: Sequence[Values]) -> Values:
    """Several pieces of one array as one: a sample looks at the first and the last."""

    def stream() -> Iterator[Any]:
        for part in parts:
            yield from part.stream()

    def sample(most: int) -> Any:
        import numpy as np

        ends = parts if len(parts) == 1 else (parts[0], parts[-1])
        return np.concatenate([part.sample(most // len(ends)) for part in ends])

    return Values(stream=stream, sample=sample)


def leaf(keys: Keys, value: Any, budget: Budget) -> Leaf | None:
    """An entry as a leaf; None for what is no number: text, None, an empty container."""
    path = "/".join(keys)
    if isinstance(value, StoredArray):
        return Leaf(path=path, dtype=value.dtype, shape=value.shape, values=value.values(budget))
    if isinstance(value, Blob):
        return Leaf(path=path, dtype="unknown", shape=(value.size,), unsupported="its bytes are not an array")
    if isinstance(value, bool):
        return Leaf(path=path, dtype="bool", shape=(), host_scalar=True, value=value)
    if isinstance(value, int | float | complex):
        return Leaf(path=path, dtype=HOST_DTYPES[type(value)], shape=(), host_scalar=True, value=value)
    assert value is None or isinstance(value, str | Empty)
    return None


HOST_DTYPES: dict[type, str] = {int: "int64", float: "float64", complex: "complex128"}
"""How NumPy would keep a Python number."""
