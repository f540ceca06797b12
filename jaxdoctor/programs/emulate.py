"""A program whose matrix products are rounded to a number of bits that is known only when it runs.

The program's jaxpr is rewritten, not the code: operands of the products that a GPU would run on its matrix
units are rounded, everything else is bound again as it stood. So one compiled program answers every width.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core

from jaxdoctor.facts.precision import F32
from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.authors import place_of
from jaxdoctor.programs.costs import Costs
from jaxdoctor.programs.jax_internals import (
    CALLED,
    LOOPS_AND_CHOICES,
    PER_DEVICE,
    ClosedJaxpr,
    Values,
    While,
)
from jaxdoctor.programs.products import Site, is_float32_product, is_matrix_product, names_a_precision
from jaxdoctor.programs.rounding import round_mantissa

FULL = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)


class Widths(NamedTuple):
    """How the operands of each site are rounded: arrays as long as the program's `sites`."""

    bits: jax.Array
    toward_zero: jax.Array


@dataclass(frozen=True, kw_only=True)
class Program:
    """A traced function that takes the widths of its products as its first argument."""

    sites: tuple[Site, ...]
    """Every line whose products are rounded, in program order."""

    unreached: tuple[str, ...]
    """Places of matrix products inside primitives that this module does not open."""

    call: Callable[..., Any]
    """`call(widths, *arguments)`: the function's own result at those widths."""

    returns: Any = None
    """The shapes and dtypes of the function's result; None: it was not traced."""

    shares: tuple[float, ...] = ()
    """Each site's part of the floating-point operations of all products, from 0 to 1."""

    def widths(self, bits: int, *, toward_zero: bool = False, explicit_bits: int | None = None) -> Widths:
        """The same width everywhere, or another where a site names a precision of its own."""
        by_site = [
            explicit_bits if site.explicit and explicit_bits is not None else bits for site in self.sites
        ]
        return Widths(
            jnp.asarray(by_site, jnp.int32).reshape(len(self.sites)),
            jnp.full(len(self.sites), toward_zero),
        )

    def untouched(self) -> Widths:
        """All 23 bits everywhere: the function as it was."""
        return self.widths(F32.mantissa_bits)


