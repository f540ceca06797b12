"""The gradients that a program takes, by the names that JAX gives to the equations of a backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jaxdoctor.facts.signature import SourceLine
from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.graph import Graph
from jaxdoctor.updates.trace.places import users_line

HALF = "float16"

LEAST_SCALE = 8.0
"""A constant in a backward pass from which on it is a loss scale; a mean's is below 1, a square's is 2."""


def takes_gradient(graph: Graph) -> bool:
    """Whether any operation belongs to a backward pass."""
    return any(op.backward for op in graph.ops)


def unscaled_half(graph: Graph, jaxpr: Any) -> SourceLine | None:
    """Where a float16 gradient arises, if the program neither scales its loss nor tests for finite values."""
    half = [
        op for op in graph.ops if op.backward and any(out.dtype == HALF and out.shape for out in op.outputs)
    ]
    if not half or any(op.primitive == "is_finite" for op in graph.ops):
        return None
    if _is_scaled(graph) or any(_is_large(number) for number in _constants(jaxpr)):
        return None
    return next(
        (site for site in (users_line(op, HALF, HALF) for op in half) if site.file),
        users_line(half[0], HALF, HALF),
    )


def _is_scaled(graph: Graph) -> bool:
    """Whether a scalar of the state or the arguments reaches the backward pass."""
    scalars = [
        value for value in graph.inputs if value.shape == () and value.dtype.startswith(("float", "bfloat"))
    ]
    seen, waiting = {id(value) for value in scalars}, list(scalars)
    while waiting:
        for op in graph.users.get(id(waiting.pop()), ()):
            if op.backward:
                return True
            for output in op.outputs:
                if id(output) not in seen and output.shape == ():
                    seen.add(id(output))
                    waiting.append(output)
    return False


def _is_large(number: Any) -> bool:
    try:
        return abs(float(number)) >= LEAST_SCALE
    except (TypeError, ValueError):
        return False


def _constants(jaxpr: Any, *, inside: bool = False) -> Iterator[Any]:
    """The numbers that the backward pass multiplies by."""
    for eqn in jaxpr.eqns:
        within = inside or jax_internals.is_backward(eqn)
        if within and eqn.primitive.name == "mul":
            yield from (each.val for each in eqn.invars if jax_internals.is_literal(each))
        for inner in jax_internals.inner_jaxprs(eqn):
            yield from _constants(inner, inside=within)
