"""Finds torch's tensors among what a pickle would have built, and their bytes among a file's storages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Values
from jaxdoctor.storage.blobs import Blob, Region, held
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError, UnsupportedError, noted
from jaxdoctor.storage.elements import WIDTHS, Element
from jaxdoctor.storage.pickles.arrays import Array, decoded, numpy_or_jax
from jaxdoctor.storage.pickles.files import Stream
from jaxdoctor.storage.pickles.machine import NESTED
from jaxdoctor.storage.pickles.names import Standing
from jaxdoctor.storage.pickles.parts import Global, Made, Payload, Table
from jaxdoctor.storage.ranges import PIECE
from jaxdoctor.storage.shapes import shape
from jaxdoctor.storage.torch.storages import Storages, read_legacy, storage_of
from jaxdoctor.storage.zips import LOCAL

DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
"""Names of `torch.dtype` that are not NumPy's."""

TENSOR, TENSOR3 = "torch._utils:_rebuild_tensor_v2", "torch._utils:_rebuild_tensor_v3"
OLD_TENSOR = "torch._utils:_rebuild_tensor"
PARAMETERS = frozenset({"torch._utils:_rebuild_parameter", "torch._utils:_rebuild_parameter_with_state"})
SUBCLASSES = frozenset({"torch._tensor:_rebuild_from_type_v2", "torch._tensor:_rebuild_from_type"})
"""They call their first argument, which an honest file fills with one of the functions of `torch._utils`."""

DTYPE_PLACE = 6
"""Where `_rebuild_tensor_v3` is told its dtype."""

VALUELESS = {
    "torch._utils:_rebuild_meta_tensor_no_storage": "it is a tensor on the meta device, without values",
    "torch._utils:_rebuild_qtensor": "it is quantized",
}
FROM_NUMPY = "torch._utils:_rebuild_device_tensor_from_numpy"
MODULES = ("torch._utils", "torch._tensor")


def torch_or_numpy(made: Made, storages: Storages, blob: Blob, budget: Budget) -> Array | None:
    """The tensor or array that this call would have made, or None where it is none.

    Raises:
        DamagedError: it would have been one, and cannot be what it says.
    """
    name, arguments = made.name, made.arguments
    if not isinstance(arguments, tuple):
        return None
    if name in {TENSOR, TENSOR3, OLD_TENSOR}:
        typed = arguments[DTYPE_PLACE] if name == TENSOR3 and len(arguments) > DTYPE_PLACE else None
        return _tensor(arguments, storages, blob, budget, typed)
    if name in PARAMETERS or name == FROM_NUMPY:
        return _inner(arguments[0] if arguments else None, storages, blob, budget)
    if name in SUBCLASSES:
        return _subclass(arguments, storages, blob, budget)
    if name in VALUELESS:
        return Array(dtype="unknown", shape=(), unsupported=VALUELESS[name])
    return numpy_or_jax(made, blob, budget)


def _inner(node: Any, storages: Storages, blob: Blob, budget: Budget) -> Array | None:
    """What a wrapper holds. Wrappers in wrappers are followed a few times only."""
    for _ in range(4):
        if not isinstance(node, Made):
            return None
        if node.name not in PARAMETERS and node.name != FROM_NUMPY:
            return torch_or_numpy(node, storages, blob, budget)
        node = node.arguments[0] if isinstance(node.arguments, tuple) and node.arguments else None
    raise HostileError("a parameter wraps a parameter, again and again")


def _subclass(arguments: tuple[Any, ...], storages: Storages, blob: Blob, budget: Budget) -> Array | None:
    function, _, inner, *rest = (*arguments, None, None, None)[: max(3, len(arguments))]
    if (
        isinstance(function, Global)
        and function.module not in MODULES
        and function.known.standing is Standing.STATE
    ):
        return Array(dtype="unknown", shape=(), unsupported=f"{function.full_name[:80]} puts it together")
    if not isinstance(function, Global) or function.module not in MODULES:
        called = function.full_name if isinstance(function, Global) else type(function).__name__
        raise HostileError(f"a tensor would be built by calling {called[:200]}")
    local = _local(rest[0] if rest else None)
    if local is not None:
        return _inner(local, storages, blob, budget)
    if function.full_name in SUBCLASSES:
        raise HostileError("a tensor's class is wrapped in itself")
    return torch_or_numpy(Made(function, inner), storages, blob, budget)


