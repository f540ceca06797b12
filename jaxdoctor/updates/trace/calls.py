"""From one call that a script makes to an update, a state and arguments: their types, and small values."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.updates.trace.forms import completed, names_of
from jaxdoctor.updates.trace.parts import at, is_key, layout, matched
from jaxdoctor.updates.trace.rounds import Pick, joined, likeness
from jaxdoctor.updates.trace.target import Traced
from jaxdoctor.updates.trace.tree import Abstract, abstract, typed

LIKE_ENOUGH = 0.5
"""Of the leaves of an argument and of what is returned: the share that must agree to call one the other."""


@dataclass(frozen=True)
class Called:
    """One call of a jitted function."""

    jitted: Any
    function: Any
    kind: str
    """"jit", "pmap", "shard_map", "filter_jit" or "nnx.jit"."""

    options: Mapping[str, Any]
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]


def of_call(call: Called) -> Traced | None:
    """What to trace; None where nothing of what it takes comes back.

    Raises:
        Exception: what the function raises when it is traced.
    """
    names = names_of(call.function, len(call.args))
    if call.kind == "nnx.jit":
        return _of_modules(call, names)
    fixed = _fixed(call, names)
    update, args = call.jitted, list(call.args)
    if call.kind == "pmap":
        update, args = call.function, _per_device(call, args)
    given = {index: each for index, each in enumerate(args) if index not in fixed}
    static_words = {name for name in call.keywords if name in _static_names(call)}
    words = [name for name in call.keywords if name not in static_words]
    values = [
        jax.tree.map(typed, each) for each in (*given.values(), *(call.keywords[word] for word in words))
    ]

    def called(*values: Any) -> Any:
        full = dict(zip(given, values[: len(given)], strict=True)) | {index: args[index] for index in fixed}
        named = dict(zip(words, values[len(given) :], strict=True))
        named |= {name: call.keywords[name] for name in static_words}
        return update(*(full[index] for index in range(len(args))), **named)

    labels = (*(names[index] for index in given), *words)
    return _subject(called, values, labels, call)


def _subject(
    update: Callable[..., Any], values: list[Any], names: Sequence[str], call: Called
) -> Traced | None:
    if not values:
        return None
    plain = Traced(update=update, state=values[0], args=tuple(values[1:]), names=tuple(names))
    plain, returned = _outputs(plain, call)
    found = _state(returned, [abstract(each) for each in values], names)
    if found is None:
        return None
    pick, parts = found
    made = joined(plain, pick, parts)
    states = [values[index] for index in parts]
    return Traced(
        **{
            **vars(made),
            "learns": holds_optimizer(states),
            "filter_jit": call.kind == "filter_jit",
            "order": names_of(call.function, len(call.args)),
        }
    )


def _outputs(subject: Traced, call: Called) -> tuple[Traced, Any]:
    """What it returns, by its types; axis names that a pmap gives are bound."""
    if call.kind == "filter_jit":
        equinox: Any = importlib.import_module("equinox")
        return subject, equinox.filter_eval_shape(subject.update, subject.state, *subject.args)
    while True:
        try:
            return subject, jax.eval_shape(subject.update, subject.state, *subject.args)
        except (NameError, TypeError, ValueError) as error:
            changed = completed(subject, error)
            if changed is None:
                raise
            subject = changed


def _state(
    returned: Any, arguments: list[Abstract], names: Sequence[str]
) -> tuple[Pick, Mapping[int, int]] | None:
    """Which arguments come back, and where; None where none does, or nothing but a key."""
    whole = abstract(returned)
    for index, argument in enumerate(arguments):
        if argument.structure == whole.structure and argument.paths not in {("",), ()}:
            return Pick(()), {index: 0}
    places = layout(returned, [argument.structure for argument in arguments])
    parts = [abstract(at(returned, place)) for place in places]
    found = matched(parts, arguments, names, {})
    if not any(_holds_more_than_a_key(arguments[index]) for index in found):
        found = found | _alike(parts, arguments, found)
    if not any(_holds_more_than_a_key(arguments[index]) for index in found):
        return None
    first = next(iter(found.values()))
    return Pick(places[first], places), found


def _holds_more_than_a_key(tree: Abstract) -> bool:
    return not is_key(tree) and (tree.paths != ("",) or tree.arrays[0].shape != ())


def _alike(parts: list[Abstract], arguments: list[Abstract], taken: Mapping[int, int]) -> dict[int, int]:
    """The argument and the part that are most alike, of a state whose tree changes."""
    pairs = [
        (likeness(part, argument)[1], index, place)
        for index, argument in enumerate(arguments)
        for place, part in enumerate(parts)
        if index not in taken and place not in taken.values() and len(argument.leaves) > 1
    ]
    share, index, place = max(pairs, default=(0.0, 0, 0))
    return {index: place} if share > LIKE_ENOUGH else {}


def _of_modules(call: Called, names: Sequence[str]) -> Traced | None:
    nnx: Any = sys.modules["flax.nnx"]
    held = [each for each in call.args if isinstance(each, nnx.Module | nnx.Optimizer)]
    if not held:
        return None
    return Traced(
        update=call.jitted,
        state=call.args[0],
        args=tuple(call.args[1:]),
        keywords=dict(call.keywords),
        names=tuple(names),
        learns=any(isinstance(each, nnx.Optimizer) for each in held),
        order=tuple(names),
    )


def of_loop(body: Any, carry: Any, stacked: Any, kind: str) -> Traced | None:
    """What to trace of a loop's body; None where it carries a single array."""
    tree = jax.tree.map(typed, carry)
    if len(jax.tree.leaves(tree)) < 2:  # noqa: PLR2004 (one array is no training state)
        return None
    names = names_of(body, 2)
    update: Callable[..., Any]
    args: tuple[Any, ...] = ()
    if kind == "scan" and not jax.tree.leaves(stacked):
        update = functools.partial(_with_last, body, stacked)
    elif kind == "scan":
        update, args = body, (jax.tree.map(lambda leaf: typed(leaf, row=True), stacked),)
    elif kind == "fori_loop":
        update, args = functools.partial(_numbered, body), (jnp.int32(0),)
        names = (names[1], names[0])
    else:
        update = functools.partial(_alone, body)
    return Traced(
        update=update,
        state=tree,
        args=args,
        index=0,
        names=names[: 1 + len(args)],
        parts=names[:1],
        learns=holds_optimizer([carry]),
        order=names,
    )


