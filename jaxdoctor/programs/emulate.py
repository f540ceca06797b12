"""A program whose matrix products are rounded to a number of bits that is known only when it runs.

The program's jaxpr is rewritten, not the code: operands of the products that a GPU would run on its matrix
units are rounded, everything else is bound again as it stood. So one compiled program answers every width.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core

from jaxdoctor.programs.authors import place_of
from jaxdoctor.programs.products import Site, is_float32_product, is_matrix_product, names_a_precision
from jaxdoctor.programs.rounding import STORED_BITS, round_mantissa

Values = Sequence[Any]

FULL = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)

CALLS = {
    # What runs when no derivative is taken, by primitive.
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "core_closed_call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}
"""Equations that only call: their jaxpr is run in their place."""

CONTROL = ("scan", "while", "cond", "custom_linear_solve")
"""Equations whose bodies are rewritten where they stand."""


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
        return self.widths(STORED_BITS)


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

    return Program(sites=tuple(rewriting.sites), unreached=tuple(rewriting.unreached), call=call)


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
                for inner in _bodies(eqn):
                    holds |= self._collect(inner)
            else:
                self.unreached += [place for inner in _bodies(eqn) for place in self._places(inner)]
        self._holding[id(jaxpr)] = holds
        return holds

    def _places(self, jaxpr: core.Jaxpr) -> Iterator[str]:
        for eqn in jaxpr.eqns:
            if self._chosen(eqn):
                yield place_of(eqn)
            for inner in _bodies(eqn):
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
        if not _opened(eqn) or not any(self._holding[id(inner)] for inner in _bodies(eqn)):
            return _bind(eqn, values)
        name = eqn.primitive.name
        if name in CALLS:
            return self._inner(eqn.params[CALLS[name]], values, widths)
        return self._control[name](eqn, values, widths)

    def _product(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Any:
        index = self._index[_site(eqn)]
        bits, toward_zero = widths.bits[index], widths.toward_zero[index]
        rounded = [round_mantissa(value, bits, toward_zero) for value in values]
        primitive: Any = eqn.primitive
        # What was rounded is multiplied exactly, also where this runs on matrix units itself.
        return primitive.bind(*rounded, **{**eqn.params, "precision": FULL})

    def _inner(self, jaxpr: Any, values: Values, widths: Widths) -> list[Any]:
        """Runs a jaxpr, closed or open."""
        if isinstance(jaxpr, core.ClosedJaxpr):
            return self.run(jaxpr.jaxpr, jaxpr.consts, values, widths)
        return self.run(jaxpr, (), values, widths)

    def _scan(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        params = eqn.params
        consts, carry, xs = _split(values, params["num_consts"], params["num_carry"])

        def body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
            outputs = self._inner(params["jaxpr"], [*consts, *carry, *x], widths)
            return outputs[: len(carry)], outputs[len(carry) :]

        last, ys = jax.lax.scan(
            body, carry, xs, length=params["length"], reverse=params["reverse"], unroll=params["unroll"]
        )
        return [*last, *ys]

    def _while(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        """Bound as it stood and not written anew: only the primitive takes a predicate for each replay."""
        params = eqn.params
        of_cond, of_body, carry = _split(values, params["cond_nconsts"], params["body_nconsts"])
        primitive: Any = eqn.primitive
        outputs: Values = primitive.bind(
            *widths,
            *of_cond,
            *widths,
            *of_body,
            *carry,
            **{
                **params,
                "cond_jaxpr": self._with_widths(params["cond_jaxpr"], widths),
                "cond_nconsts": len(widths) + len(of_cond),
                "body_jaxpr": self._with_widths(params["body_jaxpr"], widths),
                "body_nconsts": len(widths) + len(of_body),
            },
        )
        return outputs

    def _with_widths(self, closed: core.ClosedJaxpr, widths: Widths) -> core.ClosedJaxpr:
        """The jaxpr rewritten, with the widths before its other inputs."""

        def run(bits: jax.Array, toward_zero: jax.Array, *inputs: Any) -> list[Any]:
            return self._inner(closed, inputs, Widths(bits, toward_zero))

        struct: Any = jax.ShapeDtypeStruct
        shapes = [struct(value.shape, value.dtype) for value in widths]
        rewritten: core.ClosedJaxpr = jax.make_jaxpr(run)(*shapes, *closed.in_avals)
        return rewritten

    def _cond(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        index, *operands = values
        branches = [
            functools.partial(lambda branch, *inputs: self._inner(branch, inputs, widths), branch)
            for branch in eqn.params["branches"]
        ]
        outputs: Values = jax.lax.switch(index, branches, *operands)
        return outputs

    def _linear_solve(self, eqn: core.JaxprEqn, values: Values, widths: Widths) -> Values:
        *lengths, _ = eqn.params["const_lengths"]
        start = sum(lengths[:2])
        consts, right_sides = values[start : start + lengths[2]], values[sum(eqn.params["const_lengths"]) :]
        return self._inner(eqn.params["jaxprs"].solve, [*consts, *right_sides], widths)


def _site(eqn: core.JaxprEqn) -> Site:
    return Site(place=place_of(eqn), explicit=names_a_precision(eqn))


def _opened(eqn: core.JaxprEqn) -> bool:
    return eqn.primitive.name in CALLS or eqn.primitive.name in CONTROL


def _bodies(eqn: core.JaxprEqn) -> Iterator[core.Jaxpr]:
    """The jaxprs that an equation runs when no derivative is taken."""
    name = eqn.primitive.name
    if name == "custom_linear_solve":
        yield eqn.params["jaxprs"].solve.jaxpr
        return
    params = [eqn.params[CALLS[name]]] if name in CALLS else list(eqn.params.values())
    for param in params:
        for value in param if isinstance(param, tuple | list) else (param,):
            if isinstance(value, core.ClosedJaxpr):
                yield value.jaxpr
            elif isinstance(value, core.Jaxpr):
                yield value


def _bind(eqn: core.JaxprEqn, values: Values) -> Values:
    """The equation as it stood."""
    primitive: Any = eqn.primitive
    bound = primitive.get_bind_params(eqn.params)
    # Before jax 0.10 the functions of custom derivatives came beside the parameters.
    functions, params = bound if isinstance(bound, tuple) else ((), bound)
    with eqn.ctx.manager:
        outputs = primitive.bind(*functions, *values, **params)
    return outputs if primitive.multiple_results else [outputs]


def _read(known: dict[core.Var, Any], atom: Any) -> Any:
    return atom.val if isinstance(atom, core.Literal) else known[atom]


def _split(values: Values, first: int, second: int) -> tuple[list[Any], list[Any], list[Any]]:
    return list(values[:first]), list(values[first : first + second]), list(values[first + second :])
