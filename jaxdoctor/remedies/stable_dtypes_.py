"""Keeps the dtypes of a state, whatever the update does: an optax transformation, or a step of one's own."""

from __future__ import annotations

import fnmatch
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import jax
import jax.numpy as jnp
from jax.extend.core import primitives

Stepping = TypeVar("Stepping")

ENOUGH_BITS = 32


class LossyCastWarning(UserWarning):
    """A leaf is cast back to a dtype that loses what was added: small changes of an average, or fractions."""


@overload
def stable_dtypes(step: Stepping, *, free: Sequence[str] = ()) -> Stepping: ...


@overload
def stable_dtypes(step: None = None, *, free: Sequence[str] = ()) -> Callable[[Stepping], Stepping]: ...


def stable_dtypes(step: Any = None, *, free: Sequence[str] = ()) -> Any:
    """The same step, whose new state has the dtypes and weak types of the state it was given.

    A conversion that changes nothing is no operation of the program, so that a step that was stable compiles
    to the same program. What drifts, is cast: a leaf that would widen to float32 is rounded back, with a
    `LossyCastWarning` when the program is traced, for a moving average in bfloat16 stands still once its
    decay is above 0.996, and an integer loses fractions. Where that matters, make the state in float32
    (optax's `mu_dtype`) instead.

    >>> transform = stable_dtypes(optax.lbfgs())  # doctest: +SKIP

    >>> @stable_dtypes
    ... def step(state, batch):
    ...     return {"seen": state["seen"] + batch.size}
    >>> step({"seen": jnp.zeros((), jnp.int32)}, jnp.ones(3))["seen"].weak_type
    False

    Args:
        step: an optax transformation, anything else with `update(_, state, ...) -> (_, state)` such as
            `optax.MultiSteps` or a jaxopt solver, or a function `step(state, ...)` that returns the next
            state, alone or first of a tuple: `step(params, opt_state, batch) -> (params, opt_state, loss)`.
        free: patterns of leaves to leave alone, by path: `"*/avg_value"`.

    Raises:
        TypeError: it is none of these; or, when called, the new state has other leaves than the old: no cast
            mends that.
    """
    if step is None:
        return functools.partial(stable_dtypes, free=free)
    if not isinstance(step, type) and callable(getattr(step, "update", None)):
        return _of_transform(step, free)
    if callable(step):
        return _of_function(step, free)
    raise TypeError(f"{type(step).__name__} is neither a function nor has an update")


def _of_transform(transform: Any, free: Sequence[str]) -> Any:
    def update(updates: Any, state: Any, *args: Any, **extra: Any) -> Any:
        answer = transform.update(updates, state, *args, **extra)
        new_updates, new_state = answer
        kept = _like(new_state, state, free)
        # jaxopt answers with a named tuple.
        return type(answer)(new_updates, kept) if hasattr(answer, "_fields") else (new_updates, kept)

    if hasattr(transform, "_replace"):
        return transform._replace(update=update)
    return _Stable(transform, update)


class _Stable:
    """An object with another `update`; everything else is the object's own."""

    def __init__(self, inner: Any, update: Callable[..., Any]) -> None:
        self._inner = inner
        self.update = update

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _of_function(step: Callable[..., Any], free: Sequence[str]) -> Callable[..., Any]:
    @functools.wraps(step)
    def stable(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError("give the state as the first argument, without a name")
        answer = step(*args, **kwargs)
        returned: Any = jax.tree.structure(answer)
        alike = returned == jax.tree.structure(args[0])
        if alike or not isinstance(answer, tuple) or hasattr(answer, "_fields"):
            return _like(answer, args[0], free)
        kept = [_like(answer[0], args[0], free)]
        # Further parts of the state come back in their places; what is no tree, such as a loss, is none.
        for new, old in zip(answer[1:], args[1:], strict=False):
            if not _is_part(new, old):
                break
            kept.append(_like(new, old, free))
        return (*kept, *answer[len(kept) :])

    return stable


def _is_part(new: Any, old: Any) -> bool:
    structure: Any = jax.tree.structure(new)
    alike = structure == jax.tree.structure(old)
    is_tree = not jax.tree_util.treedef_is_leaf(structure)
    return alike and is_tree and jax.tree.map(jnp.shape, new) == jax.tree.map(jnp.shape, old)


def _like(new: Any, old: Any, free: Sequence[str]) -> Any:
    pairs, structure = jax.tree_util.tree_flatten_with_path(old)
    changed: Any = jax.tree.structure(new)
    if changed != structure:
        raise TypeError(f"the state's leaves change, which no cast mends: {structure} becomes {changed}")
    paths = [jax.tree_util.keystr(keys, simple=True, separator="/") for keys, _ in pairs]
    leaves = [
        leaf if any(fnmatch.fnmatchcase(path, pattern) for pattern in free) else _cast(leaf, before, path)
        for leaf, (_, before), path in zip(jax.tree.leaves(new), pairs, paths, strict=True)
    ]
    return jax.tree.unflatten(structure, leaves)


def _cast(new: Any, old: Any, path: str) -> Any:
    try:
        wanted, given = jax.typeof(old), jax.typeof(new)
    except TypeError:  # no array
        return new
    weak = bool(getattr(wanted, "weak_type", False))
    if wanted.dtype == given.dtype and weak == bool(getattr(given, "weak_type", False)):
        return new
    loss = _loss(given.dtype, wanted.dtype)
    if loss is not None:
        warnings.warn(
            f"stable_dtypes casts {path or 'the state'} from {given.dtype} back to {wanted.dtype}, "
            f"where {loss}: make it in float32 where it begins, or leave it free",
            LossyCastWarning,
            stacklevel=5,
        )
    # No function of jax.numpy can give a weak type back.
    return primitives.convert_element_type_p.bind(new, new_dtype=wanted.dtype, weak_type=weak, sharding=None)


def _loss(given: Any, wanted: Any) -> str | None:
    """What a cast loses that an update may have added; None for one that keeps it."""
    if not jnp.issubdtype(given, jnp.floating):
        return None
    if jnp.issubdtype(wanted, jnp.integer):
        return "fractions are cut off"
    if wanted.itemsize * 8 < ENOUGH_BITS <= given.itemsize * 8:
        return "a moving average with a decay above 0.996 stands still"
    return None
