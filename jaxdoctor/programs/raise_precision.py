"""A function with some of its matrix products at HIGHEST, and everything else as it stood."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend import core

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.facts.attribution import FROM
from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.authors import place_of
from jaxdoctor.programs.products import is_product

HIGHEST = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)


@dataclass(frozen=True, kw_only=True)
class Raised:
    """A traced function, rewritten."""

    call: Callable[..., Any]
    """The function of the same arguments."""

    changed: tuple[str, ...]
    """The places of the products that were changed, in program order."""


def raise_precision(function: Callable[..., Any], sites: Iterable[str]) -> Callable[..., Any]:
    """The function with exactly the products of these source lines at `Precision.HIGHEST`.

    Its program is traced for the arguments of each call and rewritten, so it can be jitted, vmapped,
    differentiated, scanned and rematerialised like the function itself. A derivative's products are raised
    with those that they belong to, but for derivative rules written by hand (`jax.custom_vjp`), whose own
    products stay.

    Args:
        function: any traceable function of pytrees. Arguments that are no arrays are static.
        sites: source lines as a probe names them, "mujoco/mjx/_src/support.py:67 (make_m)", or as much of
            them as tells: "support.py:67", "support.py". Of a layer of Flax, Haiku or Equinox either the
            library's line, which is that of all its layers, or the line that calls the layer.

    Raises:
        UnknownNameError: when it is called: a site names no product of the program.
    """
    wanted = tuple(sites)

    @functools.wraps(function)
    def raised(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = jax.tree.flatten((args, kwargs))
        arrays = [index for index, leaf in enumerate(leaves) if _is_array(leaf)]

        def of_arrays(*values: Any) -> Any:
            filled = list(leaves)
            for index, value in zip(arrays, values, strict=True):
                filled[index] = value
            inner_args, inner_kwargs = jax.tree.unflatten(structure, filled)
            return function(*inner_args, **inner_kwargs)

        values = [leaves[index] for index in arrays]
        return raised_program(of_arrays, wanted, *values).call(*values)

    return raised


def raised_program(function: Callable[..., Any], sites: Sequence[str], *arguments: Any) -> Raised:
    """Traces the function for these arguments, or their shapes, and raises the products of the sites.

    Raises:
        UnknownNameError: a site names no product of the program.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
    structure = jax.tree.structure(shapes)
    rewriting = _Raising(sites)
    rewritten = rewriting.closed(closed)
    missing = [site for site in sites if site not in rewriting.met]
    if missing:
        raise UnknownNameError("matrix product", missing[0], sorted(set(rewriting.places)))
    run = core.jaxpr_as_fun(rewritten)

    def call(*values: Any) -> Any:
        return jax.tree.unflatten(structure, run(*jax.tree.leaves(values)))

    return Raised(
        call=call,
        changed=tuple(dict.fromkeys(rewriting.changed)),
    )


class _Raising:
    """Programs rewritten as data: equations with other parameters, in the same order."""

    def __init__(self, sites: Sequence[str]) -> None:
        self._sites = sites
        self._seen: dict[int, Any] = {}
        self.met: set[str] = set()
        self.places: list[str] = []
        self.changed: list[str] = []

    def closed(self, program: Any) -> Any:
        """The program, or itself where nothing in it is changed."""
        if id(program) not in self._seen:
            # Kept with its original, whose id must not be given to another one.
            self._seen[id(program)] = (program, self._rewritten(program))
        return self._seen[id(program)][1]

    def _rewritten(self, program: Any) -> Any:
        inner, _ = jax_internals.opened(program)
        eqns = [self._equation(eqn) for eqn in inner.eqns]
        if all(new is old for new, old in zip(eqns, inner.eqns, strict=True)):
            return program
        return jax_internals.with_equations(program, eqns)

    def _equation(self, eqn: core.JaxprEqn) -> core.JaxprEqn:
        if is_product(eqn):
            return self._product(eqn)
        params = {name: self._parameter(value) for name, value in eqn.params.items()}
        if all(params[name] is value for name, value in eqn.params.items()):
            return eqn
        return _with(eqn, params)

    def _parameter(self, value: Any) -> Any:
        if jax_internals.is_program(value):
            return self.closed(value)
        if isinstance(value, (tuple, list)) and any(jax_internals.is_program(each) for each in value):
            rewritten = [self._parameter(each) for each in value]
            if all(new is old for new, old in zip(rewritten, value, strict=True)):
                return value
            return type(value)(*rewritten) if hasattr(value, "_fields") else type(value)(rewritten)
        return value

    def _product(self, eqn: core.JaxprEqn) -> core.JaxprEqn:
        place = place_of(eqn)
        self.places.append(place)
        named = [site for site in self._sites if names(site, place)]
        if not named:
            return eqn
        self.met.update(named)
        self.changed.append(place)
        return _with(eqn, {**eqn.params, "precision": HIGHEST})


def _with(eqn: core.JaxprEqn, params: dict[str, Any]) -> core.JaxprEqn:
    changed: core.JaxprEqn = eqn.replace(params=params)
    return changed


def names(site: str, place: str) -> bool:
    """Whether a site, written whole or in part, means that place: its file, or line, or its caller's."""
    if site == place:
        return True
    location, _, _ = place.partition(" (")
    lines = [location, *location.split(FROM)]
    files = [line.rpartition(":")[0] for line in lines[1:]]
    return any(f"/{whole}".endswith(f"/{site}") for whole in (*lines, *files))


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (int, float, complex, bool)) or hasattr(leaf, "dtype")
