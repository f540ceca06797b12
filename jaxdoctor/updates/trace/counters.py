"""The counters in a state, with when each reaches its limit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.signature import Fate, SourceLine, UpdateCounter
from jaxdoctor.programs.authors import user_frames
from jaxdoctor.programs.graph import Graph, Op, depends, site_of
from jaxdoctor.updates.trace import limits
from jaxdoctor.updates.trace.abstract_values import Count, Known, Meaning
from jaxdoctor.updates.trace.readers import read_by_more_than_itself
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
    words = _words(
        first, [meanings[after[path]] if path in after else None for path in first.before.array_paths]
    )
    for index, (path, leaf) in enumerate(zip(first.before.array_paths, state, strict=True)):
        out = after.get(path)
        if out is None or inputs[index] is None or first.after.arrays[out].dtype != leaf.dtype:
            continue
        if index in words:
            if words[index] is not None:
                yield _pair(str(words[index]), meanings[out])
        elif meanings[out] is not None:
            read = read_by_more_than_itself(graph, graph.inputs[index])
            for counter in _counter(path, leaf, index, meanings[out], _number(starts[index])):
                yield replace(counter, read=read, additions=_additions(meanings[out]))
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
            floor=meaning.floor,
            conditional=meaning.conditional,
            site=site,
        )
    else:
        yield limits.of_float(
            path,
            dtype,
            increment=increment,
            start=start,
            limit=meaning.limit,
            floor=meaning.floor,
            conditional=meaning.conditional,
            site=site,
        )


def _increment(count: Count) -> float | int | None:
    """The most that a call adds, in either direction; None: it depends on data."""
    if count.low is None or count.high is None or count.low < 0 < count.high:
        return None
    return count.high if count.high > 0 else count.low


def _additions(meaning: Meaning) -> int:
    return max(meaning.additions, 1) if isinstance(meaning, Count) else 1


def _site(count: Count, dtype: str) -> SourceLine | None:
    if count.equation is None:
        return None
    frames = user_frames(count.equation)
    return site_of(Op(count.equation.primitive.name, (), frames=frames), dtype, dtype) if frames else None


def _words(first: Round, results: Sequence[Meaning]) -> dict[int, str | None]:
    """The words of 64-bit counters: the lower one with the counter's name, the upper one with none.

    A pair is known by its carry, by which the upper word grows when the lower one overflows, or by the names
    `hi` and `lo`.
    """
    paths = first.before.array_paths
    found: dict[int, str | None] = {}
    for upper, meaning in enumerate(results):
        lower = meaning.carry if isinstance(meaning, Count) else None
        if lower is not None and lower != upper and _is_word(first, lower) and _is_word(first, upper):
            found |= {upper: None, lower: _common_name(paths[upper], paths[lower])}
    for lower, path in enumerate(paths):
        upper_path = f"{path[:-2]}hi"
        if path.rpartition("/")[2] == "lo" and upper_path in paths and lower not in found:
            upper = paths.index(upper_path)
            if _is_word(first, lower) and _is_word(first, upper):
                found |= {upper: None, lower: path.rpartition("/")[0] or path}
    return found


def _is_word(first: Round, index: int) -> bool:
    return str(first.before.arrays[index].dtype) == "uint32"


def _common_name(upper: str, lower: str) -> str:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(upper, lower, strict=False))
    return "".join(letter for letter, _ in same).rstrip("/_.") or lower


def _pair(name: str, low: Meaning) -> UpdateCounter:
    increment = _increment(low) if isinstance(low, Count) else None
    if not increment:
        return UpdateCounter(leaf=name, dtype="uint32x2", fate=Fate.UNKNOWN)
    return limits.of_integer(name, "uint32x2", increment=int(increment), start=None)
