"""Whether a step computes in float64 where JAX is told to, or its author has fixed something narrower.

`jax_enable_x64` changes what arrays are that were given no dtype: `jnp.zeros(3, jnp.float32)` stays float32,
and so does what is computed from it. A replay of such a step is one of float32, whatever it is called.
https://docs.jax.dev/en/latest/default_dtypes.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.errors import NothingExaminedError
from jaxdoctor.programs.authors import shorten
from jaxdoctor.programs.graph import Graph, Op, Value
from jaxdoctor.replay.closed_loop import ACTION, NEXT, STATE
from jaxdoctor.replay.fields import leaf_names, picked, replaced
from jaxdoctor.replay.system import Simulation

FLOAT64 = "float64"
NARROWER = ("float32", "bfloat16", "float16")

MOVES = {
    "broadcast_in_dim", "carry", "concatenate", "cond", "convert_element_type", "copy", "dynamic_slice",
    "dynamic_update_slice", "expand_dims", "gather", "pad", "reshape", "rev", "scatter", "select_n", "slice",
    "squeeze", "stop_gradient", "transpose",
}  # fmt: skip
"""Operations that hand numbers on and compute none."""

LISTED = 3
"""So many leaves are named."""

WAY_OUT = "make arrays with jnp.asarray(value) and no dtype, so that x64 makes float64 of them"


def insist_on_float64(simulation: Simulation, after: Any, *, steps: int) -> None:
    """Looks for what is narrower, with x64 on.

    MJX and Brax are taken at their word, and only the state that they hand on is looked at: to trace their
    steps once more takes seconds. Of others one step is traced, without the policy, whose layers may be of
    any dtype.

    Args:
        simulation: as it was loaded with x64.
        after: the state after a step, as arrays or their shapes.
        steps: how many are replayed. Where it is one, no state is handed on.

    Raises:
        NothingExaminedError: the state that is handed on is not float64, or most of what is computed is not.
    """
    if simulation.follows_x64:
        program, state = None, list(simulation.state)
        kinds = {name: str(leaf.dtype) for name, leaf in picked(after, state).items()}
    else:
        program = _Program(simulation)
        state = program.state()
        kinds = {name: program.after[name].dtype for name in state}
    if steps > 1 and (fixed := [name for name in state if kinds[name] in NARROWER]):
        more = len(fixed) - LISTED
        names = ", ".join(fixed[:LISTED]) + (f" and {more} more" if more > 0 else "")
        raise NothingExaminedError(f"with x64 the step fixes {kinds[fixed[0]]} in {names}", hint=WAY_OUT)
    if program is not None and (op := program.narrow()) is not None:
        raise NothingExaminedError(
            f"with x64 most of the step is still computed in {op.outputs[0].dtype}{_first_at(op)}",
            hint=WAY_OUT,
        )


class _Program:
    """One step, and what each leaf of the state is before and after it."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        state, closed, after = _traced(simulation)
        self.graph = Graph(closed)
        skipped = len(jax.tree.leaves(simulation.parameters)) if simulation.driven is None else 0
        self.before: Mapping[str, Value] = dict(
            zip(leaf_names(state), self.graph.inputs[skipped:], strict=False)
        )
        self.after: Mapping[str, Value] = dict(zip(leaf_names(after), self.graph.outputs, strict=True))

    def state(self) -> list[str]:
        """The leaves that are integrated. An environment with physics of its own does not say which."""
        if not self.simulation.coordinates.startswith(NEXT):
            return list(self.simulation.state)
        return [name for name in self.after if self._is_state(name)]

    def _is_state(self, name: str) -> bool:
        """Whether the leaf is computed from the state, and others from it.

        A counter of steps, a reward or what is seen may have any dtype.
        """
        if not name.startswith(STATE) or name not in self.before or _counts(self.after[name]):
            return False
        state = {id(value) for leaf, value in self.before.items() if leaf.startswith(STATE)}
        computed = {value for value, by_arithmetic in _sources(self.after[name]).items() if by_arithmetic}
        own = id(self.before[name])
        others = (value for leaf, value in self.after.items() if leaf != name and _is_floating(value))
        return bool(computed & state) and any(own in _sources(value) for value in others)

    def narrow(self) -> Op | None:
        """The first operation that is not of float64, where those are the most; else None."""
        computed = [op for op in self.graph.ops if op.primitive not in MOVES and _is_floating(op.outputs[0])]
        dtypes = Counter(op.outputs[0].dtype for op in computed)
        if 2 * dtypes[FLOAT64] >= len(computed):
            return None
        return next(op for op in computed if op.outputs[0].dtype in NARROWER)


def _traced(simulation: Simulation) -> tuple[Any, Any, Any]:
    """The state before a step, in the dtypes that a step gives it, the traced step, and the state after."""
    state = simulation.blank
    for _ in range(2):
        closed, after = _trace(simulation, state)
        dtypes = {
            name: leaf.dtype for name, leaf in zip(leaf_names(after), jax.tree.leaves(after), strict=True)
        }
        named = dict(zip(leaf_names(state), jax.tree.leaves(state), strict=True))
        # The first state has the dtypes of the reset, which need not be those of a step.
        other = {name: leaf for name, leaf in named.items() if dtypes.get(name, leaf.dtype) != leaf.dtype}
        if not other:
            break
        state = replaced(state, {name: leaf.astype(dtypes[name]) for name, leaf in other.items()})
    return state, closed, after


def _trace(simulation: Simulation, state: Any) -> tuple[Any, Any]:
    driven = simulation.driven
    if driven is None:
        control = jnp.zeros(simulation.controls)
        return jax.make_jaxpr(simulation.step, return_shape=True)(simulation.parameters, state, control)
    return jax.make_jaxpr(driven.advance, return_shape=True)(state, state[ACTION])


def _sources(output: Value) -> dict[int, bool]:
    """The floating inputs that the output follows from, by their ids, and whether by arithmetic."""
    found: dict[int, bool] = {}
    seen: set[tuple[int, bool]] = set()
    waiting = [(output, False)]
    while waiting:
        value, computed = waiting.pop()
        if (id(value), computed) in seen or not _is_floating(value):
            continue
        seen.add((id(value), computed))
        if value.made is None:
            found[id(value)] = found.get(id(value), False) or computed
        else:
            computed = computed or value.made.primitive not in MOVES
            waiting += [(each, computed) for each in value.made.inputs]
        waiting += [(each, computed) for each in value.feedback]
    return found


def _counts(value: Value) -> bool:
    """Whether a number that stands in the program is added to something."""
    made = value.made
    return (
        made is not None and made.primitive == "add" and any(each.literal is not None for each in made.inputs)
    )


def _is_floating(value: Value) -> bool:
    return value.dtype == FLOAT64 or value.dtype in NARROWER


def _first_at(op: Op) -> str:
    frame = next(iter(op.frames), None)
    return "" if frame is None else f", from {shorten(frame.file_name)}:{frame.line_num} on"
