"""Finds the NumPy and JAX arrays among what a pickle would have built."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from jaxdoctor.facts.leaf import Leaf, Role, Values
from jaxdoctor.storage.blobs import Blob, memory_values
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.pickles.dtypes import dtype_of
from jaxdoctor.storage.pickles.machine import JOBLIB_ARRAY, JOBLIB_CONTENT
from jaxdoctor.storage.pickles.parts import Global, Made, Payload, Table
from jaxdoctor.storage.shapes import fits, shape

NUMPY_MULTIARRAY = frozenset({"numpy.core.multiarray", "numpy._core.multiarray", "numpy"})
NUMPY_NUMERIC = frozenset({"numpy.core.numeric", "numpy._core.numeric"})
JAX_ARRAYS = frozenset(
    {
        "jax._src.array:_reconstruct_array",
        "jax.array:_reconstruct_array",
        "jax._src.device_array:reconstruct_device_array",
        "jax.interpreters.xla:reconstruct_device_array",
    }
)
"""They call their first argument, which an honest file fills with NumPy's `_reconstruct`."""


TYPED_KEYS = frozenset(
    {
        "jax._src.random.prng:PRNGKeyArray",
        "jax._src.prng:PRNGKeyArray",
        "jax._src.prng:PRNGKeyArrayImpl",
    }
)


@dataclass(frozen=True, kw_only=True)
class Array:
    """What a leaf needs to know, apart from its path."""

    dtype: str
    shape: tuple[int, ...]
    values: Values | None = None
    weak_type: bool | None = None
    host_scalar: bool = False
    value: Any = None
    unsupported: str | None = None
    role: Role = Role.OTHER
    items: list[Any] | None = None
    """The Python objects of an object array."""

    def leaf(self, path: str) -> Leaf:
        """It as a leaf."""
        return Leaf(
            path=path,
            dtype=self.dtype,
            shape=self.shape,
            values=self.values,
            weak_type=self.weak_type,
            host_scalar=self.host_scalar,
            value=self.value,
            unsupported=self.unsupported,
            role=self.role,
        )


def is_numpy(callee: Any, name: str) -> bool:
    """Whether that is NumPy's function of that name, in any of the places where it stood."""
    if not isinstance(callee, Global) or callee.name != name:
        return False
    return callee.module in NUMPY_MULTIARRAY or callee.module in NUMPY_NUMERIC


def numpy_or_jax(made: Made, blob: Blob, budget: Budget) -> Array | None:  # noqa: PLR0911 (one for each form)
    """The array that this call would have made, or None where it is none.

    Raises:
        DamagedError: it would have been an array, and cannot be what it says.
    """
    if made.name in JAX_ARRAYS:
        return _jax_array(made, blob, budget)
    if is_numpy(made.callee, "_reconstruct") and isinstance(made.state, tuple):
        return _from_state(made.state, blob, budget)
    if is_numpy(made.callee, "_frombuffer"):
        content, kind, axes = _first(made.arguments, 3)
        found = _array(kind, axes, content, blob, budget)
        return _columns_first(found) if made.arguments[3:4] == ("F",) else found
    if is_numpy(made.callee, "scalar"):
        kind, content = _first(made.arguments, 2)
        return _array(kind, (), content, blob, budget)
    if made.name in TYPED_KEYS and isinstance(made.state, Table):
        return _typed_key(made.state, blob, budget)
    if made.name == JOBLIB_ARRAY and isinstance(made.state, Table):
        return _from_joblib(made.state, blob, budget)
    return None


def _from_joblib(about: Table, blob: Blob, budget: Budget) -> Array:
    content = about.get(JOBLIB_CONTENT)
    if isinstance(content, Payload):
        return _array(about.get("dtype"), about.get("shape"), content, blob, budget)
    return Array(dtype="object", shape=shape(about.get("shape"), "an array"), items=[content])


def _typed_key(state: Table, blob: Blob, budget: Budget) -> Array | None:
    base = state.get("_base_array")
    inner = (
        numpy_or_jax(base, blob, budget) if isinstance(base, Made) and base.name not in TYPED_KEYS else None
    )
    return None if inner is None else replace(inner, role=Role.KEY)


def _jax_array(made: Made, blob: Blob, budget: Budget) -> Array:
    reconstruct, _, state = _first(made.arguments, 3)
    about = made.arguments[3:]
    if not is_numpy(reconstruct, "_reconstruct"):
        called = reconstruct.full_name if isinstance(reconstruct, Global) else type(reconstruct).__name__
        raise HostileError(f"a jax array would be built by calling {called}")
    if not isinstance(state, tuple):
        raise CorruptError("a jax array has no content")
    array = _from_state(state, blob, budget)
    weak = dict(_text_pairs(about[0])).get("weak_type") if about else None
    return replace(array, weak_type=weak if isinstance(weak, bool) else None)


