"""Calls that compile anew for another function, another static argument, other data or another sharding."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxdoctor.facts.signature import Recompile
from jaxdoctor.updates.trace.calls import Called, static_values
from jaxdoctor.updates.trace.misses import ANEW, NEW

SHARDED = ("{Auto:", "{Explicit:", "{Manual:")
"""How JAX writes the type of an array that lies on a mesh."""

MAPPED = (
    "axis_name",
    "in_axes",
    "out_axes",
    "static_broadcasted_argnums",
    "static_argnums",
    "static_argnames",
)
"""Options of a `pmap` or an `nnx.jit` without which the function means something else."""

MOST_SHOWN = 40
"""Characters of a static value."""


def of_later(first: Called, number: int, later: Called) -> Iterator[Recompile]:
    """Why a later call compiles, whose function or static arguments are not those of the first.

    Args:
        first: with the types of its arrays.
        number: of the later one, counted from 1.
        later: likewise.
    """
    before, after = static_values(first), static_values(later)
    changed = [name for name in after if name in before and differ(before[name], after[name])]
    name = getattr(first.function, "__name__", "the function")
    if changed:
        for each in changed:
            yield Recompile(
                leaf=each,
                cause=f"the static argument {each} is {_shown(before[each])} in call 1 and "
                f"{_shown(after[each])} in call {number}: each new value compiles the step",
                fix=_as_array(first, later, each),
            )
    elif first.function is not later.function:
        once = _traces(first.function, first.options, [first, later])
        yield Recompile(
            cause=f"{name} is another function in call {number}, made anew on the same line: every call "
            "compiles",
            fix=f"define and jit {name} once, before the loop (tried: 1 compile for both calls)"
            if once == 1
            else None,
            certain=True,
        )


def _as_array(first: Called, later: Called, name: str) -> str | None:
    """The static argument as an ordinary one, if the function can be traced so, once for both calls."""
    options = {key: value for key, value in first.options.items() if not key.startswith("static_")}
    static = [each for each in static_values(first) if each != name]
    if static:
        options["static_argnames"] = tuple(static)
    if _traces(first.function, options, [first, later]) != 1:
        return None
    return f"take {name} out of the static arguments (tried: 1 compile for both calls)"


def _traces(function: Any, options: Mapping[str, Any], calls: Sequence[Called]) -> int | None:
    """How often a jitted function is traced for these calls; None where it raises."""
    count = 0

    @functools.wraps(function)
    def counting(*args: Any, **keywords: Any) -> Any:
        nonlocal count
        count += 1
        return function(*args, **keywords)

    wanted = {key: value for key, value in options.items() if key.startswith("static_")}
    try:
        jitted = jax.jit(counting, **wanted)
        for call in calls:
            jitted.trace(*call.args, **call.keywords)
    except Exception:  # noqa: BLE001 (a cure under which the step raises is none)
        return None
    return count


def differ(one: Any, other: Any) -> bool:
    """Whether two static values are two to JAX."""
    try:
        return one is not other and bool(one != other)
    except (TypeError, ValueError):
        return True


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def unforeseen(
    compiled: Sequence[bool], missed: Sequence[str | None], *, expected: int
) -> Iterator[Recompile]:
    """Compiles that were counted and that neither the state's types nor the data's asked for.

    Args:
        compiled: of every call that was made, whether XLA compiled.
        missed: of every call, why JAX says that it traced anew.
        expected: calls that may compile, the first ones.
    """
    late = [index for index, each in enumerate(compiled) if each and index >= expected]
    if not late:
        return
    numbers = ", ".join(str(index + 1) for index in late)
    why = next((missed[index] for index in late if index < len(missed) and missed[index]), None)
    if why is None:
        yield Recompile(
            cause=f"XLA compiled at call {numbers} too, without a new trace: an argument came on another "
            "device or with another sharding",
            once=True,
        )
    elif why in {ANEW, NEW}:
        yield Recompile(cause=f"XLA compiled at call {numbers} too: the function is made anew", certain=True)
    else:
        sharded = any(word in why for word in SHARDED)
        yield Recompile(cause=f"XLA compiled at call {numbers} too; JAX says: {why}", once=sharded)


def dropped(first: Called, odd: Called) -> str | None:
    """What to do about a call with other data, if that saves its compile."""
    if _lowered([first, odd]) != 2 or _lowered([first, first]) != 1:  # noqa: PLR2004 (one for each)
        return None
    told = "drop the last batch where it is smaller, or pad it to the size of the others"
    return f"{told} (tried: 1 compile, not 2)"


def _lowered(calls: Sequence[Called]) -> int | None:
    """As `_traces`, of a function that is jitted in whatever way; None too where that way is not known."""
    first = calls[0]
    if first.kind == "jit":
        return _traces(first.function, first.options, calls)
    if first.kind == "filter_jit":
        return _traces(_on_leaves(first.function), {"static_argnums": 0}, [_flat(call) for call in calls])
    makers = {"pmap": jax.pmap, "nnx.jit": getattr(sys.modules.get("flax.nnx"), "jit", None)}
    make = makers.get(first.kind)
    if make is None:
        return None
    count = 0

    @functools.wraps(first.function)
    def counting(*args: Any, **keywords: Any) -> Any:
        nonlocal count
        count += 1
        return first.function(*args, **keywords)

    try:
        jitted = make(counting, **{name: first.options[name] for name in MAPPED if name in first.options})
        for call in calls:
            jitted.lower(*call.args, **call.keywords)
    except Exception:  # noqa: BLE001 (a cure under which the step raises is none)
        return None
    return count


def _flat(call: Called) -> Called:
    """The call with its arrays as arguments, and all else in a first one, as Equinox divides them."""
    leaves, structure = jax.tree.flatten((call.args, dict(call.keywords)))
    fixed = tuple(None if hasattr(leaf, "dtype") else leaf for leaf in leaves)
    arrays = tuple(leaf for leaf in leaves if hasattr(leaf, "dtype"))
    return replace(call, args=((structure, fixed), *arrays), keywords={})


def _on_leaves(function: Any) -> Any:
    def flat(static: tuple[Any, tuple[Any, ...]], *arrays: Any) -> Any:
        structure, fixed = static
        supply = iter(arrays)
        args, keywords = jax.tree.unflatten(
            structure, [next(supply) if leaf is None else leaf for leaf in fixed]
        )
        # What comes out may hold functions, which `jit` does not return.
        return [leaf for leaf in jax.tree.leaves(function(*args, **keywords)) if hasattr(leaf, "dtype")]

    return flat
