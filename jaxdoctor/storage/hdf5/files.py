"""HDF5: described by h5py, its values read from where they lie, without h5py."""

from __future__ import annotations

import math
import re
import time
import zlib
from collections.abc import Iterator
from typing import Any

from jaxdoctor.errors import MissingExtraError, UnreadableError, WorkerError
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf, Values
from jaxdoctor.storage.blobs import Region, memory_values
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import (
    CorruptError,
    DamagedError,
    HostileError,
    TruncatedError,
    UnsupportedError,
    noted,
)
from jaxdoctor.storage.elements import Element, element
from jaxdoctor.storage.hdf5.outline import Dataset, Outline
from jaxdoctor.storage.shapes import fits, shape
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import run

MAGIC = b"\x89HDF\r\n\x1a\n"
DEFLATE, SHUFFLE, CHECKSUM = 1, 2, 3
"""HDF5's numbers of the filters that are undone here; the last is four bytes behind each chunk."""

CHECKSUM_SIZE = 4
SHORT = re.compile(r"truncated file: eof = (\d{1,19}), .*stored_eof = (\d{1,19})")
"""What the library says of a file that lost its end."""

PATIENCE_SECONDS = 60.0

OUTLINE: Task[[str, int, int], Outline] = Task("jaxdoctor.storage.hdf5.outline:outline", ours=True)


def read_hdf5(region: Region, budget: Budget, *, prefix: str = "") -> tuple[list[Leaf], list[Fault]]:
    """The leaves in a part of a file, and what is wrong with it."""
    leaves: list[Leaf] = []
    faults: list[Fault] = []
    with noted(faults.append, path=str(region.path)):
        described = _described(region)
        for path in described.links_out:
            error = HostileError(f"{path[:200]!r} is a link to another file, which is not followed")
            faults.append(error.fault(path=str(region.path), leaf=path))
        leaves += [_leaf(dataset, region, budget, prefix, faults) for dataset in described.datasets]
    return leaves, faults


def _described(region: Region) -> Outline:
    """The outline, by a process that may crash.

    Raises:
        DamagedError: it cannot be told.
    """
    try:
        return run(
            OUTLINE(str(region.path.resolve()), region.start, region.size),
            deadline=time.monotonic() + PATIENCE_SECONDS,
            subject="HDF5",
        )
    except MissingExtraError as error:
        raise UnsupportedError(f"{error}", hint=error.hint) from error
    except (UnreadableError, WorkerError) as error:
        raise _damage(str(error)) from error


def _damage(said: str) -> DamagedError:
    """What the library says of a file; that it ends too early is said in our words."""
    sizes = SHORT.search(said)
    if sizes is None:
        return CorruptError(f"HDF5's library cannot read it: {said}")
    return TruncatedError(f"the HDF5 file has {int(sizes[1]):,} of its {int(sizes[2]):,} bytes")


def _leaf(dataset: Dataset, region: Region, budget: Budget, prefix: str, faults: list[Fault]) -> Leaf:
    path = f"{prefix}{dataset.path}"
    kind = element(dataset.dtype)
    if kind is None or dataset.unsupported is not None:
        reason = dataset.unsupported or f"its elements are {dataset.dtype[:80]}"
        name = kind.name if kind is not None else "unknown"
        return Leaf(path=path, dtype=name, shape=dataset.shape, unsupported=reason)
    values = None
    with noted(faults.append, leaf=path):
        values = _values(dataset, kind, region, budget)
    return Leaf(path=path, dtype=kind.name, shape=dataset.shape, values=values)


def _values(dataset: Dataset, kind: Element, region: Region, budget: Budget) -> Values:
    elements = math.prod(shape(dataset.shape, "a dataset"))
    if dataset.content is not None:
        fits(elements, kind, len(dataset.content), "a dataset")
        return memory_values(dataset.content, kind)
    if dataset.offset is not None:
        return region.values(dataset.offset, elements, kind, budget)
    unknown = set(dataset.filters) - {DEFLATE, SHUFFLE, CHECKSUM}
    if unknown:
        raise UnsupportedError(f"its chunks went through filters that are not known: {sorted(unknown)}")
    return Values(
        stream=lambda: _chunks(dataset, kind, region, budget),
        sample=lambda most: _first(dataset, kind, region, budget, most),
    )


def _chunks(dataset: Dataset, kind: Element, region: Region, budget: Budget) -> Iterator[Any]:
    """The elements of each chunk that was written; those beyond the dataset's edge are left out."""
    import numpy as np

    assert dataset.chunk_shape is not None
    for first, mask, offset, size in dataset.chunks:
        raw = region.part(offset, size, "a chunk").bytes(0, size, budget)
        held = _unfiltered(raw, mask, dataset, kind, budget)
        chunk = np.frombuffer(held, kind.numpy()).reshape(dataset.chunk_shape)
        inside = tuple(slice(0, max(0, end - begin)) for begin, end in zip(first, dataset.shape, strict=True))
        yield np.ascontiguousarray(chunk[inside]).reshape(-1)


def _first(dataset: Dataset, kind: Element, region: Region, budget: Budget, most: int) -> Any:
    """The beginning of the first chunk."""
    import numpy as np

    piece = next(_chunks(dataset, kind, region, budget), np.empty(0, kind.numpy()))
    return piece[: most // kind.width]


def _unfiltered(raw: bytes, mask: int, dataset: Dataset, kind: Element, budget: Budget) -> bytes:
    """A chunk as it was before its filters, undone in the opposite order."""
    assert dataset.chunk_shape is not None
    size = math.prod(dataset.chunk_shape) * kind.width
    budget.allow(3 * size, "a chunk of an HDF5 file")
    for index, one in reversed(list(enumerate(dataset.filters))):
        if mask >> index & 1:
            continue
        if one == CHECKSUM:
            raw = raw[:-CHECKSUM_SIZE]
        elif one == DEFLATE:
            raw = _inflated(raw, size)
        else:
            raw = _unshuffled(raw, kind.width)
    if len(raw) != size:
        raise CorruptError(f"a chunk holds {len(raw):,} bytes, not {size:,}")
    return raw


def _inflated(raw: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(raw, size + CHECKSUM_SIZE)
    except zlib.error as error:
        raise CorruptError(f"a chunk cannot be inflated: {error}") from error


def _unshuffled(raw: bytes, width: int) -> bytes:
    """The filter puts all first bytes before all second bytes."""
    import numpy as np

    whole = len(raw) // width * width
    return np.frombuffer(raw[:whole], "uint8").reshape(width, -1).T.tobytes() + raw[whole:]