def emulate(function: Callable[..., Any], *arguments: Any, all_products: bool = False) -> Program:
    """Traces `function` as it would be for these arguments, or their shapes, and rewrites its products.

    Trace the function as it runs: vmapped, when it runs vmapped, because batching decides which products
    are matrix products.

    Args:
        function: any traceable function of pytrees.
        arguments: arrays or `jax.ShapeDtypeStruct`.
        all_products: round also vector products and small ones, which a GPU computes in float32.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
    structure = jax.tree.structure(shapes)
    rewriting = _Rewriting(is_float32_product if all_products else is_matrix_product, closed.jaxpr)

    def call(widths: Widths, *values: Any) -> Any:
        outputs = rewriting.run(closed.jaxpr, closed.consts, jax.tree.leaves(values), widths)
        return jax.tree.unflatten(structure, outputs)

    flops = Costs(place_of).of(closed.jaxpr)
    return Program(
        sites=tuple(rewriting.sites),
        unreached=tuple(rewriting.unreached),
        call=call,
        returns=shapes,
        shares=tuple(flops[site.place] / sum(flops.values()) for site in rewriting.sites),
    )


class _Rewriting:
    """One traced program: which of its equations are rounded, and how it is run so."""

    def __init__(self, chosen: Callable[[core.JaxprEqn], bool], jaxpr: core.Jaxpr) -> None:
        self._chosen = chosen
        self._holding: dict[int, bool] = {}
        self.sites: list[Site] = []
        self.unreached: list[str] = []
        self._collect(jaxpr)
        self._index = {site: index for index, site in enumerate(self.sites)}
        self._control = {
            "scan": self._scan,
            "while": self._while,
            "cond": self._cond,
            "custom_linear_solve": self._linear_solve,
        }

    def _collect(self, jaxpr: core.Jaxpr) -> bool:
        """Notes every site in program order; whether the jaxpr holds one that can be reached."""
        if id(jaxpr) in self._holding:
            return self._holding[id(jaxpr)]
        holds = False
        for eqn in jaxpr.eqns:
            if self._chosen(eqn):
                site = _site(eqn)
                if site not in self.sites:
                    self.sites.append(site)
                holds = True
            elif _opened(eqn):
                for inner in jax_internals.run_jaxprs(eqn):
                    holds |= self._collect(inner)
            else:
                self.unreached += [
                    place for inner in jax_internals.run_jaxprs(eqn) for place in self._places(inner)
                ]
        self._holding[id(jaxpr)] = holds
        return holds

    def _places(self, jaxpr: core.Jaxpr) -> Iterator[str]:
        for eqn in jaxpr.eqns:
            if self._chosen(eqn):
                yield place_of(eqn)
            for inner in jax_internals.run_jaxprs(eqn):
                yield from self._places(inner)

    def run(self, jaxpr: core.Jaxpr, consts: Values, values: Values, widths: Widths) -> list[Any]:
        """The jaxpr's outputs, with its sites rounded."""
        known: dict[core.Var, Any] = {}
        read = functools.partial(_read, known)
        known.update(zip(jaxpr.constvars, consts, strict=True))
        known.update(zip(jaxpr.invars, values, strict=True))
        for eqn in jaxpr.eqns:
            outputs = self._equation(eqn, [read(atom) for atom in eqn.invars], widths)
            known.update(zip(eqn.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        if self._chosen(eqn):
            return [self._product(eqn, values, widths)]
        held = _opened(eqn) and any(self._holding[id(inner)] for inner in jax_internals.run_jaxprs(eqn))
        if not held:
            return jax_internals.bind(eqn, values)
        if (call := jax_internals.called(eqn)) is not None:
            return self.run(*call, values, widths)
        return self._control[eqn.primitive.name](eqn, values, widths)

    def _product(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Any:
        index = self._index[_site(eqn)]
        bits, toward_zero = widths.bits[index], widths.toward_zero[index]
        rounded = [round_mantissa(value, bits, toward_zero) for value in values]
        primitive: Any = eqn.primitive
        # What was rounded is multiplied exactly, also where this runs on matrix units itself.
        return primitive.bind(*rounded, **{**eqn.params, "precision": FULL})

    def _closed(self, program: ClosedJaxpr, values: Values, widths: Widths) -> list[Any]:
        return self.run(program.jaxpr, program.consts, values, widths)

    def _scan(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        scan = jax_internals.scan(eqn)
        consts, carry, xs = _split(values, scan.constants, scan.carries)

        def body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
            outputs = self._closed(scan.body, [*consts, *carry, *x], widths)
            return outputs[: len(carry)], outputs[len(carry) :]

        last, ys = jax.lax.scan(body, carry, xs, length=scan.length, reverse=scan.reverse, unroll=scan.unroll)
        return [*last, *ys]

    def _while(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        """Bound as it stood and not written anew: only the primitive takes a predicate for each replay."""
        loop = jax_internals.while_loop(eqn)
        of_condition, of_body, carry = _split(values, loop.condition_constants, loop.body_constants)
        rewritten = While(
            condition=self._with_widths(loop.condition, widths),
            condition_constants=len(widths) + loop.condition_constants,
            body=self._with_widths(loop.body, widths),
            body_constants=len(widths) + loop.body_constants,
        )
        inputs = [*widths, *of_condition, *widths, *of_body, *carry]
        return jax_internals.bind_while(eqn, rewritten, inputs)

    def _with_widths(self, closed: ClosedJaxpr, widths: Widths) -> ClosedJaxpr:
        """The jaxpr rewritten, with the widths before its other inputs."""

        def run(bits: jax.Array, toward_zero: jax.Array, *inputs: Any) -> list[Any]:
            return self._closed(closed, inputs, Widths(bits, toward_zero))

        struct: Any = jax.ShapeDtypeStruct
        shapes = [struct(value.shape, value.dtype) for value in widths]
        rewritten: ClosedJaxpr = jax.make_jaxpr(run)(*shapes, *closed.in_avals)
        return rewritten

    def _cond(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        index, *operands = values
        branches = [
            functools.partial(lambda branch, *inputs: self._closed(branch, inputs, widths), branch)
            for branch in jax_internals.branches(eqn)
        ]
        outputs: Values = jax.lax.switch(index, branches, *operands)
        return outputs

    def _linear_solve(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        parts = jax_internals.linear_solve(eqn)
        return self._closed(parts.solve, [*values[parts.constants], *values[parts.right_sides]], widths)


def _site(eqn: core.JaxprEqn) -> Site:
    return Site(place=place_of(eqn), explicit=names_a_precision(eqn))


def _opened(eqn: core.JaxprEqn) -> bool:
    """Whether its programs are rewritten: in its place, or where they stand."""
    name = eqn.primitive.name
    return (name in CALLED and name not in PER_DEVICE) or name in LOOPS_AND_CHOICES


def _read(known: dict[core.Var, Any], atom: Any) -> Any:
    return atom.val if jax_internals.is_literal(atom) else known[atom]


def _split(values: Values, first: int, second: int) -> tuple[list[Any], list[Any], list[Any]]:
    return list(values[:first]), list(values[first : first + second]), list(values[first + second :])
