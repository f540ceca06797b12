"""Stored arrays as JAX's, in the precision of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.rollouts.saved_policy import Keys, StoredArray


def loaded(array: StoredArray) -> jax.Array:
    """Single and double numbers in the precision of this process, all others as they were saved."""
    return in_precision(plain(array))


def plain(array: StoredArray) -> np.ndarray[Any, Any]:
    """The array as NumPy's, in its own dtype."""
    kind = jnp.dtype(array.dtype)
    return np.frombuffer(array.content, kind).reshape(array.shape)


def in_precision(array: Any) -> jax.Array:
    """The same rule for an array that is no stored one."""
    if array.dtype in (np.float32, np.float64):
        return jnp.asarray(array, jnp.asarray(0.0).dtype)
    return jnp.asarray(array)


def nested(arrays: Mapping[Keys, StoredArray]) -> Any:
    """The tree of these arrays, with a dictionary for every container; a lone array stands for itself."""
    tree: dict[str, Any] = {}
    for keys, array in arrays.items():
        if not keys:
            return loaded(array)
        inner = tree
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = loaded(array)
    return tree


def listed(tree: Any) -> Any:
    """The same with a list for every dictionary whose keys are 0, 1, 2, ..., as Orbax restores them."""
    if not isinstance(tree, dict):
        return tree
    inner = {key: listed(value) for key, value in tree.items()}
    if set(inner) == {str(index) for index in range(len(inner))}:
        return [inner[str(index)] for index in range(len(inner))]
    return inner