def _local(state: Any) -> Any:
    """The part of a DTensor that this rank holds: `_local_tensor` in the second half of its state."""
    for part in state if isinstance(state, tuple) else (state,):
        if isinstance(part, Table) and part.get("_local_tensor") is not None:
            return part.get("_local_tensor")
    return None


def torch_dtype(kind: Any) -> str | None:
    """The element type that a `torch.dtype` names."""
    if not isinstance(kind, Global) or kind.module != "torch":
        return None
    name = DTYPES.get(kind.name, kind.name)
    return name if name in WIDTHS else None


def _tensor(arguments: tuple[Any, ...], storages: Storages, blob: Blob, budget: Budget, typed: Any) -> Array:
    if len(arguments) < 4:  # noqa: PLR2004 (storage, offset, size, stride)
        raise CorruptError("a tensor with too few arguments")
    storage, offset, size, stride = arguments[:4]
    axes, steps = shape(_plain(size), "a tensor"), shape(_plain(stride), "a tensor's strides")
    if isinstance(storage, Made) and storage.name == NESTED:
        storages, storage = _nested(storage, blob, budget)
    found = storage_of(storage)
    if found is None:
        raise CorruptError("a tensor without a storage")
    name, key, _ = found
    name = torch_dtype(typed) or "" if typed is not None else name
    if not name:
        reason = typed.full_name if isinstance(typed, Global) else storage.identity[1].full_name
        return Array(dtype="unknown", shape=axes, unsupported=f"its elements are {reason[:80]}")
    kind = Element(name, storages.big_endian)
    if type(offset) is not int or offset < 0 or len(axes) != len(steps):
        raise CorruptError("a tensor's offset or strides do not fit it")
    region = storages.region(key)
    return Array(dtype=name, shape=axes, values=_strided(region, kind, offset, axes, steps, budget))


def _nested(made: Made, blob: Blob, budget: Budget) -> tuple[Storages, Any]:
    """A storage that was pickled without `torch.save`: a whole legacy file among the bytes of the pickle."""
    content = _content(made, blob, budget)
    _refuse_archive(content, budget)
    file = read_legacy(content, budget)
    for one in file.stream.pickles:
        for name, reason in one.dangers.items():
            call = one.judged.calls.get(name, name)
            raise HostileError(f"its nested storage would call {call[:200]}: {reason[:300]}")
    if file.problem is not None:
        raise file.problem
    return file.storages, file.stream.pickles[3].root


def _refuse_archive(content: Region, budget: Budget) -> None:
    """`torch.load` takes either format, and no storage pickles itself as an archive."""
    with content.reading(budget) as read_at:
        if read_at(0, len(LOCAL)) != LOCAL:
            return
    from jaxdoctor.storage.torch.files import read_torch  # noqa: PLC0415 (it reads such storages itself)

    for fault in read_torch(content, budget).faults:
        if fault.kind == "hostile-content":
            raise HostileError(f"in its nested storage, {fault.message}")
    raise UnsupportedError("its storage is nested in an archive")


def _content(made: Made, blob: Blob, budget: Budget) -> Region:
    """The bytes of the file within, which protocols below 3 spell as text."""
    content = made.arguments[0] if isinstance(made.arguments, tuple) and made.arguments else None
    if (
        isinstance(content, Made)
        and content.name == "_codecs:encode"
        and isinstance(content.arguments, tuple)
    ):
        content = content.arguments[0] if content.arguments else None
    if isinstance(content, Payload) and content.kind == "bytes" and isinstance(blob, Region):
        return blob.part(content.offset, content.size, "a nested storage")
    if isinstance(content, Payload) and content.kind == "bytes":
        budget.allow(content.size, "a nested storage")
        with blob.reading(budget) as read_at:
            return held(read_at(content.offset, content.size), blob.path)
    if isinstance(content, Payload):
        return held(decoded(content, blob, budget), blob.path)
    if isinstance(content, (bytes, str)):
        return held(content.encode("latin-1", "replace") if isinstance(content, str) else content, blob.path)
    raise HostileError("torch.load is handed what is no file")


