"""Loops and conditions inside an update whose types do not fit: told with their line, and mended to go on."""

from __future__ import annotations

import contextlib
import functools
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.signature import Cure, InnerDrift, LeafSignature, SourceLine
from jaxdoctor.programs.authors import JAX_FOLDERS, shorten
from jaxdoctor.programs.graph import Graph
from jaxdoctor.updates.trace import places
from jaxdoctor.updates.trace.callers import whence
from jaxdoctor.updates.trace.located import located
from jaxdoctor.updates.trace.rounds import settle
from jaxdoctor.updates.trace.target import Traced
from jaxdoctor.updates.trace.tree import abstract, compare, typed

SAYS = ("must have equal types", "must have equal output types", "same dtypes", "identical types")
"""How JAX begins to say that two sides of a loop or of a condition differ."""

LIKELY = ("scan", "while_loop", "fori_loop", "cond", "switch", "select")

MENDED = "tried: the update is traced to its end"

Found = dict[tuple[Any, ...], InnerDrift]


def is_mismatch(error: Exception) -> bool:
    """Whether a loop or a condition inside the update was refused for its types."""
    return isinstance(error, TypeError | ValueError) and any(words in str(error) for words in SAYS)


def mending(subject: Traced, error: Exception) -> Traced:
    """The update with every loop and condition that is refused mended, and what was found in `inner`.

    Args:
        subject: what raised.
        error: what it raised: modules on its way may hold `scan` by a name of their own.
    """
    found: Found = {}
    modules = [frame.f_globals for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = subject.update

    def update(*arguments: Any, **keywords: Any) -> Any:
        with _patched(found, modules):
            return own(*arguments, **keywords)

    return replace(subject, update=update, inner=found)


@contextlib.contextmanager
def _patched(found: Found, modules: Sequence[dict[str, Any]]) -> Iterator[None]:
    """While open, `jax.lax` and the user's modules that hold its functions by name have mended ones."""
    mender = _Mender({name: getattr(jax.lax, name) for name in LIKELY}, found)
    users = [names for names in modules if not str(names.get("__file__", "")).startswith(JAX_FOLDERS)]
    kept = [
        (names, key, value, name)
        for names in (vars(jax.lax), *users)
        for key, value in list(names.items())
        for name, real in mender.real.items()
        if value is real
    ]
    for names, key, _, name in kept:
        names[key] = getattr(mender, name)
    try:
        yield
    finally:
        for names, key, value, _ in kept:
            names[key] = value


class _Mender:
    """JAX's loops and conditions; each that is refused is noted, and called again so that it fits."""

    def __init__(self, real: Mapping[str, Callable[..., Any]], found: Found) -> None:
        self.real, self._found = real, found

    def scan(self, f: Any, init: Any, xs: Any = None, length: int | None = None, **options: Any) -> Any:
        """As `jax.lax.scan`."""
        try:
            return self.real["scan"](f, init, xs, length, **options)
        except (TypeError, ValueError) as error:
            row = jax.tree.map(lambda leaf: typed(leaf, row=True), xs)
            start = self._carried(error, "scan", f, init, (row,))

            def body(carry: Any, row: Any) -> Any:
                new, out = f(carry, row)
                return _like(new, carry), out

            return self.real["scan"](body, start, xs, length, **options)

    def while_loop(self, cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
        """As `jax.lax.while_loop`."""
        try:
            return self.real["while_loop"](cond_fun, body_fun, init_val)
        except (TypeError, ValueError) as error:
            start = self._carried(error, "while_loop", lambda carry: (body_fun(carry), None), init_val, ())
            return self.real["while_loop"](cond_fun, lambda carry: _like(body_fun(carry), carry), start)

    def fori_loop(self, lower: Any, upper: Any, body_fun: Any, init_val: Any, **options: Any) -> Any:
        """As `jax.lax.fori_loop`."""
        try:
            return self.real["fori_loop"](lower, upper, body_fun, init_val, **options)
        except (TypeError, ValueError) as error:

            def once(carry: Any, index: Any) -> Any:
                return body_fun(index, carry), None

            def body(index: Any, carry: Any) -> Any:
                return _like(body_fun(index, carry), carry)

            start = self._carried(error, "fori_loop", once, init_val, (jnp.int32(0),))
            return self.real["fori_loop"](lower, upper, body, start, **options)

    def cond(self, pred: Any, true_fun: Any, false_fun: Any, *operands: Any, **options: Any) -> Any:
        """As `jax.lax.cond`."""
        try:
            return self.real["cond"](pred, true_fun, false_fun, *operands, **options)
        except (TypeError, ValueError) as error:
            branches = _agreed(self._found, error, "cond", [true_fun, false_fun], operands)
            return self.real["cond"](pred, *branches, *operands, **options)

    def switch(self, index: Any, branches: Sequence[Any], *operands: Any, **options: Any) -> Any:
        """As `jax.lax.switch`."""
        try:
            return self.real["switch"](index, branches, *operands, **options)
        except (TypeError, ValueError) as error:
            agreed = _agreed(self._found, error, "switch", list(branches), operands)
            return self.real["switch"](index, agreed, *operands, **options)

    def select(self, pred: Any, on_true: Any, on_false: Any) -> Any:
        """As `jax.lax.select`."""
        try:
            return self.real["select"](pred, on_true, on_false)
        except (TypeError, ValueError) as error:
            agreed = _agreed(self._found, error, "select", [lambda: on_true, lambda: on_false], ())
            return self.real["select"](pred, *(branch() for branch in agreed))

    def _carried(self, error: Exception, kind: str, body: Any, init: Any, args: tuple[Any, ...]) -> Any:
        """Notes what the carry's leaves become in one pass of the body; the carry as the cures begin it."""
        if not is_mismatch(error):
            raise error
        tree = abstract(init)
        course = settle(Traced(update=body, state=tree.rebuild(tree.arrays), args=args, index=0))
        call, made = _call(kind), dict[str, str]()
        for leaf in located(course):
            if not leaf.dtype_changes:
                continue
            if dtype_named(str(leaf.dtype_in)).integral and leaf.dtype_out:
                # A cast to the integer would cut every fraction off.
                made[leaf.path] = leaf.dtype_out
                text = f"make {leaf.path or 'the carry'} with dtype=jnp.{leaf.dtype_out}"
            else:
                text = _cast(leaf, leaf.sites[0] if leaf.sites else call)
            _add(self._found, InnerDrift(kind=kind, call=call, leaf=_cured(leaf, leaf.sites, text)))
        return jax.tree_util.tree_map_with_path(
            lambda keys, leaf: (
                jnp.asarray(leaf, made.get(jax.tree_util.keystr(keys, simple=True, separator="/")))
                if made
                else leaf
            ),
            init,
        )


def _like(new: Any, old: Any) -> Any:
    """The new carry with the dtypes of the old one."""
    return jax.tree.map(lambda one, other: jnp.asarray(one, jnp.asarray(other).dtype), new, old)


def _cast(leaf: LeafSignature, site: SourceLine) -> str:
    return f"at {site.place}, cast the result with .astype(jnp.{leaf.dtype_in})"


def _add(found: Found, drift: InnerDrift) -> None:
    found.setdefault((drift.call.file, drift.call.line, drift.leaf.path), drift)


def _agreed(
    found: Found, error: Exception, kind: str, branches: list[Any], operands: Sequence[Any]
) -> list[Any]:
    """The branches with results of one type each: the one that most of what goes in has, or the wider."""
    if not is_mismatch(error):
        raise error
    outputs = [abstract(jax.eval_shape(branch, *operands)) for branch in branches]
    if len({tree.structure for tree in outputs}) > 1 or len({len(tree.arrays) for tree in outputs}) > 1:
        raise error
    inputs = abstract(operands)
    wanted = [_wanted([tree.arrays[at] for tree in outputs], inputs) for at in range(len(outputs[0].arrays))]
    call = _call(kind)
    for branch, tree in zip(branches, outputs, strict=True):
        _note_branch(found, kind, call, branch, operands, tree, wanted)

    def agreeing(branch: Any) -> Any:
        def run(*values: Any) -> Any:
            leaves, structure = jax.tree.flatten(branch(*values))
            cast = [jnp.asarray(leaf, dtype) for leaf, dtype in zip(leaves, wanted, strict=True)]
            return jax.tree.unflatten(structure, cast)

        return run

    return [agreeing(branch) for branch in branches]


def _wanted(results: Sequence[Any], inputs: Any) -> Any:
    """The dtype of an operand of this shape, where a result has it; or else the narrower float."""
    dtypes = {result.dtype for result in results}
    given = [leaf.dtype for leaf in inputs.arrays if leaf.shape == results[0].shape and leaf.dtype in dtypes]
    if given:
        return given[0]
    if all(jnp.issubdtype(dtype, jnp.floating) for dtype in dtypes):
        # The narrower one is the model's, the wider one a default that nobody wrote: jnp.zeros(3).
        return min(dtypes, key=lambda dtype: dtype.itemsize)
    return functools.reduce(jnp.promote_types, dtypes)


def _note_branch(
    found: Found,
    kind: str,
    call: SourceLine,
    branch: Any,
    operands: Sequence[Any],
    tree: Any,
    wanted: Sequence[Any],
) -> None:
    struct: Any = jax.ShapeDtypeStruct
    made = [struct(leaf.shape, dtype) for leaf, dtype in zip(tree.arrays, wanted, strict=True)]
    graph = Graph(jax.make_jaxpr(lambda *values: jax.tree.leaves(branch(*values)))(*operands))
    for leaf, output in zip(compare(abstract(tree.rebuild(made)), tree), graph.outputs, strict=False):
        if not leaf.dtype_changes:
            continue
        sites = places.of_drift(graph, output, leaf)
        text = _cast(leaf, sites[0] if sites and sites[0].file else call)
        _add(found, InnerDrift(kind=kind, call=call, leaf=_cured(leaf, sites, text)))


def _cured(leaf: LeafSignature, sites: tuple[SourceLine, ...], text: str) -> LeafSignature:
    return replace(leaf, sites=sites, cure=Cure(text=text, tried=MENDED))


def _call(kind: str) -> SourceLine:
    """The line that the loop or the condition is called from."""
    file, line = whence(sys._getframe(3))  # noqa: SLF001 (the only way to the caller)
    return SourceLine(
        file=shorten(file),
        line=line,
        source=linecache.getline(file, line).strip() or None,
        primitive=kind,
        dtype_from="",
        dtype_to="",
    )
