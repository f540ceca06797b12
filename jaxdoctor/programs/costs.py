"""What the products of a traced program cost, in floating-point operations."""

from __future__ import annotations

from collections.abc import Callable

from jax.extend import core

from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.products import is_product, product_flops


class Costs:
    """The operations of a program's products, by the name that each is given.

    A scan counts as often as it runs, a choice as its dearest branch, and a loop whose length is not known
    before it runs as once, which is the least that it does.
    """

    def __init__(self, name: Callable[[core.JaxprEqn], str]) -> None:
        self._name = name
        self._known: dict[int, tuple[core.Jaxpr, dict[str, float]]] = {}

    def of(self, jaxpr: core.Jaxpr) -> dict[str, float]:
        """Operations by name."""
        if id(jaxpr) not in self._known:
            found: dict[str, float] = {}
            for eqn in jaxpr.eqns:
                _add(found, self._equation(eqn))
            # Kept with the program, whose id must not be given to another one.
            self._known[id(jaxpr)] = (jaxpr, found)
        return self._known[id(jaxpr)][1]

    def _equation(self, eqn: core.JaxprEqn) -> dict[str, float]:
        if is_product(eqn):
            return {self._name(eqn): product_flops(eqn)}
        inner = [self.of(each) for each in jax_internals.run_jaxprs(eqn)]
        if inner and eqn.primitive.name == "cond":
            return max(inner, key=lambda branch: sum(branch.values()))
        times = jax_internals.scan(eqn).length if eqn.primitive.name == "scan" else 1
        found: dict[str, float] = {}
        for each in inner:
            _add(found, each, times)
        return found


def _add(to: dict[str, float], more: dict[str, float], times: int = 1) -> None:
    for name, flops in more.items():
        to[name] = to.get(name, 0.0) + times * flops
