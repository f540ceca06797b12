"""From what the user typed to an update function, a state and arguments. Runs the user's code."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.errors import UsageError
from jaxdoctor.facts.signature import InnerDrift

SHAPES = "a function without arguments that returns (update, state, *args), or an optax transformation"


@dataclass(frozen=True, kw_only=True)
class Traced:
    """What is judged: `update(state, *args)` returns the next state, alone or first of a tuple."""

    update: Callable[..., Any]
    state: Any
    args: tuple[Any, ...] = ()
    params: Any = None
    """Of a gradient transformation: what its returned updates are compared with, leaf by leaf."""

    index: int | None = None
    """Where in the returned tuple the state stands; None: it is looked for."""

    keywords: Mapping[str, Any] = field(default_factory=dict)
    """What it is called with by name."""

    names: tuple[str, ...] = ()
    """Of the state and the arguments, in their order."""

    parts: tuple[str, ...] = ()
    """The arguments that became the state; nothing until that is known."""

    notes: tuple[str, ...] = ()
    """What was supposed to make it traceable, a sentence each."""

    inner: dict[tuple[Any, ...], InnerDrift] = field(default_factory=dict)
    """Loops and conditions inside it that were refused and mended, found while it is traced."""

    filter_jit: bool = False
    """Equinox jits it: whatever is no array is static."""

    learns: bool = False
    """An optimizer's state is among its state."""

    order: tuple[str, ...] = ()
    """The names of the arguments in the order in which a script gives them."""

    places: Mapping[str, Any] = field(default_factory=dict)
    """Of a call that was recorded: where each part of its state stands in what it returns."""

    seen: tuple[str, ...] = ()
    """The parts that a later call was seen to be given."""

    @property
    def data(self) -> tuple[str, ...]:
        """The names of the arguments that are no state; what holds no leaf, as sgd's state, is neither."""
        import jax  # noqa: PLC0415 (the finding and the errors below work without)

        given = zip(self.names[1:], self.args, strict=False)
        return tuple(name for name, value in given if name not in self.parts and jax.tree.leaves(value))


def build(found: Any, target: str, params: Any) -> Traced:
    """Calls the target, unless it is a transformation itself, and makes sense of what it returns.

    Raises:
        UsageError: it needs arguments, or it returned something else.
        JaxdoctorError: whatever the call raised, as an error of ours.
    """
    # A function with `params` as its only argument is called with those that were given.
    if is_transform(found):
        return of_transform(found, params)
    if not callable(found):
        raise UsageError(f"{target} is {_kind(found)}", hint=f"name {SHAPES}")
    needed = _required(found)
    takes_params = needed == ["params"] and params is not None
    if needed and not takes_params:
        raise UsageError(
            f"{target} needs {'an argument' if len(needed) == 1 else 'arguments'}: {', '.join(needed)}",
            hint=f"wrap it: def target(): return {getattr(found, '__name__', 'it')}(...)",
        )
    made = found(params) if takes_params else found()
    if is_transform(made):
        return of_transform(made, params)
    if params is not None and not takes_params:
        raise UsageError(
            f"{target} does not use --params",
            hint="leave it out, or let the function take them: def target(params): ...",
        )
    if isinstance(made, tuple) and len(made) > 1 and callable(made[0]):
        return Traced(update=made[0], state=made[1], args=tuple(made[2:]))
    raise UsageError(f"{target} returned {_kind(made)}", hint=f"give {SHAPES}")


def is_transform(found: Any) -> bool:
    """Whether it is shaped like optax's `GradientTransformation`."""
    if inspect.isclass(found):
        return False
    return callable(getattr(found, "init", None)) and callable(getattr(found, "update", None))


def of_transform(transform: Any, params: Any) -> Traced:
    """One step of a gradient transformation, whose gradients have the parameters' types."""
    if params is None:
        raise UsageError(
            "a gradient transformation needs parameters to be checked against",
            hint="give --params 'w=float32[128,64],b=float32[64]', a checkpoint, or module:object",
        )

    def update(state: Any, updates: Any, params: Any) -> tuple[Any, Any]:
        new_updates, new_state = _called(transform.update, updates, state, params)
        return new_state, new_updates

    return Traced(update=update, state=transform.init(params), args=(params, params), params=params, index=0)


EXTRAS = ((), ("value", "grad", "value_fn"), ("value", "grad", "value_fn", "obj_fn"))
"""The extra arguments that optax's own transforms ask for by name, tried in this order.

A chain does not say what it needs, and a line search refuses what it does not know.
"""


def _called(update: Callable[..., Any], updates: Any, state: Any, params: Any) -> Any:
    failures: list[Exception] = []
    for names in EXTRAS:
        extra = {name: value for name, value in _extra(updates).items() if name in names}
        try:
            return update(updates, state, params, **extra)
        except Exception as error:  # noqa: BLE001 (the most telling of them is raised below)
            failures.append(error)
    named = [error for error in failures if "keyword" not in str(error)]
    raise (named or failures)[-1]


def _extra(updates: Any) -> dict[str, Any]:
    """A value of the loss, its gradient, and the loss itself."""
    import jax  # noqa: PLC0415 (the finding and the errors above work without)
    import jax.numpy as jnp  # noqa: PLC0415

    def loss(params: Any, *_: Any, **__: Any) -> Any:
        squares = [jnp.vdot(leaf, leaf).real for leaf in jax.tree.leaves(params)]
        return functools.reduce(operator.add, squares) if squares else jnp.float32(0)

    return {"value": loss(updates), "grad": updates, "value_fn": loss, "obj_fn": loss}


def _required(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.default is each.empty and each.kind not in variadic]


def _kind(value: Any) -> str:
    if inspect.ismodule(value):
        return f"the module {value.__name__}"
    if isinstance(value, tuple):
        return f"a tuple of {', '.join(type(each).__name__ for each in value) or 'nothing'}"
    return "None" if value is None else f"a value of type {type(value).__name__}"
