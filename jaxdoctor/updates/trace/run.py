"""The worker's side of `check-update`: from a target to signatures."""

from __future__ import annotations

import contextlib
import functools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.parameters import Parameter
from jaxdoctor.facts.signature import (
    LaterError,
    LeafSignature,
    Recompile,
    Signature,
    SourceLine,
    UpdateCounter,
)
from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.authors import shorten
from jaxdoctor.programs.graph import Graph
from jaxdoctor.programs.named import find, first_line, raised
from jaxdoctor.updates.trace import places
from jaxdoctor.updates.trace.abstract_values import Meaning, meaning_of
from jaxdoctor.updates.trace.compiles import compiles
from jaxdoctor.updates.trace.counters import counters_of
from jaxdoctor.updates.trace.cures import cured, with_start
from jaxdoctor.updates.trace.decay_cures import with_cures
from jaxdoctor.updates.trace.decays import lost_decays
from jaxdoctor.updates.trace.forms import settled
from jaxdoctor.updates.trace.gradients import takes_gradient, unscaled_half
from jaxdoctor.updates.trace.located import located
from jaxdoctor.updates.trace.rounds import Round, loop_error
from jaxdoctor.updates.trace.statics import is_filter_jit, recompiles
from jaxdoctor.updates.trace.target import Traced, build
from jaxdoctor.updates.trace.transfer import Reading
from jaxdoctor.updates.trace.tree import Static, abstract, compare
from jaxdoctor.updates.trace.weights import params_tree
from jaxdoctor.workers.progress import Progress

PLACE = re.compile(r"raised at (.+):(\d+);")


def trace_target(
    target: str,
    params: str | Sequence[Parameter] | None,
    dtypes: Sequence[str | None],
    *,
    progress: Progress,
) -> list[Signature]:
    """One signature for each dtype of the parameters; None leaves them as they are.

    Raises:
        JaxdoctorError: the target cannot be found, called or traced.
    """
    progress.stage(f"importing {target}")
    found = find(target)
    source = find(params) if isinstance(params, str) else params
    signatures = []
    for dtype in dtypes:
        progress.stage(f"tracing {target}")
        make = functools.partial(_make, found, target, source, dtype)
        signatures.append(replace(sign(make, target), params_dtype=dtype))
    return signatures


def _make(found: Any, target: str, source: Any, dtype: str | None) -> Traced:
    return build(found, target, params_tree(source, dtype))


@dataclass
class Story:
    """What is learnt while the target is built and traced."""

    subject: Traced | None = None
    rounds: tuple[Round, ...] = ()
    settled: int | None = None
    loop_error: str | None = None
    failure: Exception | None = None
    leaves: tuple[LeafSignature, ...] = ()
    recompiles: tuple[Recompile, ...] = ()

    def tell(self, make: Callable[[], Traced]) -> list[Any]:
        """Builds and traces. Returns the arrays whose values, when known, say where counters begin."""
        made = make()
        given = replace(made, filter_jit=made.filter_jit or is_filter_jit(made.update))
        self.subject = given
        course = settled(given)
        self.subject = subject = course.subject
        self.rounds, self.settled, self.failure = course.rounds, course.settled, course.failure
        first = course.rounds[0]
        if first.before.key != first.after.key:
            self.loop_error = loop_error(subject, first, course.pick)
        # Here and not later: what the update closes over may be traced arrays, which live no longer.
        self.recompiles = recompiles(course, given)
        self.leaves = cured(course, tuple(located(course)), is_transform=subject.params is not None)
        return [*_values(subject.state), *first.closed.consts]


def _values(state: Any) -> list[Any]:
    """The state's arrays, with None where only a type was given."""
    tree = abstract(state)
    leaves = jax.tree.leaves(state)
    kept = [leaf for leaf, kind in zip(leaves, tree.leaves, strict=True) if not isinstance(kind, Static)]
    return [getattr(leaf, "value", None) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf for leaf in kept]


def sign(make: Callable[[], Traced], target: str) -> Signature:
    """The signature of what `make` returns.

    `make` itself is traced too, so that no array of the user's state is ever made. Where it needs real
    values, it is called for real.

    Raises:
        JaxdoctorError: it raises, or the update cannot be traced.
    """
    started, before = time.perf_counter(), len(compiles())
    story, meanings = _told(make, target)
    signature = _signature(story, meanings, target)
    if signature.lost_decays:
        signature = replace(signature, lost_decays=with_cures(make, signature.lost_decays))
    compiled = len(compiles()) - before
    return replace(signature, compilations=compiled, seconds=time.perf_counter() - started)


def _told(make: Callable[[], Traced], target: str) -> tuple[Story, list[Meaning]]:
    story = Story()
    with contextlib.suppress(Exception, SystemExit):
        return story, _abstractly(story, make)
    story = Story()
    try:
        arrays = story.tell(make)
    except (Exception, SystemExit) as error:
        doing = f"the update of {target}" if story.subject is not None else target
        raise raised(error, doing) from error
    return story, [meaning_of(array) for array in arrays]