def nested_faults(stream: Stream, blob: Blob, budget: Budget) -> list[Fault]:
    """What is wrong with the storages that are nested in a pickle, also with those that no tensor uses."""
    faults: list[Fault] = []
    for one in stream.pickles:
        for made in one.nested:
            with noted(faults.append, path=str(blob.path)):
                _nested(made, blob, budget)
    return faults


def _plain(axes: Any) -> Any:
    """`torch.Size` pickles as a call with a tuple."""
    if isinstance(axes, Made) and isinstance(axes.arguments, tuple) and len(axes.arguments) == 1:
        return axes.arguments[0]
    return axes


def _strided(
    region: Region, kind: Element, offset: int, axes: tuple[int, ...], steps: tuple[int, ...], budget: Budget
) -> Values:
    """The values of a view. One that repeats elements is read as the elements that it repeats."""
    if math.prod(axes) == 0:
        return region.values(0, 0, kind, budget)
    moving = sorted(
        ((step, count) for step, count in zip(steps, axes, strict=True) if count > 1 and step), reverse=True
    )
    span = _span(moving)
    if (offset + span) * kind.width > region.size:
        raise TruncatedError(
            f"a tensor needs {(offset + span) * kind.width:,} bytes of a storage of {region.size:,}"
        )
    if math.prod(count for _, count in moving) >= span:
        return region.values(offset * kind.width, span, kind, budget)
    view = _View(region, kind, offset, tuple(moving))
    return Values(stream=lambda: view.pieces(budget), sample=lambda most: view.first(most, budget))


def _span(moving: list[tuple[int, int]] | tuple[tuple[int, int], ...]) -> int:
    return 1 + sum(step * (count - 1) for step, count in moving)


@dataclass(frozen=True)
class _View:
    """Elements with gaps between them: (step, count) of each axis, the largest step first."""

    region: Region
    kind: Element
    offset: int
    axes: tuple[tuple[int, int], ...]

    def pieces(self, budget: Budget) -> Iterator[Any]:
        """All elements, read with their gaps in bounded parts."""
        import numpy as np

        plain = self.kind.numpy()
        for offset, axes in self._parts(self.offset, self.axes):
            raw = self.region.bytes(offset * self.kind.width, _span(axes) * self.kind.width, budget)
            strides = [step * self.kind.width for step, _ in axes]
            shaped = [count for _, count in axes]
            yield np.lib.stride_tricks.as_strided(np.frombuffer(raw, plain), shaped, strides).reshape(-1)

    def _parts(
        self, offset: int, axes: tuple[tuple[int, int], ...]
    ) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
        """The view cut along its first axis, or further in, until a part with its gaps is small."""
        if not axes:
            yield offset, axes
            return
        (step, count), inner = axes[0], axes[1:]
        most = PIECE // self.kind.width
        if _span(inner) > most:
            for index in range(count):
                yield from self._parts(offset + index * step, inner)
            return
        at_once = max(1, (most - _span(inner)) // step + 1)
        for first in range(0, count, at_once):
            yield offset + first * step, ((step, min(at_once, count - first)), *inner)

    def first(self, most: int, budget: Budget) -> Any:
        """At most that many bytes of elements, from the beginning."""
        import numpy as np

        wanted = most // self.kind.width
        parts, held = [], 0
        for piece in self.pieces(budget):
            parts.append(piece[: wanted - held])
            held += len(parts[-1])
            if held >= wanted:
                break
        return np.concatenate(parts)