def _with_last(body: Callable[..., Any], last: Any, carry: Any) -> Any:
    return body(carry, last)


def _numbered(body: Callable[..., Any], carry: Any, index: Any) -> Any:
    return body(index, carry), None


def _alone(body: Callable[..., Any], carry: Any) -> Any:
    return body(carry), None


def _fixed(call: Called, names: Sequence[str]) -> set[int]:
    """The positions of static arguments, and of those that no array can stand for."""
    numbers = call.options.get("static_argnums", call.options.get("static_broadcasted_argnums", ()))
    positions = {numbers} if isinstance(numbers, int) else set(numbers or ())
    found = {
        position % len(call.args) for position in positions if -len(call.args) <= position < len(call.args)
    }
    found |= {index for index, name in enumerate(names) if name in _static_names(call)}
    if call.kind == "filter_jit":
        found |= {index for index, each in enumerate(call.args) if not _has_arrays(each)}
    return found


def _static_names(call: Called) -> set[str]:
    words = call.options.get("static_argnames", ())
    return {words} if isinstance(words, str) else set(words or ())


def _has_arrays(value: Any) -> bool:
    return any(hasattr(leaf, "dtype") for leaf in jax.tree.leaves(value))


def _per_device(call: Called, args: list[Any]) -> list[Any]:
    """A pmapped function's arguments as one device sees them."""
    axes = call.options.get("in_axes", 0)
    each = list(axes) if isinstance(axes, (tuple, list)) else [axes] * len(args)
    return [
        jax.tree.map(lambda leaf: typed(leaf, row=True), value) if axis == 0 else value
        for value, axis in zip(args, each, strict=False)
    ]


def holds_optimizer(trees: Sequence[Any]) -> bool:
    """Whether an optimizer's state stands in one of the trees: optax's, a TrainState, an NNX optimizer."""
    kinds: set[type] = set()

    def note(node: Any) -> bool:
        kinds.add(type(node))
        return False

    jax.tree.flatten(list(trees), is_leaf=note)
    return any(_is_optimizers(base) for kind in kinds for base in inspect.getmro(kind))


def _is_optimizers(kind: type) -> bool:
    package = kind.__module__.partition(".")[0]
    if package == "optax":
        return True
    return kind.__name__ in {"TrainState", "OptState", "OptimizerState"} or (
        kind.__name__ == "Optimizer" and package == "flax"
    )