def _text_pairs(table: Any) -> list[tuple[str, Any]]:
    pairs = getattr(table, "pairs", None) or []
    return [(key, value) for key, value in pairs if isinstance(key, str)]


def _first(arguments: Any, count: int) -> tuple[Any, ...]:
    if not isinstance(arguments, tuple) or len(arguments) < count:
        raise CorruptError("an array with too few arguments")
    return arguments[:count]


def _from_state(state: tuple[Any, ...], blob: Blob, budget: Budget) -> Array:
    """NumPy's state is (version, shape, dtype, is_fortran, content), in old files without the version."""
    *_, axes, kind, fortran, content = (None, None, *state) if len(state) >= 4 else (None,) * 5  # noqa: PLR2004
    if axes is None:
        raise CorruptError("an array without its state")
    found = _array(kind, axes, content, blob, budget)
    return _columns_first(found) if fortran is True else found


def _columns_first(array: Array) -> Array:
    """An array in Fortran's order: with several axes the order of the file is not the array's own."""
    if array.values is None or len(array.shape) < 2:  # noqa: PLR2004 (a single axis has one order)
        return array
    return replace(array, values=replace(array.values, in_order=False))


def _array(kind: Any, axes: Any, content: Any, blob: Blob, budget: Budget) -> Array:
    declared = shape(axes, "an array")
    stored = dtype_of(kind)
    if isinstance(stored, str):
        items = content if isinstance(content, list) else None
        reason = f"its elements are {stored}"
        return Array(
            dtype="object" if items is not None else stored, shape=declared, unsupported=reason, items=items
        )
    return Array(
        dtype=stored.name, shape=declared, values=_values(content, math.prod(declared), stored, blob, budget)
    )


def _values(content: Any, elements: int, kind: Element, blob: Blob, budget: Budget) -> Values:
    what = f"an array of {elements} {kind.name}"
    if (
        isinstance(content, Made)
        and content.name == "_codecs:encode"
        and isinstance(content.arguments, tuple)
    ):
        content = _as_latin1(content.arguments)
    if isinstance(content, Made) and content.name == "builtins:bytes":
        content = b""  # how protocols below 3 spell it
    if isinstance(content, str):
        content = content.encode("latin-1", "replace")
    if isinstance(content, bytes):
        fits(elements, kind, len(content), what)
        return memory_values(content, kind)
    if isinstance(content, Payload) and content.kind == "bytes":
        fits(elements, kind, content.size, what)
        return blob.values(content.offset, elements, kind, budget)
    if isinstance(content, Payload):
        return _decoded_values(content, elements, kind, blob, budget)
    raise CorruptError(f"{what} has no content")


def _as_latin1(arguments: tuple[Any, ...]) -> Any:
    """Protocols below 3 have no bytes: Python 3 writes them as text, a character a byte."""
    content = arguments[0] if arguments else None
    return content.encode("latin-1", "replace") if isinstance(content, str) else content


def _decoded_values(content: Payload, elements: int, kind: Element, blob: Blob, budget: Budget) -> Values:
    """Values whose bytes were written as text: decoded whole when asked for, within the allowance."""

    def decode() -> Any:
        found = decoded(content, blob, budget)
        fits(elements, kind, len(found), f"an array of {elements} {kind.name}")
        return found

    return Values(
        stream=lambda: memory_values(decode(), kind).stream(),
        sample=lambda most: memory_values(decode(), kind).sample(most),
    )


def decoded(content: Payload, blob: Blob, budget: Budget) -> bytes:
    """Bytes that were written as text, whole.

    Raises:
        CorruptError: it holds what is no byte.
        OverBudgetError: they are more than may be held.
    """
    budget.allow(3 * content.size, "an array written as text")
    with blob.reading(budget) as read_at:
        raw: bytes = read_at(content.offset, content.size)
    return _undone(content.kind, raw)


def _undone(written: str, raw: bytes) -> bytes:
    from jaxdoctor.storage.pickles.literals import unescaped  # noqa: PLC0415 (rare)

    try:
        if written == "text":
            return raw.decode("utf-8").encode("latin-1")
        if raw[:1] in {b"'", b'"'} and raw.rstrip()[-1:] == raw[:1]:
            return unescaped(raw.rstrip()[1:-1])
        return raw.decode("raw-unicode-escape").encode("latin-1")
    except UnicodeError as error:
        raise CorruptError("an array written as text holds what is no byte") from error
