"""Trees as tracing needs them: abstract arrays apart from whatever else stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.facts.signature import LeafSignature

MOST_KEPT = 64
"""Elements of an array whose values are kept: a counter's start, no parameter."""


class Typed(jax.ShapeDtypeStruct):
    """An array's type and, where it is small and known, its value."""

    value: Any = None


@dataclass(frozen=True)
class Static:
    """A leaf that is no array: an activation function, a name, a setting."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and _same(self.value, other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))


def _same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Abstract:
    """One tree: its structure, and for each leaf its path and its abstract type."""

    structure: Any
    paths: tuple[str, ...]
    leaves: tuple[jax.ShapeDtypeStruct | Static, ...]

    @property
    def arrays(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """The leaves that are arrays, in order."""
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, jax.ShapeDtypeStruct))

    @property
    def array_paths(self) -> tuple[str, ...]:
        """Their paths."""
        pairs = zip(self.paths, self.leaves, strict=True)
        return tuple(path for path, leaf in pairs if isinstance(leaf, jax.ShapeDtypeStruct))

    def rebuild(self, arrays: Iterable[Any]) -> Any:
        """The tree with these arrays, or tracers, in it."""
        supply = iter(arrays)
        filled = [leaf.value if isinstance(leaf, Static) else next(supply) for leaf in self.leaves]
        return jax.tree.unflatten(self.structure, filled)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for two trees exactly if a jitted function takes them as the same arguments."""
        return self.structure, tuple(_key(leaf) for leaf in self.leaves)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays; keys are not counted."""
        return sum(leaf.size * getattr(leaf.dtype, "itemsize", 0) for leaf in self.arrays)


def _key(leaf: jax.ShapeDtypeStruct | Static) -> Any:
    return leaf if isinstance(leaf, Static) else (leaf.shape, str(leaf.dtype), bool(leaf.weak_type))


def abstract(tree: Any) -> Abstract:
    """The tree without its values."""
    pairs, structure = jax.tree_util.tree_flatten_with_path(tree)
    paths = tuple(jax.tree_util.keystr(keys, simple=True, separator="/") for keys, _ in pairs)
    return Abstract(structure, paths, tuple(_abstract_leaf(leaf) for _, leaf in pairs))


def arrays_of(tree: Any) -> list[Any]:
    """The leaves that jax takes for arrays, as they are."""
    return [leaf for leaf in jax.tree.leaves(tree) if not isinstance(_abstract_leaf(leaf), Static)]


def _abstract_leaf(leaf: Any) -> jax.ShapeDtypeStruct | Static:
    struct: Any = jax.ShapeDtypeStruct
    try:
        kind = leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.typeof(leaf)
    except TypeError:
        return Static(leaf)
    return cast(
        "jax.ShapeDtypeStruct",
        struct(kind.shape, kind.dtype, weak_type=bool(getattr(kind, "weak_type", False))),
    )


def compare(before: Abstract, after: Abstract) -> Iterator[LeafSignature]:
    """Leaf by leaf, paired by path, in the order of the tree that came first."""
    old = dict(zip(before.paths, before.leaves, strict=True))
    new = dict(zip(after.paths, after.leaves, strict=True))
    for path in [*old, *(path for path in new if path not in old)]:
        one, other = old.get(path), new.get(path)
        if isinstance(one, Static) and one == other:
            continue
        yield LeafSignature(
            path=path,
            dtype_in=_dtype(one),
            dtype_out=_dtype(other),
            shape_in=_shape(one),
            shape_out=_shape(other),
            weak_in=bool(getattr(one, "weak_type", False)),
            weak_out=bool(getattr(other, "weak_type", False)),
        )


def _dtype(leaf: jax.ShapeDtypeStruct | Static | None) -> str | None:
    if leaf is None:
        return None
    return type(leaf.value).__name__ if isinstance(leaf, Static) else str(leaf.dtype)


def _shape(leaf: jax.ShapeDtypeStruct | Static | None) -> tuple[int, ...] | None:
    if leaf is None:
        return None
    return () if isinstance(leaf, Static) else tuple(leaf.shape)


def changed(before: Abstract, after: Abstract) -> Iterator[str]:
    """The paths of leaves that are not what they were."""
    old, new = (dict(zip(tree.paths, tree.leaves, strict=True)) for tree in (before, after))
    for path in old.keys() | new.keys():
        one, other = old.get(path), new.get(path)
        if _type(one) != _type(other):
            yield path


def _type(leaf: Any) -> Any:
    return (leaf.shape, leaf.dtype, leaf.weak_type) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf


def typed(leaf: Any, *, row: bool = False) -> Any:
    """An array's type, with its value where it is small and known; anything else as it is.

    Args:
        leaf: an array, a tracer, or something that is none.
        row: of a stack of arrays, the type of one.
    """
    if isinstance(leaf, bool | int | float | complex) and not row:
        return leaf
    try:
        kind = leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.typeof(leaf)
    except TypeError:
        return leaf
    shape = kind.shape[1:] if row else kind.shape
    make: Any = Typed
    known = make(shape, kind.dtype, weak_type=bool(getattr(kind, "weak_type", False)))
    # JAX's own setter compares what was there with what comes.
    object.__setattr__(known, "value", None if row else _value(leaf, kind))
    return known


def _value(leaf: Any, kind: Any) -> Any:
    if isinstance(leaf, jax.core.Tracer | jax.ShapeDtypeStruct) or kind.size > MOST_KEPT:
        return None
    if jnp.issubdtype(kind.dtype, jax.dtypes.extended):
        return None
    try:
        return np.array(leaf)
    except (TypeError, ValueError, RuntimeError):
        return None
