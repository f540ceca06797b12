"""Decays that half precision rounds to 1, so that what they multiply never fades."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from jaxdoctor.facts.signature import LostDecay
from jaxdoctor.programs.graph import Graph, Op, Value
from jaxdoctor.updates.trace.abstract_values import Known, Meaning
from jaxdoctor.updates.trace.places import HALF, SHAPING, users_line
from jaxdoctor.updates.trace.rounds import Round

PASSING = {*SHAPING, "convert_element_type", "reduce_precision"}
"""What comes out of these is what went in, but for its rounding."""

SUMS = {"add", "add_any", "sub"}

NUMBERS = ("float", "bfloat", "int", "uint")
"""How the dtypes of numbers begin."""

MOST_DEPTH = 12
"""Operations between a factor and the numbers that it is made of."""


@dataclass(frozen=True)
class Number:
    """A scalar that is the same in every call."""

    exact: float
    """Without any rounding but that of the arrays that it is made of."""

    rounded: float
    half: str | None = None
    """The half-precision dtype that it went through."""

    source: Value | None = None
    """The one input or constant that it is made of."""

    @property
    def is_lost(self) -> bool:
        """Whether half precision made it 1, or holds it as 1."""
        return self.rounded == 1 and self.half is not None

    @property
    def was_rounded(self) -> bool:
        """Whether it is known not to have been 1."""
        return self.exact != 1


def lost_decays(first: Round, graph: Graph, meanings: Sequence[Meaning]) -> tuple[LostDecay, ...]:
    """The factors that are 1 in half precision though they were meant to be less.

    One is a decay if it multiplies a leaf of the state, and the sum of that and something else is the leaf's
    next value. That it was meant to be less than 1 is known in two ways: its value before the rounding is
    known; or what is added is multiplied by 1 minus the same number, as of a running average.

    Args:
        first: the first call.
        graph: its program.
        meanings: what is known of the state's arrays before it and of the program's constants.
    """
    found: dict[tuple[str | None, str, float, bool], LostDecay] = {}
    numbers = _Numbers(first, graph, meanings)
    after = dict(zip(first.after.array_paths, graph.outputs, strict=False))
    for path, leaf in zip(first.before.array_paths, graph.inputs, strict=False):
        for each in _of_leaf(path, leaf, after.get(path), numbers):
            key = (each.factor, each.dtype, each.number, each.still)
            known = found.get(key, each)
            found[key] = replace(known, leaves=tuple(dict.fromkeys((*known.leaves, *each.leaves))))
    return tuple(found.values())


def _of_leaf(path: str, leaf: Value, output: Value | None, numbers: _Numbers) -> Iterator[LostDecay]:
    made = _passed(output).made if output is not None else None
    if made is None or made.primitive not in SUMS:
        return
    old, new = made.inputs
    # What is subtracted is no average that is kept.
    orders = ((old, new),) if made.primitive == "sub" else ((old, new), (new, old))
    for kept, added in orders:
        product = _passed(kept).made
        factor = None if product is None else _factor_of(product, leaf, numbers)
        if product is None or factor is None or not factor.is_lost:
            continue
        still = _is_weighted_by_rest(added, factor, numbers)
        if still or factor.was_rounded:
            yield LostDecay(
                leaves=(path,),
                factor=numbers.name(factor.source) if still or factor.source is None else None,
                dtype=str(factor.half),
                number=factor.exact,
                still=still,
                site=users_line(product, "", ""),
            )


def _factor_of(product: Op, leaf: Value, numbers: _Numbers) -> Number | None:
    """What multiplies the leaf there, if a known number does."""
    if product.primitive != "mul":
        return None
    one, other = product.inputs
    if _passed(one) is leaf:
        return numbers.of(other)
    return numbers.of(one) if _passed(other) is leaf else None


def _is_weighted_by_rest(added: Value, factor: Number, numbers: _Numbers) -> bool:
    """Whether what is added is a product with 1 minus the factor, which is 0."""
    product = _passed(added).made
    if product is None or product.primitive != "mul" or factor.source is None:
        return False
    if not factor.was_rounded and factor.source.dtype not in HALF:
        # It is 1 in float32 too, where nothing was rounded.
        return False
    for value in product.inputs:
        weight, made = numbers.of(value), _passed(value).made
        if weight is None or made is None or made.primitive != "sub" or weight.rounded != 0:
            continue
        if weight.source is factor.source:
            return True
    return False


def _passed(value: Value) -> Value:
    """What it was before conversions and changes of shape."""
    while value.made is not None and value.made.primitive in PASSING:
        value = value.made.inputs[0]
    return value


class _Numbers:
    """The scalars of a program that are the same in every call."""

    def __init__(self, first: Round, graph: Graph, meanings: Sequence[Meaning]) -> None:
        count = len(first.before.arrays)
        after = dict(zip(first.after.array_paths, graph.outputs, strict=False))
        self._names = dict(zip(map(id, graph.inputs), first.before.array_paths, strict=False))
        starts = zip(first.before.array_paths, graph.inputs, meanings[:count], strict=False)
        stays = [
            (value, meaning)
            for path, value, meaning in starts
            if path in after and _passed(after[path]) is value
        ]
        known = [*stays, *zip(graph.constants, meanings[count:], strict=False)]
        self._known = {
            id(value): meaning.value
            for value, meaning in known
            if isinstance(meaning, Known) and value.shape == () and math.isfinite(meaning.value)
        }

    def name(self, value: Value | None) -> str | None:
        """The leaf's path; None of a constant."""
        return None if value is None else self._names.get(id(value))

    def of(self, value: Value, depth: int = MOST_DEPTH) -> Number | None:
        """The number that this value always is; None: that is not known."""
        if id(value) in self._known:
            return _in_dtype(Number(0, 0, source=value), float(self._known[id(value)]), None, value)
        if value.literal is not None and value.shape == () and value.dtype.startswith(NUMBERS):
            return _in_dtype(Number(0, 0), float(value.literal), None, value)
        return self._computed(value, depth)

    def _computed(self, value: Value, depth: int) -> Number | None:
        made = value.made
        if made is None or not depth or not value.dtype.startswith(NUMBERS):
            return None
        if made.primitive in PASSING:
            inner = self.of(made.inputs[0], depth - 1)
            return None if inner is None else _in_dtype(inner, inner.exact, inner.rounded, value)
        if made.primitive != "sub":
            return None
        one, other = (self.of(each, depth - 1) for each in made.inputs)
        if one is None or other is None or one.exact != 1 or one.source is not None:
            return None
        return _in_dtype(other, 1 - other.exact, 1 - other.rounded, value)


def _in_dtype(like: Number, exact: float, rounded: float | None, value: Value) -> Number:
    """The number as an array of the value's dtype holds it."""
    given = exact if rounded is None else rounded
    with np.errstate(all="ignore"):
        held = float(np.asarray(given, np.float64).astype(jnp.dtype(value.dtype)))
    half = value.dtype if value.dtype in HALF else like.half
    return Number(exact, held, half, like.source)
