"""Whether an environment's step begins a new episode by itself, told from its program.

Where `done`, such a step takes what a reset gives for its state: a value that the state before and the action
do not reach. https://github.com/RobertTLange/gymnax/blob/main/gymnax/environments/environment.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.programs.graph import Graph, Value
from jaxdoctor.rollouts.environments import Environment

PASSING = {"convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "copy", "copy_p", "carry"}
"""Operations that hand a value on."""

ASKING = {"gt", "ge", "lt", "le", "ne", "eq"}
"""Operations that make a truth of a number: `done > 0.5`."""


def resets_itself(environment: Environment) -> bool:
    """Whether all that a step computes of the physics may be a reset's, where the episode is done.

    The physics is the part of the state under `Environment.physics`; what a policy sees, where there is no
    such part.
    """
    struct: Any = jax.ShapeDtypeStruct
    state = jax.eval_shape(environment.reset, struct((2,), jnp.uint32))
    discrete = environment.discrete
    action = struct(() if discrete else (environment.action_size,), jnp.int32 if discrete else jnp.float32)

    def step(state: Any, action: Any) -> Any:
        after = environment.step(state, action)
        return _judged(environment, after), environment.done(after)

    closed, (judged, _) = jax.make_jaxpr(step, return_shape=True)(state, action)
    graph = Graph(closed)
    *computed, done = graph.outputs
    whole = state if not environment.physics else _judged(environment, state)
    own = {id(leaf) for leaf in jax.tree.leaves(whole) if _is_floating(leaf)}
    inputs = [*jax.tree.leaves(state), action]
    moving = [value for value, leaf in zip(graph.inputs, inputs, strict=True) if id(leaf) in own]
    sources = _Sources([*moving, graph.inputs[-1]])
    leaves = [
        value
        for value, leaf in zip(computed, jax.tree.leaves(judged), strict=True)
        if _is_floating(leaf) and value.argument is None
    ]
    return bool(leaves) and all(_may_be_fresh(leaf, done, sources) for leaf in leaves)


def _judged(environment: Environment, state: Any) -> Any:
    if not environment.physics:
        return environment.observation(state)
    return state[environment.physics] if isinstance(state, dict) else getattr(state, environment.physics)


def _is_floating(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))


class _Sources:
    """What the values of a graph come from."""

    def __init__(self, sources: Sequence[Value]) -> None:
        self._sources = {id(value) for value in sources}
        self._free: set[int] = set()

    def reach(self, value: Value) -> bool:
        """Whether anything of the sources is in a value."""
        seen, waiting = {id(value)}, [value]
        while waiting:
            each = waiting.pop()
            if id(each) in self._sources:
                return True
            for before in (*(each.made.inputs if each.made else ()), *each.feedback):
                if id(before) not in seen and id(before) not in self._free:
                    seen.add(id(before))
                    waiting.append(before)
        self._free |= seen
        return False


def _may_be_fresh(value: Value, done: Value, sources: _Sources) -> bool:
    """Whether it is chosen, by `done`, between what was computed and what the sources do not reach."""
    for question, cases in _choices(value):
        fresh = [case for case in cases if not sources.reach(case) and not _is_nan(case)]
        asked = question is None or _asked(question) is _asked(done)
        if asked and fresh and len(fresh) < len(cases):
            return True
    return False


def _choices(value: Value) -> Iterator[tuple[Value | None, Sequence[Value]]]:
    """Where a value was chosen: by what, and among which; of a `cond` by what is not known."""
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if each.made is None or id(each) in seen:
            continue
        seen.add(id(each))
        inputs = each.made.inputs
        match each.made.primitive:
            case "select_n":
                yield inputs[0], inputs[1:]
                waiting += inputs[1:]
            case "cond":
                yield None, inputs
                waiting += inputs
            case name if name in PASSING:
                waiting += inputs[:1]


def _is_nan(value: Value) -> bool:
    """Whether it is a NaN that is written in the program: no reset gives it."""
    literal = _bare(value).literal
    return literal is not None and bool(np.isnan(literal).any())


def _asked(value: Value) -> Value:
    """The truth that a number or an array of it was made of."""
    while value.made is not None:
        inputs = value.made.inputs
        name = value.made.primitive
        of_literals = name == "select_n" and all(case.literal is not None for case in map(_bare, inputs[1:]))
        if name not in PASSING | ASKING and not of_literals:
            break
        value = inputs[0]
    return value


def _bare(value: Value) -> Value:
    """What was handed on to be it."""
    while value.made is not None and value.made.primitive in PASSING:
        value = value.made.inputs[0]
    return value