def _abstractly(story: Story, make: Callable[[], Traced]) -> list[Meaning]:
    present: list[bool] = []

    def outer() -> list[Any]:
        arrays = story.tell(make)
        present.extend(array is not None for array in arrays)
        return [array for array in arrays if array is not None]

    closed = jax.make_jaxpr(outer)()
    known = iter(Reading().run(closed.jaxpr, [meaning_of(constant) for constant in closed.consts]))
    return [next(known) if there else None for there in present]


def _signature(story: Story, meanings: Sequence[Meaning], target: str) -> Signature:
    assert story.subject is not None
    first = story.rounds[0]
    graph = Graph(first.closed)
    starts = dict(zip(first.before.array_paths, meanings, strict=False))
    leaves = tuple(with_start(leaf, starts.get(leaf.path)) for leaf in story.leaves)
    results = tuple(_results(story.subject, first, graph))
    stated = [site for leaf in (*leaves, *results) for site in leaf.sites]
    x64 = is_x64()
    inputs = tuple(str(leaf) for leaf in _types(first))
    return Signature(
        target=target,
        leaves=leaves,
        rounds=story.settled,
        traces=len(story.rounds),
        results=results,
        inputs=inputs,
        x64=x64,
        loop_error=story.loop_error,
        promotions=places.promotions(graph, stated),
        wide_sites=_wide(graph, stated) if x64 and not _has_wide_input(graph) else (),
        counters=_counters(first, graph, meanings),
        callbacks=places.callbacks(graph),
        donated=_donated(first),
        donatable=_donatable(story.subject),
        state_bytes=first.before.nbytes,
        state_parts=story.subject.parts or story.subject.names[:1],
        state_seen=story.subject.seen,
        data=story.subject.data,
        notes=story.subject.notes,
        inner=tuple(story.subject.inner.values()),
        raises=_raised_later(story, target),
        takes_gradient=takes_gradient(graph),
        unscaled_half=None if story.subject.params is not None else unscaled_half(graph, first.closed.jaxpr),
        recompiles=story.recompiles,
        lost_decays=lost_decays(first, graph, meanings),
    )


def _raised_later(story: Story, target: str) -> LaterError | None:
    if story.failure is None:
        return None
    stated = raised(story.failure, target)
    place = PLACE.search(stated.hint)
    return LaterError(
        call=len(story.rounds) + 1,
        message=first_line(story.failure),
        file=shorten(place[1]) if place else None,
        line=int(place[2]) if place else None,
    )


def is_x64() -> bool:
    """Whether 64-bit arrays can be made in this process."""
    return bool(jax.dtypes.canonicalize_dtype("float64") == "float64")


def _wide(graph: Graph, stated: Sequence[SourceLine]) -> tuple[SourceLine, ...]:
    """Where 64-bit floats appear, without the lines at which a leaf of the state becomes one."""
    told = {site.place for site in stated}
    return tuple(site for site in places.wide(graph) if site.place not in told)


def _has_wide_input(graph: Graph) -> bool:
    return any(value.dtype in {"float64", "complex128"} for value in graph.inputs)


def _types(first: Round) -> list[str]:
    arguments = first.closed.jaxpr.invars[len(first.before.arrays) :]
    return [variable.aval.str_short() for variable in arguments]


def _results(subject: Traced, first: Round, graph: Graph) -> Iterator[LeafSignature]:
    """Of a transformation: each parameter against the update for it."""
    if subject.params is None:
        return
    (updates,) = jax.tree.unflatten(first.rest.structure, first.rest.leaves)
    outputs = graph.outputs[len(first.after.arrays) :]
    returned = abstract(updates)
    by_path = dict(zip(returned.array_paths, outputs, strict=False))
    for leaf in compare(abstract(subject.params), returned):
        drifts = leaf.change is not None and leaf.path in by_path
        yield replace(leaf, sites=places.of_drift(graph, by_path[leaf.path], leaf)) if drifts else leaf


def _counters(first: Round, graph: Graph, meanings: Sequence[Meaning]) -> tuple[UpdateCounter, ...]:
    count = len(first.before.arrays)
    return tuple(counters_of(first, graph, starts=meanings[:count], constants=meanings[count:]))


def _donated(first: Round) -> bool | None:
    jaxpr = first.closed.jaxpr
    state = jaxpr.invars[: len(first.before.arrays)]
    for eqn in jaxpr.eqns if state else ():
        donations = jax_internals.donated(eqn) or ()
        given = {
            variable: donated
            for variable, donated in zip(eqn.invars, donations, strict=bool(donations))
            if variable in state
        }
        if len(given) == len(state):
            return all(given.values())
    return None


def _donatable(subject: Traced) -> tuple[str, ...]:
    """What `donate_argnames` may name: the arguments that hold the state, if all their names are known."""
    names = subject.parts or subject.names[:1]
    named = all(name.isidentifier() for name in names)
    return names if named and not subject.filter_jit else ()


def refusal(target: str, error: JaxdoctorError) -> Signature:
    """The signature of something that could not be traced, for a sweep that goes on."""
    return Signature(target=target, leaves=(), rounds=None, refused=f"{error}")
