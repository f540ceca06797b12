"""What a zarr array's metadata says about where its elements lie.

https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxdoctor.storage.damage import CorruptError, UnsupportedError
from jaxdoctor.storage.elements import Element, element
from jaxdoctor.storage.shapes import shape

CHECKSUM = 4
"""Bytes of a CRC-32C."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where an array's elements lie."""

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    kind: Element
    codec: str | None
    trailer: int = 0
    """Bytes of a checksum behind every chunk."""

    first_fastest: bool = False
    """Whether the first axis runs fastest in a chunk, as in Fortran."""

    key: Callable[[str], tuple[int, ...] | None]
    """The place of a chunk in the grid, from its name below the array's."""

    fill: float | None = 0
    """What stands for the chunks that were not written; None: a value that is not understood."""

    shard: Shard | None = None
    """Chunks that are cut once more within their file."""

    @property
    def grid(self) -> tuple[int, ...]:
        """How many chunks there are along each axis."""
        return tuple(-(-size // step) for size, step in zip(self.shape, self.chunk, strict=True))


@dataclass(frozen=True, kw_only=True)
class Shard:
    """How a chunk's file is cut: version 3's "sharding_indexed"."""

    chunk: tuple[int, ...]
    at_end: bool
    checksum: bool


def version_2(meta: Mapping[str, Any], what: str) -> Layout:
    """The layout that a `.zarray` describes.

    Raises:
        DamagedError: it describes none.
        UnsupportedError: it describes one that is not read.
    """
    kind = element(meta.get("dtype"))
    if kind is None:
        raise UnsupportedError(f"{what} has the dtype {str(meta.get('dtype'))[:80]!r}")
    if meta.get("filters"):
        raise UnsupportedError(f"{what} is stored through filters")
    compressor = meta.get("compressor")
    axes, chunk = _shapes(meta.get("shape"), meta.get("chunks"), what)
    return Layout(
        shape=axes,
        chunk=chunk,
        kind=kind,
        codec=str(_mapping(compressor, what).get("id")) if compressor else None,
        first_fastest=meta.get("order") == "F",
        key=_flat_key(str(meta.get("dimension_separator", ".")), len(axes)),
        fill=_fill(meta.get("fill_value")),
    )


def version_3(meta: Mapping[str, Any], what: str) -> Layout:
    """The layout that a `zarr.json` describes.

    Raises:
        DamagedError: it describes none.
        UnsupportedError: it describes one that is not read.
    """
    kind = element(meta.get("data_type"))
    if kind is None:
        raise UnsupportedError(f"{what} has the dtype {str(meta.get('data_type'))[:80]!r}")
    chunks = _configuration(meta.get("chunk_grid"), what).get("chunk_shape")
    axes, chunk = _shapes(meta.get("shape"), chunks, what)
    chain = _chain(meta.get("codecs"), what)
    shard = None
    if chain and chain[0][0] == "sharding_indexed":
        shard = _shard(chain[0][1], chunk, what)
        chain = _chain(chain[0][1].get("codecs"), what)
    big_endian, codec, trailer = _codecs(chain, what)
    encoding = _mapping(meta.get("chunk_key_encoding"), what)
    return Layout(
        shape=axes,
        chunk=chunk,
        kind=Element(kind.name, big_endian),
        codec=codec,
        trailer=trailer,
        key=_encoded_key(encoding, len(axes)),
        fill=_fill(meta.get("fill_value")),
        shard=shard,
    )


def _shapes(declared: object, chunks: object, what: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    axes = shape(declared, what)
    chunk = shape(chunks, f"a chunk of {what}")
    if len(chunk) != len(axes) or 0 in chunk:
        raise CorruptError(f"{what} has the shape {list(axes)} and chunks of {list(chunk)}")
    return axes, chunk


def _fill(declared: object) -> float | None:
    if declared is None:
        return 0
    if isinstance(declared, (bool, int, float)):
        return declared
    return float(declared) if declared in ("NaN", "Infinity", "-Infinity") else None


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CorruptError(f"{what} has metadata that is no object where one is expected")
    return value


def _configuration(value: object, what: str) -> Mapping[str, Any]:
    return _mapping(_mapping(value, what).get("configuration") or {}, what)


def _chain(codecs: object, what: str) -> list[tuple[str, Mapping[str, Any]]]:
    if not isinstance(codecs, Sequence) or isinstance(codecs, str):
        raise CorruptError(f"{what} names no codecs")
    return [(str(_mapping(codec, what).get("name")), _configuration(codec, what)) for codec in codecs]


def _codecs(chain: Sequence[tuple[str, Mapping[str, Any]]], what: str) -> tuple[bool, str | None, int]:
    """The byte order, the compression, and the bytes of a checksum behind it."""
    big_endian, codec, trailer = False, None, 0
    for name, configuration in chain:
        if name == "bytes" and codec is None:
            big_endian = configuration.get("endian") == "big"
        elif name == "crc32c":
            trailer += CHECKSUM
        elif name in {"zstd", "gzip"} and codec is None and not trailer:
            codec = name
        else:
            raise UnsupportedError(f"{what} is stored through the codec {name[:40]!r}")
    return big_endian, codec, trailer


def _shard(configuration: Mapping[str, Any], outer: tuple[int, ...], what: str) -> Shard:
    inner = shape(configuration.get("chunk_shape"), f"a shard of {what}")
    if len(inner) != len(outer) or 0 in inner or any(a % b for a, b in zip(outer, inner, strict=True)):
        raise CorruptError(f"{what} cuts chunks of {list(outer)} into {list(inner)}")
    names = [name for name, _ in _chain(configuration.get("index_codecs"), what)]
    if names not in (["bytes"], ["bytes", "crc32c"]):
        raise UnsupportedError(f"{what} has a shard index stored through {names}"[:200])
    return Shard(
        chunk=inner,
        at_end=configuration.get("index_location", "end") == "end",
        checksum="crc32c" in names,
    )


def _flat_key(separator: str, axes: int) -> Callable[[str], tuple[int, ...] | None]:
    def place(name: str) -> tuple[int, ...] | None:
        if axes == 0:
            return () if name == "0" else None
        return _numbers(name.split(separator or "."), axes)

    return place


def _encoded_key(encoding: Mapping[str, Any], axes: int) -> Callable[[str], tuple[int, ...] | None]:
    configuration = encoding.get("configuration")
    given = configuration.get("separator") if isinstance(configuration, Mapping) else None
    if encoding.get("name") == "v2":
        return _flat_key(str(given or "."), axes)

    def place(name: str) -> tuple[int, ...] | None:
        head, *numbers = name.split(str(given or "/"))
        return _numbers(numbers, axes) if head == "c" else None

    return place


def _numbers(parts: Sequence[str], axes: int) -> tuple[int, ...] | None:
    if len(parts) != axes or not all(part.isdecimal() and len(part) < 20 for part in parts):  # noqa: PLR2004 (2^63)
        return None
    return tuple(int(part) for part in parts)


DESCRIBERS: dict[str, Callable[[Mapping[str, Any], str], Layout]] = {
    ".zarray": version_2,
    "zarr.json": version_3,
}
"""The names of metadata files, with what reads each."""
