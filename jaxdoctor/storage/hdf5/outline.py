"""What is in an HDF5 file, told by h5py in a process of its own: its C library may crash on a broken one.

Only the description is read here, and no link out of the file is followed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxdoctor.errors import MissingExtraError, UnreadableError
from jaxdoctor.workers.progress import SILENT, Progress

MOST_OBJECTS = 200_000
MOST_CHUNKS = 20_000
COMPACT = 64 << 10
"""Bytes of a dataset that lies in its own header, which HDF5 bounds."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset, and where its bytes are."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int | None = None
    """Of contiguous storage."""

    content: bytes | None = None
    """Of compact storage."""

    chunk_shape: tuple[int, ...] | None = None
    chunks: tuple[tuple[tuple[int, ...], int, int, int], ...] = ()
    """Of chunked storage: (first element, filter mask, offset, size) each."""

    filters: tuple[int, ...] = ()
    unsupported: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outline:
    """All datasets of a file, and links that lead out of it."""

    datasets: tuple[Dataset, ...]
    links_out: tuple[str, ...]


class _Part(io.RawIOBase):
    """A part of a file as a file, for HDF5 inside of an archive."""

    def __init__(self, path: str, start: int, size: int) -> None:
        self._file = Path(path).open("rb")  # noqa: SIM115 (closed with this object)
        self._start, self._size, self._place = start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, base + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        wanted = max(0, min(len(buffer), self._size - self._place))
        self._file.seek(self._start + self._place)
        found = self._file.read(wanted)
        buffer[: len(found)] = found
        self._place += len(found)
        return len(found)


def outline(path: str, start: int, size: int, *, progress: Progress = SILENT) -> Outline:
    """The datasets in a part of a file.

    Raises:
        MissingExtraError: h5py is not installed.
        UnreadableError: it is no HDF5 that h5py opens.
    """
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("reading HDF5", extra="hdf5") from error
    progress.stage("reading the outline")
    links_out: list[str] = []
    try:
        with h5py.File(_Part(path, start, size), "r") as file:
            datasets = tuple(_walk(h5py, file, links_out))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise UnreadableError(
            f"{path}: {str(error)[:300]}", hint="save again, or restore an older step"
        ) from error
    return Outline(datasets=datasets, links_out=tuple(links_out))


def _walk(h5py: Any, file: Any, links_out: list[str]) -> Iterator[Dataset]:
    waiting = [("", file)]
    seen = {h5py.h5o.get_info(file.id).addr}
    left = MOST_OBJECTS
    while waiting and left > 0:
        prefix, group = waiting.pop(0)
        for name in group:
            left -= 1
            path = f"{prefix}{name}"
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                links_out.append(path)
            if not isinstance(link, h5py.HardLink):
                continue
            item = group[name]
            address = h5py.h5o.get_info(item.id).addr
            if isinstance(item, h5py.Dataset):
                yield _described(path, item)
            elif isinstance(item, h5py.Group) and address not in seen:
                seen.add(address)
                waiting.append((f"{path}/", item))


def _described(path: str, item: Any) -> Dataset:
    known: dict[str, Any] = {"path": path, "dtype": item.dtype.str if item.dtype.names is None else "record"}
    shape = tuple(item.shape or ())
    if item.shape is None:
        return Dataset(**known, shape=(), unsupported="it is empty")
    if item.is_virtual or item.external:
        return Dataset(**known, shape=shape, unsupported="its values lie in other files")
    offset = item.id.get_offset()
    if offset is not None:
        return Dataset(**known, shape=shape, offset=offset)
    if item.chunks is None:
        return _without_offset(known, shape, item)
    return _chunked(known, shape, item)


def _without_offset(known: dict[str, Any], shape: tuple[int, ...], item: Any) -> Dataset:
    """Compact, or contiguous and never written."""
    if item.id.get_storage_size() == 0:
        return Dataset(**known, shape=shape, unsupported="it was never written")
    if item.dtype.kind == "O" or item.nbytes > COMPACT:
        return Dataset(**known, shape=shape, unsupported="its values lie in a way that is not read")
    return Dataset(**known, shape=shape, content=item[()].tobytes())


def _chunked(known: dict[str, Any], shape: tuple[int, ...], item: Any) -> Dataset:
    plist = item.id.get_create_plist()
    filters = tuple(plist.get_filter(index)[0] for index in range(plist.get_nfilters()))
    count = item.id.get_num_chunks()
    if count > MOST_CHUNKS:
        return Dataset(**known, shape=shape, unsupported=f"it lies in {count} chunks")
    infos = (item.id.get_chunk_info(index) for index in range(count))
    chunks = tuple((tuple(one.chunk_offset), one.filter_mask, one.byte_offset, one.size) for one in infos)
    return Dataset(**known, shape=shape, chunk_shape=tuple(item.chunks), chunks=chunks, filters=filters)
