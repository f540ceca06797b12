"""Whether a program takes a gradient, by the names that JAX gives to the equations of a backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jaxdoctor.programs import jax_internals


def takes_gradient(jaxpr: Any) -> bool:
    """Whether any equation belongs to a backward pass."""
    return next(backward(jaxpr), None) is not None


def backward(jaxpr: Any, *, inside: bool = False) -> Iterator[Any]:
    """Every equation of a backward pass, those of inner programs too."""
    for eqn in jaxpr.eqns:
        within = inside or jax_internals.is_backward(eqn)
        if within:
            yield eqn
        for inner in jax_internals.inner_jaxprs(eqn):
            yield from backward(inner, inside=within)
