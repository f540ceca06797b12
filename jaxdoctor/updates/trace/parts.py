"""Which arguments of an update come back in what it returns: the parts of its state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.updates.trace.tree import Abstract

DATA_NAMES = (
    "batch", "x", "y", "xs", "ys", "data", "inputs", "obs", "observation", "observations", "action",
    "actions", "reward", "rewards", "target", "targets", "label", "labels", "image", "images", "tokens",
    "done", "dones", "mask", "lr", "learning_rate", "rate", "grads", "gradients", "updates", "i", "it", "idx",
)  # fmt: skip
"""A bare array of such a name is data, whatever the update returns beside its state."""


Place = tuple[Any, ...]
"""Where a part stands in what an update returns: indices, keys and the names of fields, from outside in."""


def layout(returned: Any, structures: Sequence[Any]) -> tuple[Place, ...]:
    """Where in what an update returned its parts stand: the items of a tuple, each by its place.

    A dictionary, a named tuple or a dataclass is opened where one of its values has one of the structures,
    and so is an item of a tuple: `(loss, (params, s))`, `{"params": params, "loss": loss}`.
    """
    if not _is_plain(returned) and not _holds(returned, structures):
        return ((),)
    found: list[Place] = []
    for key, item in _items(returned):
        opens = jax.tree.structure(item) not in structures and _holds(item, structures)
        found += [(key, inner) for inner, _ in _items(item)] if opens else [(key,)]
    return tuple(found)


def at(returned: Any, place: Place) -> Any:
    """The part that stands there."""
    for key in place:
        named = isinstance(key, str) and not isinstance(returned, Mapping)
        returned = getattr(returned, key) if named else returned[key]
    return returned


def _is_plain(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and not hasattr(value, "_fields")


def _items(value: Any) -> list[tuple[Any, Any]]:
    """What it holds, each with the key by which `at` finds it; nothing of what is no container."""
    if isinstance(value, Mapping):
        return list(value.items())
    if hasattr(value, "_fields"):
        return [(name, getattr(value, name)) for name in value._fields]
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    if dataclasses.is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    return []


def _holds(value: Any, structures: Sequence[Any]) -> bool:
    """Whether one of the values in it has one of the structures; a bare array is no sign of anything."""
    found: list[Any] = [jax.tree.structure(item) for _, item in _items(value)]
    leaf: Any = jax.tree.structure(0)
    return any(each in structures and (each != leaf or _is_plain(value)) for each in found)


def matched(
    parts: Sequence[Abstract], arguments: Sequence[Abstract], names: Sequence[str], taken: Mapping[int, int]
) -> dict[int, int]:
    """For each argument that comes back, which part of the returned tuple it is.

    Args:
        parts: what the update returned.
        arguments: what it was called with.
        names: the arguments' names.
        taken: arguments whose part is known already.
    """
    found = dict(taken)
    for position, argument in enumerate(arguments):
        if position in found or not argument.arrays:
            continue
        free = [index for index in range(len(parts)) if index not in found.values()]
        alike = [index for index in free if _comes_back(argument, parts[index], names[position])]
        if alike:
            # Of several that are alike, the one that promotes nothing is meant.
            found[position] = min(alike, key=lambda index: parts[index].key != argument.key)
    return found


def _comes_back(argument: Abstract, part: Abstract, name: str) -> bool:
    if part.structure != argument.structure or part.paths != argument.paths:
        return False
    pairs = list(zip(argument.leaves, part.leaves, strict=True))
    if any(getattr(one, "shape", None) != getattr(other, "shape", None) for one, other in pairs):
        return is_key(argument) and is_key(part)
    return argument.paths != ("",) or _is_same_array(argument, part, name)


def _is_same_array(argument: Abstract, part: Abstract, name: str) -> bool:
    """Whether one bare array is the other after a call; a loss is as much an array as a rate is."""
    (one,), (other,) = argument.leaves, part.leaves
    if not isinstance(one, jax.ShapeDtypeStruct) or not isinstance(other, jax.ShapeDtypeStruct):
        return False
    if name.lower().strip("_") in DATA_NAMES or one.dtype != other.dtype:
        return False
    return one.shape != () or not jnp.issubdtype(one.dtype, jnp.floating)


def is_key(tree: Abstract) -> bool:
    """Whether it is one random key, raw or typed."""
    leaf = tree.leaves[0] if tree.paths == ("",) else None
    if not isinstance(leaf, jax.ShapeDtypeStruct):
        return False
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)) or (
        leaf.dtype == jnp.uint32 and leaf.shape[-1:] in {(2,), (4,)}
    )
