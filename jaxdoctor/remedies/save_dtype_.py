"""Casts a tree for saving, and says what was lost."""

from __future__ import annotations

import difflib
import fnmatch
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SECOND_MOMENTS = {
    "nu",
    "nu_max",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "v_row",
    "v_col",
    "sum_of_squares",
    "e_g",
    "e_x",
}
"""What optax and PyTorch call them."""

SHORT_NAMES = {"v", "vr", "vc"}
"""Of second moments inside an optimizer's state; elsewhere an attention's values are called so too."""

ENOUGH_BITS = 32
FLOATING = ("bfloat16", "float16", "float32", "float64")


class SecondMomentError(ValueError):
    """A second moment would be saved in fewer than 32 bits."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What casting one leaf has changed."""

    path: str
    dtype_from: str
    dtype_to: str
    max_relative_error: float
    """Over the elements that are finite before and after, and not 0 after; 0 where the cast is exact."""

    to_infinity: int = 0
    """Finite elements that were too large."""

    to_zero: int = 0
    """Elements that were too small."""

    @property
    def exact(self) -> bool:
        """Whether casting back gives every element as it was."""
        return self.max_relative_error == 0 and not self.to_infinity and not self.to_zero


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The tree to save, and what each cast has cost."""

    tree: Any
    losses: tuple[Loss, ...]
    """One for each leaf that was cast."""

    unused: tuple[str, ...] = ()
    """Patterns of the policy that were the first to fit no leaf."""

    @property
    def worst(self) -> Loss | None:
        """The leaf that lost most; None when nothing was cast."""
        return max(self.losses, key=lambda each: (each.to_infinity, each.max_relative_error), default=None)


def save_dtype(tree: Any, policy: str | Mapping[str, str]) -> Saved:
    """Casts the floating-point leaves of a tree for a file.

    >>> saved = save_dtype({"w": jnp.ones(3, jnp.bfloat16)}, "float32")
    >>> saved.tree["w"].dtype, saved.losses[0].exact
    (dtype('float32'), True)

    Args:
        tree: parameters, or a whole training state.
        policy: one dtype for all, or dtypes by pattern of the leaf's path, the first that fits:
            `{"opt_state/*": "float32", "*": "bfloat16"}`. What no pattern fits stays as it is.

    Raises:
        TypeError: a dtype of the policy is no floating-point one, so that a cast would cut values off.
        SecondMomentError: a leaf that an optimizer keeps as a second moment would get fewer than 32 bits. It
            grows by a thousandth of its value a step, which 8 or 11 bits round away.
    """
    patterns = {"*": policy} if isinstance(policy, str) else policy
    dtypes = {pattern: _floating(name) for pattern, name in patterns.items()}
    fitted: set[str] = set()
    pairs, structure = jax.tree_util.tree_flatten_with_path(tree)
    leaves, losses = [], []
    for keys, leaf in pairs:
        path = jax.tree_util.keystr(keys, simple=True, separator="/")
        dtype = _wanted(path, leaf, dtypes, fitted)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # the loss tells
            leaves.append(leaf if dtype is None else leaf.astype(dtype))
        if dtype is not None:
            losses.append(_loss(path, leaf, leaves[-1]))
    unused = tuple(pattern for pattern in dtypes if pattern not in fitted)
    for pattern in unused:
        if not isinstance(policy, str):
            warnings.warn(f"the pattern {pattern!r} fits no floating-point leaf", stacklevel=2)
    return Saved(tree=jax.tree.unflatten(structure, leaves), losses=tuple(losses), unused=unused)


def _floating(name: str) -> Any:
    try:
        dtype = jnp.dtype(name)
    except TypeError:
        near = difflib.get_close_matches(name, FLOATING, n=1, cutoff=0.3)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"there is no dtype named {name!r}{meant}") from None
    if not jnp.issubdtype(dtype, jnp.floating):
        raise TypeError(f"{name} is no floating-point dtype: casting to it would cut values off")
    return dtype


def _wanted(path: str, leaf: Any, dtypes: Mapping[str, Any], fitted: set[str]) -> Any:
    """The dtype to cast to; None where nothing is to be done. Adds the pattern that fits."""
    if not hasattr(leaf, "dtype") or not jnp.issubdtype(leaf.dtype, jnp.floating):
        return None
    pattern = next((pattern for pattern in dtypes if fnmatch.fnmatchcase(path, pattern)), None)
    if pattern is None:
        return None
    fitted.add(pattern)
    dtype = dtypes[pattern]
    if dtype.itemsize * 8 < ENOUGH_BITS and is_second_moment(path):
        policy = {_moments_of(path): "float32", "*": str(dtype)}
        raise SecondMomentError(
            f"{path} is a second moment: save it in float32, not in {dtype}, as by the policy {policy}"
        )
    return None if dtype == leaf.dtype else dtype


def _moments_of(path: str) -> str:
    """The pattern of a second moment's leaves, all of that optimizer's."""
    parts = path.split("/")
    for place, part in enumerate(parts[:-1]):
        if part.lower() in SECOND_MOMENTS | SHORT_NAMES:
            return "/".join([*parts[: place + 1], "*"])
    return path


def is_second_moment(path: str) -> bool:
    """Whether an optimizer keeps running means of squares there, by the names on the path."""
    *folders, last = path.lower().split("/")
    names = {last, *folders}
    inside = any("opt" in folder for folder in folders)
    return bool(names & SECOND_MOMENTS) or (inside and bool(names & SHORT_NAMES))


def _loss(path: str, before: Any, after: Any) -> Loss:
    arrays: Any = jnp if isinstance(before, jax.Array) else np
    wide = max(before.dtype, after.dtype, key=lambda dtype: dtype.itemsize)
    old, new = before.astype(wide), after.astype(wide)
    finite = arrays.isfinite(old)
    kept = finite & arrays.isfinite(new) & (new != 0)
    scale = arrays.where(kept, arrays.abs(old), 1)
    error = arrays.where(kept, arrays.abs(new - old), 0) / scale
    return Loss(
        path=path,
        dtype_from=str(before.dtype),
        dtype_to=str(after.dtype),
        max_relative_error=float(error.max(initial=0)),
        to_infinity=int((finite & ~arrays.isfinite(new)).sum()),
        to_zero=int(((old != 0) & (new == 0)).sum()),
    )
