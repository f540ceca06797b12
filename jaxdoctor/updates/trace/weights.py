"""Abstract parameter trees out of specs, checkpoints and the user's own objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.errors import UsageError
from jaxdoctor.facts.parameters import Parameter


def params_tree(source: Any, dtype: str | None) -> Any:
    """The tree with only types in it; every floating-point leaf in `dtype`, if one is given.

    Args:
        source: leaves by path, or a tree, or a function without arguments that returns one, or None.
        dtype: None leaves every leaf as it is.

    Raises:
        UsageError: a dtype does not exist.
    """
    if source is None:
        return None
    tree = _nested(source) if _is_listed(source) else _called(source)
    return tree if dtype is None else _cast(tree, dtype)


def _called(source: Any) -> Any:
    return source() if callable(source) else source


def _is_listed(source: Any) -> bool:
    return isinstance(source, tuple) and bool(source) and all(isinstance(each, Parameter) for each in source)


def _nested(parameters: Sequence[Parameter]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for each in parameters:
        *folders, name = each.path.split("/")
        branch = tree
        for folder in folders:
            branch = branch.setdefault(folder, {})
        branch[name] = jnp.zeros(each.shape, dtype_named(each.dtype))
    return tree


def dtype_named(name: str) -> Any:
    """The dtype of that name.

    Raises:
        UsageError: there is none.
    """
    try:
        return jnp.dtype(name)
    except TypeError as error:
        raise UsageError(
            f"there is no dtype named {name!r}", hint="float32, bfloat16 and float16 are"
        ) from error


def _cast(tree: Any, dtype: str) -> Any:
    kind = dtype_named(dtype)

    def cast(leaf: Any) -> Any:
        floating = hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)
        if not floating:
            return leaf
        return jnp.zeros(leaf.shape, kind)

    return jax.tree.map(cast, tree)
