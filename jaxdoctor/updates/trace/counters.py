"""The counters in a state, with when each reaches its limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.signature import Fate, SourceLine, UpdateCounter
from jaxdoctor.programs.authors import user_frames
from jaxdoctor.programs.graph import Graph, Op, depends, site_of
from jaxdoctor.updates.trace import limits
from jaxdoctor.updates.trace.abstract_values import Count, Known, Meaning
from jaxdoctor.updates.trace.rounds import Round
from jaxdoctor.updates.trace.transfer import Reading

NO_COUNTERS = ("key", "rng", "seed")
"""Integers of these names are not counted."""


def counters_of(
    first: Round, graph: Graph, *, starts: Sequence[Meaning], constants: Sequence[Meaning]
) -> Iterator[UpdateCounter]:
    """Every leaf that a call adds to, or, of integers, changes in a way that cannot be told."""
    state, jaxpr = first.before.arrays, first.closed.jaxpr
    inputs: list[Meaning] = [Count(index) if _may_count(leaf) else None for index, leaf in enumerate(state)]
    inputs += [None] * (len(jaxpr.invars) - len(state))
    reading = Reading()
    given = [
        reading.condition() if variable.aval.dtype == bool else meaning
        for variable, meaning in zip(jaxpr.invars, inputs, strict=True)
    ]
    meanings = reading.run(jaxpr, [*constants, *given])
    after = {path: index for index, path in enumerate(first.after.array_paths)}
    pairs = set(_pairs(first))
    for index, (path, leaf) in enumerate(zip(first.before.array_paths, state, strict=True)):
        out = after.get(path)
        if out is None or inputs[index] is None or first.after.arrays[out].dtype != leaf.dtype:
            continue
        if path in pairs:
            if path.endswith("lo"):
                yield _pair(path, meanings[out])
        elif meanings[out] is not None:
            yield from _counter(path, leaf, index, meanings[out], _number(starts[index]))
        elif _is_hidden(path, leaf) and depends(graph.outputs[out], graph.inputs[index]):
            yield UpdateCounter(
                leaf=path, dtype=str(leaf.dtype), fate=Fate.UNKNOWN, start=_number(starts[index])
            )


def _is_hidden(path: str, leaf: Any) -> bool:
    """Whether it may be a counter, though what the program does to it is not understood."""
    whole = dtype_named(str(leaf.dtype)).integral and leaf.shape == ()
    return whole and not any(word in path.lower() for word in NO_COUNTERS)


def _may_count(leaf: Any) -> bool:
    name = str(leaf.dtype)
    return dtype_named(name).integral or (name in limits.LARGEST_EXPONENT and leaf.shape == ())


def _number(meaning: Meaning) -> float | int | None:
    return meaning.value if isinstance(meaning, Known) else None


def _counter(
    path: str, leaf: Any, index: int, meaning: Meaning, start: float | None
) -> Iterator[UpdateCounter]:
    if not isinstance(meaning, Count) or meaning.leaf != index:
        return
    dtype, whole = str(leaf.dtype), dtype_named(str(leaf.dtype)).integral
    increment, site = _increment(meaning), _site(meaning, str(leaf.dtype))
    if increment == 0:
        return
    if meaning.resets:
        yield UpdateCounter(leaf=path, dtype=dtype, fate=Fate.RESETS, start=start, site=site)
    elif increment is None:
        if whole:
            yield UpdateCounter(leaf=path, dtype=dtype, fate=Fate.UNKNOWN, start=start, site=site)
    elif whole:
        yield limits.of_integer(
            path,
            dtype,
            increment=int(increment),
            start=None if start is None else int(start),
            limit=meaning.limit,
            conditional=meaning.conditional,
            site=site,
        )
    else:
        yield limits.of_float(
            path, dtype, increment=increment, start=start, conditional=meaning.conditional, site=site
        )


def _increment(count: Count) -> float | int | None:
    """The most that a call adds, in either direction; None: it depends on data."""
    if count.low is None or count.high is None or count.low < 0 < count.high:
        return None
    return count.high if count.high > 0 else count.low


def _site(count: Count, dtype: str) -> SourceLine | None:
    if count.equation is None:
        return None
    frames = user_frames(count.equation)
    return site_of(Op(count.equation.primitive.name, (), frames=frames), dtype, dtype) if frames else None


def _pairs(first: Round) -> Iterator[str]:
    """The paths of two uint32 words, `hi` and `lo`, that are one 64-bit counter."""
    types = dict(
        zip(first.before.array_paths, (str(leaf.dtype) for leaf in first.before.arrays), strict=True)
    )
    for path, dtype in types.items():
        if path.rpartition("/")[2] == "lo" and dtype == types.get(f"{path[:-2]}hi") == "uint32":
            yield from (path, f"{path[:-2]}hi")


def _pair(path: str, low: Meaning) -> UpdateCounter:
    name = path.rpartition("/")[0] or path
    increment = _increment(low) if isinstance(low, Count) else None
    if not increment:
        return UpdateCounter(leaf=name, dtype="uint32x2", fate=Fate.UNKNOWN)
    return limits.of_integer(name, "uint32x2", increment=int(increment), start=None)
