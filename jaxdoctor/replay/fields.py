"""The leaves of a state by name, and the floating ones in the order in which a step computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp


def leaf_names(state: Any) -> list[str]:
    """Every leaf's path, joined by dots, in the order of `jax.tree.leaves`."""
    return [_name(path) for path, _ in jax.tree_util.tree_leaves_with_path(state)]


def replaced(state: Any, values: Mapping[str, Any]) -> Any:
    """The state with some leaves, called by name, given other values."""
    leaves, structure = jax.tree.flatten(state)
    names = leaf_names(state)
    return jax.tree.unflatten(
        structure, [values.get(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
    )


def picked(state: Any, names: Sequence[str]) -> dict[str, Any]:
    """Some leaves by name."""
    by_name = dict(zip(leaf_names(state), jax.tree.leaves(state), strict=True))
    return {name: by_name[name] for name in names}


def floating_leaves(state: Any, pipeline: Sequence[str]) -> list[tuple[str, Any]]:
    """Every floating leaf with its name, earliest in the pipeline first; empty ones are left out."""
    leaves = [
        (name, leaf)
        for name, leaf in zip(leaf_names(state), jax.tree.leaves(state), strict=True)
        if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size
    ]
    position = {name: index for index, name in enumerate(pipeline)}
    return sorted(leaves, key=lambda named: position.get(named[0], len(position)))


def nonfinite(leaf: jax.Array, leading: int) -> jax.Array:
    """Where a leaf holds NaN or infinity, over all but its leading axes."""
    return ~jnp.isfinite(leaf).all(axis=tuple(range(leading, leaf.ndim)))


def _name(path: tuple[Any, ...]) -> str:
    return (
        jax.tree_util.keystr(path, simple=True, separator=".").removeprefix("_impl.").replace("._impl.", ".")
    )
