"""Cures of decays that half precision holds as 1: held wide, with what they average, and traced again."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.facts.signature import LostDecay
from jaxdoctor.programs.graph import Graph
from jaxdoctor.updates.trace.abstract_values import Known
from jaxdoctor.updates.trace.cures import Edit, applied, optimizer_paths
from jaxdoctor.updates.trace.decays import lost_decays
from jaxdoctor.updates.trace.forms import settled
from jaxdoctor.updates.trace.places import HALF
from jaxdoctor.updates.trace.rounds import Course, settle
from jaxdoctor.updates.trace.target import Traced
from jaxdoctor.updates.trace.tree import Abstract, Typed, abstract

INJECTED = (
    "give optax.inject_hyperparams hyperparam_dtype=jnp.float32, and make its state from float32 copies of "
    "the parameters: optimizer.init(jax.tree.map(lambda p: p.astype(jnp.float32), params))"
)


def with_cures(make: Callable[[], Traced], decays: tuple[LostDecay, ...]) -> tuple[LostDecay, ...]:
    """The decays with what was tried and makes each less than 1 again; those in constants as they are.

    Args:
        make: builds the update and its state, which are traced alone.
        decays: what was found in it.
    """
    fixes: dict[str, str | None] = {}

    def outer() -> int:
        course = settled(make())
        fixes.update({each.factor: _fix(course, each) for each in decays if each.factor is not None})
        return 0

    if any(each.factor is not None for each in decays):
        with contextlib.suppress(Exception, SystemExit):
            jax.make_jaxpr(outer)()
    return tuple(replace(each, fix=fixes.get(each.factor or "")) for each in decays)


def _fix(course: Course, decay: LostDecay) -> str | None:
    subject, factor = course.subject, str(decay.factor)
    state = abstract(subject.state)
    prefixes = ("",) if subject.params is not None else optimizer_paths(subject.state)
    optimizer = next((each for each in prefixes if factor.startswith(each)), None)
    if optimizer is not None and "hyperparams" not in factor.split("/"):
        return None
    narrow = [path for path in state.paths if optimizer is not None and path.startswith(optimizer)]
    edit = _in_float32(state, narrow or [factor, *decay.leaves])
    with _injected_in_float32() if optimizer is not None else contextlib.nullcontext():
        try:
            tried = settle(applied(subject, course.pick, edit))
        except Exception:  # noqa: BLE001 (a cure under which the update raises is none)
            return None
    if tried.settled != 0 or factor in _lost(tried):
        return None
    averages = f"{decay.leaves[0]}{f' and {len(decay.leaves) - 1} more' if len(decay.leaves) > 1 else ''}"
    plain = f"make {factor} and {averages} with dtype=jnp.float32"
    return f"{plain if optimizer is None else INJECTED} (tried: {factor} is float32, and it settles at once)"


def _in_float32(state: Abstract, paths: list[str]) -> Edit:
    """The half-precision arrays at these paths as float32 ones."""
    make: Any = Typed
    known = zip(state.paths, state.leaves, strict=True)
    return Edit(
        made={
            path: make(leaf.shape, jnp.dtype("float32"), weak_type=False)
            for path, leaf in known
            if path in paths and isinstance(leaf, jax.ShapeDtypeStruct) and str(leaf.dtype) in HALF
        }
    )


def _lost(course: Course) -> set[str | None]:
    """The factors that are 1 there in half precision, whatever their numbers were."""
    first = course.rounds[0]
    numbers = [Known(1.0) if leaf.shape == () else None for leaf in first.before.arrays]
    constants = [None] * len(first.closed.jaxpr.constvars)
    return {each.factor for each in lost_decays(first, Graph(first.closed), [*numbers, *constants])}


@contextlib.contextmanager
def _injected_in_float32() -> Iterator[None]:
    """While open, `inject_hyperparams` keeps its numbers as with `hyperparam_dtype=jnp.float32`.

    It asks `optax.tree.dtype` for the parameters' highest dtype:
    https://github.com/google-deepmind/optax/blob/v0.2.8/optax/schedules/_inject.py
    """
    tree = getattr(sys.modules.get("optax"), "tree", None)
    own = getattr(tree, "dtype", None)
    if tree is None or own is None:
        yield
        return

    def dtype(given: Any, mixed: str | None = None) -> Any:
        return jnp.float32 if mixed == "highest" else own(given, mixed)

    tree.dtype = dtype
    try:
        yield
    finally:
        tree.dtype = own
