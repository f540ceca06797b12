"""Keeps the dtypes of an optax state, whatever the transformation does."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any, TypeVar

import jax
from jax.extend.core import primitives

Transform = TypeVar("Transform")


def stable_dtypes(transform: Transform, *, free: Sequence[str] = ()) -> Transform:
    """The transformation, whose new state has the dtypes and weak types of the state it was given.

    A conversion that changes nothing is no operation of the program, so that a transformation that was stable
    compiles to the same program. What drifts, is cast: a leaf that would widen to float32 is rounded back.

    >>> transform = stable_dtypes(optax.lbfgs())  # doctest: +SKIP

    Args:
        transform: an optax transformation, or anything with `init`, `update` and `_replace`.
        free: patterns of leaves to leave alone, by path: `"*/avg_value"`.

    Raises:
        TypeError: the returned `update` raises it if the new state has other leaves than the old: no cast
            mends that.
    """
    inner: Any = transform

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        new_updates, new_state = inner.update(updates, state, params, **extra)
        return new_updates, _like(new_state, state, free)

    replaced: Transform = inner._replace(update=update)
    return replaced


def _like(new: Any, old: Any, free: Sequence[str]) -> Any:
    pairs, structure = jax.tree_util.tree_flatten_with_path(old)
    changed: Any = jax.tree.structure(new)
    if changed != structure:
        raise TypeError(f"the state's leaves change, which no cast mends: {structure} becomes {changed}")
    leaves = [
        leaf if _is_free(keys, free) else _cast(leaf, before)
        for leaf, (keys, before) in zip(jax.tree.leaves(new), pairs, strict=True)
    ]
    return jax.tree.unflatten(structure, leaves)


def _is_free(keys: Any, free: Sequence[str]) -> bool:
    path = jax.tree_util.keystr(keys, simple=True, separator="/")
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in free)


def _cast(new: Any, old: Any) -> Any:
    try:
        wanted, given = jax.typeof(old), jax.typeof(new)
    except TypeError:  # no array
        return new
    weak = bool(getattr(wanted, "weak_type", False))
    if wanted.dtype == given.dtype and weak == bool(getattr(given, "weak_type", False)):
        return new
    # No function of jax.numpy can give a weak type back.
    return primitives.convert_element_type_p.bind(new, new_dtype=wanted.dtype, weak_type=weak, sharding=None)
