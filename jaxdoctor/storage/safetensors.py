"""safetensors: one JSON header, then raw bytes. Everything that the reference parser refuses is refused here.

https://huggingface.co/docs/safetensors/index#format
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.text import counted
from jaxdoctor.storage.blobs import Region
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import (
    CorruptError,
    DamagedError,
    HostileError,
    MissingError,
    TruncatedError,
    noted,
)
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.files import inside, size_of
from jaxdoctor.storage.json_text import INFLATION, once, read_object
from jaxdoctor.storage.listed import are_missing, listed
from jaxdoctor.storage.numbered import NUMBERED
from jaxdoctor.storage.placeholders import insist_data
from jaxdoctor.storage.shapes import fits, shape

LARGEST_HEADER = 100_000_000
"""Bytes of header that the reference parser accepts."""

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "F16": "float16",
    "BF16": "bfloat16", "I32": "int32", "U32": "uint32", "F32": "float32", "C64": "complex64",
    "F64": "float64", "I64": "int64", "U64": "uint64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
PACKED_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
"""Types of which several share bytes; they are counted and not looked at."""


@dataclass
class Tensors:
    """What a file, or all shards of an index, hold."""

    leaves: list[Leaf] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    bytes_total: int = 0


def is_safetensors(found: Candidate) -> bool:
    """Whether a file begins with a length that fits it and an opening brace."""
    head = found.head
    return head[8:9] == b"{" and _plausible(found.size, int.from_bytes(head[:8], "little"))


def _plausible(size: int, length: int) -> bool:
    """Also of a file that was cut in its header: no honest one is longer than the limit."""
    return length <= LARGEST_HEADER or 8 + length <= size


def is_index(found: Candidate) -> bool:
    """Whether a file is the index of a sharded model."""
    return found.head.lstrip().startswith(b"{") and b'"weight_map"' in found.head


def read_tensors(
    path: Path, budget: Budget, found: Tensors, *, prefix: str = "", root: Path | None = None
) -> None:
    """Adds the tensors of one file. What is wrong with it is noted."""
    with noted(found.faults.append, path=str(path)):
        region = Region(path=path, start=0, size=size_of(path, root=root), root=root)
        insist_data(Candidate(path))
        found.bytes_total += region.size
        header, start = _header(region, budget)
        about = header.pop("__metadata__", None)
        _note_metadata(about, found, path)
        body = region.part(start, region.size - start, "the tensors")
        _add_tensors(header, body, prefix, budget, found)


def _header(region: Region, budget: Budget) -> tuple[dict[str, Any], int]:
    """The header, and where the tensors begin."""
    length = int.from_bytes(region.bytes(0, 8, budget), "little")
    if length > LARGEST_HEADER:
        raise _not_a_length(length)
    if 8 + length > region.size:
        raise TruncatedError(f"its header needs {length:,} bytes, and the file has {region.size:,}")
    budget.allow(length * INFLATION, "the header of a safetensors file")
    header = _parsed(region.bytes(8, length, budget))
    if not isinstance(header, dict):
        raise CorruptError("its header is no JSON object")
    return header, 8 + length


def _not_a_length(length: int) -> DamagedError:
    """Eight letters read as a number are a text in the file's place, and no attack."""
    text = length.to_bytes(8, "little")
    if text.isascii() and text.decode("ascii").isprintable():
        return CorruptError(
            f"it begins with the text {text.decode()!r} where the length of its header stands"
        )
    return HostileError(f"its header of {length:,} bytes is larger than any model's")


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), object_pairs_hook=once, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise HostileError("its header is nested too deeply") from error
    except ValueError as error:
        raise CorruptError(f"its header is not valid JSON: {str(error)[:200]}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _note_metadata(about: Any, found: Tensors, path: Path) -> None:
    if about is None:
        return
    if not isinstance(about, dict) or not all(isinstance(value, str) for value in about.values()):
        found.faults.append(CorruptError("its __metadata__ holds what is no text").fault(path=str(path)))
        return
    found.metadata |= {key: value[:1000] for key, value in list(about.items())[:100]}


def _add_tensors(header: dict[str, Any], body: Region, prefix: str, budget: Budget, found: Tensors) -> None:
    ranges: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        path = f"{prefix}{name}"
        try:
            leaf, begin, end = _tensor(path, entry, body, budget)
            if end > begin:
                ranges.append((begin, end, name))
        except DamagedError as error:
            found.faults.append(error.fault(path=str(body.path), leaf=path))
            leaf = Leaf(path=path, dtype="unknown", shape=(), unsupported=str(error))
        found.leaves.append(leaf)
    with noted(found.faults.append, path=str(body.path)):
        _insist_covered(sorted(ranges), body)


def _tensor(path: str, entry: Any, body: Region, budget: Budget) -> tuple[Leaf, int, int]:
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise CorruptError("its entry is not one of a tensor")
    begin, end = _offsets(entry["data_offsets"])
    axes = shape(entry["shape"], "a tensor")
    elements = math.prod(axes)
    spelled = entry["dtype"]
    if isinstance(spelled, str) and spelled in DTYPES:
        kind = Element(DTYPES[spelled])
        fits(elements, kind, end - begin, "a tensor")
        # One that lies beyond the end is told of the file, once for all of them.
        values = body.values(begin, elements, kind, budget) if end <= body.size else None
        return Leaf(path=path, dtype=kind.name, shape=axes, values=values), begin, end
    bits = PACKED_BITS.get(spelled) if isinstance(spelled, str) else None
    if bits is not None and elements * bits != 8 * (end - begin):
        raise CorruptError(f"{elements:,} {spelled} do not fill {end - begin:,} bytes")
    reason = f"its elements are {str(spelled)[:40]}"
    return Leaf(path=path, dtype="unknown", shape=axes, unsupported=reason), begin, end


def _offsets(declared: Any) -> tuple[int, int]:
    if not isinstance(declared, list) or len(declared) != 2:  # noqa: PLR2004 (begin and end)
        raise CorruptError("its offsets are not two numbers")
    begin, end = declared
    if type(begin) is not int or type(end) is not int:
        raise CorruptError("its offsets are no integers")
    if not 0 <= begin <= end:
        raise HostileError(f"its offsets run from {begin} to {end}")
    return begin, end


def _insist_covered(ranges: list[tuple[int, int, str]], body: Region) -> None:
    """Tensors lie one after the other, without a gap: an overlap hides data, and so does a hole."""
    size = body.size
    place, before = 0, "the header"
    for begin, end, name in ranges:
        if begin < place:
            raise HostileError(f"{name[:200]!r} overlaps {before[:200]!r}")
        if begin > place:
            raise CorruptError(f"{begin - place:,} bytes before {name[:200]!r} belong to no tensor")
        place, before = end, name
    if place > size:
        beyond = [name for _, end, name in ranges if end > size]
        raise TruncatedError(
            f"{body.path.name} is cut off: its tensors need {place:,} bytes and {size:,} are there; "
            f"{len(beyond)} of {counted(len(ranges), 'tensor')} {'is' if len(beyond) == 1 else 'are'} "
            f"not whole, the first is {beyond[0][:200]!r}",
            evidence={"needed": place, "there": size, "count": len(beyond), "first": beyond[0][:200]},
        )
    if place < size:
        raise CorruptError(f"{size - place:,} bytes behind {before[:200]!r} belong to no tensor")


def read_index(index: Path, budget: Budget, found: Tensors, *, prefix: str = "") -> None:
    """Adds the tensors of all shards that an index names, and what does not agree with it."""
    read_sharded(index, budget, found, read_tensors, prefix=prefix)


Add = Callable[..., None]


def read_sharded(index: Path, budget: Budget, found: Tensors, add: Add, *, prefix: str = "") -> set[str]:
    """The same for shards of any format, each read by `add`. The names of the shards that were read.

    The `total_size` of an index is compared with nothing: no loader reads it, and converters write a guess.
    https://github.com/huggingface/transformers/blob/v4.28.1/src/transformers/models/llama/convert_llama_weights_to_hf.py
    """
    read: dict[str, set[str]] = {}
    with noted(found.faults.append, path=str(index)):
        content = read_object(index, budget)
        placed = content.get("weight_map")
        if not isinstance(placed, dict):
            raise CorruptError(f"{index.name} has no weight_map")
        shards = list(dict.fromkeys(_shards(placed)))
        files: dict[str, Path] = {}
        for shard in shards:
            with noted(found.faults.append, path=str(index)):
                files[shard] = inside(index.parent, shard)
        absent = sorted(shard for shard, file in files.items() if not os.path.lexists(file))
        if absent:
            found.faults.append(_absent_shards(absent, shards, index).fault(path=str(index)))
        if any(isinstance(value, list) for value in placed.values()):
            # Of Keras: each shard is a file of its own that is judged beside its index.
            return set(files)
        for shard, file in files.items():
            start = len(found.leaves)
            if shard not in absent:
                add(file, budget, found, prefix=prefix, root=index.parent)
            read[shard] = {leaf.path for leaf in found.leaves[start:]}
        _compare(placed, read, found, prefix, index)
    return set(read)


def _shards(placed: dict[str, Any]) -> Iterator[str]:
    """The shards that an index names: one for each tensor, or in Keras's several for each group.

    https://github.com/keras-team/keras/blob/master/keras/src/saving/saving_lib.py
    """
    for value in placed.values():
        yield from map(str, value if isinstance(value, list) else [value])


def _absent_shards(absent: list[str], shards: list[str], index: Path) -> MissingError:
    """One error for all shards that are not there; the index may be that of another sharding."""
    others = sorted(
        name
        for name in os.listdir(index.parent)  # noqa: PTH208 (names are what is compared)
        if NUMBERED.fullmatch(name) and name not in shards and name.endswith(os.path.splitext(absent[0])[1])  # noqa: PTH122
    )
    named = f"{index.name} names {counted(len(shards), 'file')}, of which {are_missing(absent)}"
    if others and len(absent) == len(shards):
        return MissingError(
            f"{named}; {counted(len(others), 'shard')} of another count ({listed(others)}) "
            f"{'is' if len(others) == 1 else 'are'} there: the index is of another sharding",
            hint="write the index anew from the headers of the shards that are there",
            evidence={"missing": absent[:20], "others": others[:20]},
        )
    return MissingError(named, hint="copy or download them too", evidence={"missing": absent[:20]})


NEW_INDEX = "write the index anew from the headers of the shards"


def _compare(
    placed: dict[str, Any], read: dict[str, set[str]], found: Tensors, prefix: str, index: Path
) -> None:
    """Every tensor of the index must be in its shard, and every one of a shard in the index."""
    absent = [
        name
        for name, shard in placed.items()
        if read.get(str(shard)) and prefix + name not in read[str(shard)]
    ]
    unplaced = [path for paths in read.values() for path in paths if path.removeprefix(prefix) not in placed]
    for names, what in (
        (absent, "that the index names {} not in the shard that it names"),
        (unplaced, "of the shards {} not in the index"),
    ):
        if names:
            verb = "is" if len(names) == 1 else "are"
            message = f"{counted(len(names), 'tensor')} {what.format(verb)}, the first is {names[0][:200]!r}"
            evidence = {"count": len(names), "first": names[0][:200]}
            found.faults.append(
                Fault(kind="missing-file", message=message, path=str(index), evidence=evidence, fix=NEW_INDEX)
            )
