"""From one call that a script makes to an update, a state and arguments: their types, and small values."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.updates.trace.flow import Fed, Key, Seen
from jaxdoctor.updates.trace.forms import completed, names_of
from jaxdoctor.updates.trace.parts import at, is_key, layout, matched
from jaxdoctor.updates.trace.rounds import Pick, likeness, together
from jaxdoctor.updates.trace.target import Traced
from jaxdoctor.updates.trace.tree import Abstract, abstract, typed

WITHOUT_JIT = ContextVar("WITHOUT_JIT", default=False)
"""While true, a recorded call is traced without its jit, which takes no traced array for a static field."""

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

    def without_arrays(self) -> Called:
        """The same with the types of large arrays in their places, so that it can be kept."""
        if self.kind == "nnx.jit":
            return self
        args, keywords = jax.tree.map(typed, (self.args, dict(self.keywords)))
        return replace(self, args=args, keywords=keywords)


def of_call(call: Called, seen: Seen | None = None) -> Traced | None:
    """What to trace; None where nothing of what it takes comes back.

    Args:
        call: the first one of a function.
        seen: what a later call was seen to be given; None: the structures of the arguments tell alone.

    Raises:
        Exception: what the function raises when it is traced.
    """
    names = names_of(call.function, len(call.args))
    if call.kind == "nnx.jit" and (modules := _of_modules(call, names)) is not None:
        return modules
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
        step = call.function if WITHOUT_JIT.get() and call.kind in {"jit", "filter_jit"} else update
        return step(*(full[index] for index in range(len(args))), **named)

    labels = (*(names[index] for index in given), *words)
    return _subject(called, dict(zip((*given, *words), values, strict=True)), labels, call, seen)


def _subject(
    update: Callable[..., Any],
    given: Mapping[Key, Any],
    names: Sequence[str],
    call: Called,
    seen: Seen | None,
) -> Traced | None:
    values = list(given.values())
    if not values:
        return None
    plain = Traced(update=update, state=values[0], args=tuple(values[1:]), names=tuple(names))
    plain, returned = _outputs(plain, call)
    found = _state(returned, [abstract(each) for each in values], names)
    structural = (
        {} if found is None else {index: Fed(found[0].layout[part]) for index, part in found[1].items()}
    )
    takes = structural if seen is None else _confirmed(structural, seen, list(given))
    if not takes:
        return None
    return Traced(
        **{
            **vars(_together(plain, takes, values)),
            "learns": holds_optimizer([values[index] for index in takes]),
            "filter_jit": call.kind == "filter_jit",
            "order": names_of(call.function, len(call.args)),
            "places": {names[index]: each.place for index, each in takes.items()},
            "seen": tuple(
                names[index] for index, key in enumerate(given) if seen is not None and key in seen.fed
            ),
        }
    )


def _confirmed(structural: Mapping[int, Fed], seen: Seen, keys: Sequence[Key]) -> dict[int, Fed]:
    """What was seen to come back, and what is like a part that comes back and was not seen to be another."""
    found = {index: seen.fed[key] for index, key in enumerate(keys) if key in seen.fed}
    taken = [each.place for each in found.values()]
    for index, fed in structural.items():
        if index in found or fed.place is None or fed.place in taken:
            continue
        if not seen.against(keys[index], fed.place):
            found[index] = fed
    return found


def _together(plain: Traced, takes: Mapping[int, Fed], values: Sequence[Any]) -> Traced:
    def left(returned: Any) -> tuple[Any, ...]:
        taken = [jax.tree.leaves(takes[index].take(returned, values[index])) for index in takes]
        known = {id(leaf) for leaves in taken for leaf in leaves}
        return tuple(leaf for leaf in jax.tree.leaves(returned) if id(leaf) not in known)

    ways = {index: functools.partial(_take, fed=fed, argument=values[index]) for index, fed in takes.items()}
    return together(plain, ways, left)


def _take(returned: Any, *, fed: Fed, argument: Any) -> Any:
    return fed.take(returned, argument)


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


def static_values(call: Called) -> dict[str, Any]:
    """The arguments of a jitted function that its options call static, by their names."""
    names = names_of(call.function, len(call.args))
    numbers = call.options.get("static_argnums", ())
    positions = {numbers} if isinstance(numbers, int) else set(numbers or ())
    named = _static_names(call)
    found = {
        name: call.args[index]
        for index, name in enumerate(names)
        if index in positions or index - len(call.args) in positions or name in named
    }
    return found | {name: value for name, value in call.keywords.items() if name in named}


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
