"""What can be known of an array without computing it: a number, a counter and what was added, a condition."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

LARGEST_LOOKED_AT = 65536
"""Elements of a constant that are compared to see whether all are equal."""

LARGEST_KEPT = 16
"""Elements of a constant that are kept when they differ."""


@dataclass(frozen=True)
class Known:
    """An array all of whose elements are this number."""

    value: float | int | bool


@dataclass(frozen=True)
class Several:
    """A small constant array of different numbers, such as a shape."""

    values: tuple[float | int, ...]


@dataclass(frozen=True)
class Count:
    """An input of the program with something added; what was added lies between low and high."""

    leaf: int
    low: float | int | None = 0
    """None: it depends on data."""

    high: float | int | None = 0
    limit: int | None = None
    """Where a condition holds it back for good."""

    resets: bool = False
    conditional: bool = False
    equation: Any = field(default=None, compare=False, repr=False)
    """Where it was last added to."""


@dataclass(frozen=True)
class Switch:
    """A condition, or 0 and 1 made from one."""

    token: int
    negated: bool = False
    compares: bool = False
    """It asks whether a counter is below a number."""


@dataclass(frozen=True)
class Masked:
    """A counter times a switch."""

    switch: Switch
    count: Count


Meaning = Known | Several | Count | Switch | Masked | None
"""What is known of one array; None: nothing."""

REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "reduce_sum": sum,
    "reduce_prod": math.prod,
    "reduce_max": max,
    "reduce_min": min,
}

FOLDS: Mapping[str, Callable[..., Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "add": operator.add,
    "add_any": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max,
    "min": min,
    "neg": operator.neg,
    "abs": abs,
    "rem": math.fmod,
    "and": operator.and_,
    "or": operator.or_,
    "shift_right_logical": operator.rshift,
    "shift_right_arithmetic": operator.rshift,
    "shift_left": operator.lshift,
}


def meaning_of(array: Any) -> Meaning:
    """What is known of a concrete constant."""
    if getattr(getattr(array, "dtype", None), "kind", "O") not in "biuf" and not isinstance(
        array, int | float
    ):
        return None
    try:
        values = np.asarray(array)
    except (TypeError, ValueError, RuntimeError):
        return None
    if not 0 < values.size <= LARGEST_LOOKED_AT or values.dtype == object:
        return None
    first = values.flat[0]
    if bool((values == first).all()):
        return Known(first.item())
    return Several(tuple(values.ravel().tolist())) if values.size <= LARGEST_KEPT else None


def stays(before: Meaning, after: Meaning) -> bool:
    """Whether what is known before a pass through a loop's body is still so after it."""
    if isinstance(before, Count):
        return isinstance(after, Count) and after.leaf == before.leaf
    return before == after


def is_condition(variable: Any) -> bool:
    """Whether the variable is a truth value."""
    return str(getattr(variable.aval, "dtype", "")) == "bool"


def passed(eqn: Any, meaning: Meaning) -> Meaning:
    """What is known after a primitive that changes no element, a conversion's rounding done."""
    if not isinstance(meaning, Known) or eqn.primitive.name != "convert_element_type":
        return meaning
    return known_as(eqn, meaning.value)


def known_as(eqn: Any, value: float) -> Meaning:
    """The number as the output's dtype holds it; None where it cannot."""
    dtype = getattr(eqn.outvars[0].aval, "dtype", None)
    try:
        with np.errstate(all="ignore"):
            return Known(np.asarray(value).astype(dtype).item())
    except (TypeError, ValueError, OverflowError):
        return None


def folded(eqn: Any, values: list[Any]) -> Meaning:
    """A primitive over numbers that are all known."""
    name = eqn.primitive.name
    try:
        if name in REDUCTIONS:
            return known_as(eqn, _reduced(name, values[0], _times(eqn)))
        if name == "integer_pow":
            return known_as(eqn, values[0] ** eqn.params["y"])
        if name == "div":
            whole = all(isinstance(value, int) for value in values)
            return known_as(eqn, int(values[0] / values[1]) if whole else values[0] / values[1])
        return known_as(eqn, FOLDS[name](*values)) if name in FOLDS else None
    except (ArithmeticError, ValueError, TypeError):
        return None


def _times(eqn: Any) -> int:
    before, after = eqn.invars[0].aval.size, eqn.outvars[0].aval.size
    return int(before // after) if after else 0


def _reduced(name: str, value: Any, times: int) -> Any:
    """A reduction over so many equal numbers."""
    if name == "reduce_sum":
        return value * times
    if name != "reduce_prod":
        return value
    return math.pow(value, times)


def shifted(count: Count, amount: float, eqn: Any) -> Count:
    """The counter with a known amount added."""
    low = None if count.low is None else count.low + amount
    high = None if count.high is None else count.high + amount
    return replace(count, low=low, high=high, equation=eqn)


def difference(eqn: Any, one: Meaning, other: Meaning) -> Meaning:
    """A counter less a number, or the opposite of a switch."""
    if isinstance(one, Known) and one.value == 1 and isinstance(other, Switch):
        return replace(other, negated=not other.negated)
    if not isinstance(one, Count) or isinstance(other, Count):
        return None
    if isinstance(other, Known):
        return shifted(one, -other.value, eqn)
    return replace(one, low=None, high=None, equation=eqn)


def product(one: Meaning, other: Meaning) -> Meaning:
    """A counter or a number times a switch or one."""
    for first, second in ((one, other), (other, one)):
        if isinstance(first, Switch) and isinstance(second, Count):
            return Masked(first, second)
        if isinstance(first, Known) and first.value == 1:
            return second
    return None


def bounded(name: str, inputs: list[Meaning]) -> Meaning:
    """A counter held within bounds: by a remainder or a mask for ever, by a minimum at a limit."""
    counts = [each for each in inputs if isinstance(each, Count)]
    numbers = [each.value for each in inputs if isinstance(each, Known)]
    if len(counts) != 1:
        return None
    if name in {"rem", "and"}:
        return replace(counts[0], resets=bool(numbers)) if numbers else None
    if name == "max" or not numbers:
        return counts[0] if numbers else None
    limit = int(max(numbers))
    return replace(counts[0], limit=limit)


def spanned(counts: Sequence[Count]) -> Count:
    """One counter that may be any of several."""
    lows = [each.low for each in counts if each.low is not None]
    highs = [each.high for each in counts if each.high is not None]
    sure = len(lows) == len(highs) == len(counts)
    limits = [each.limit for each in counts if each.limit is not None]
    added = max(counts, key=lambda each: (each.equation is not None, each.high or 0))
    return replace(
        added,
        low=min(lows) if sure else None,
        high=max(highs) if sure else None,
        limit=max(limits) if limits else None,
        resets=any(each.resets for each in counts),
        conditional=any(each.conditional for each in counts) or len({*lows, *highs}) > 1,
    )


def repeated(before: Meaning, after: Meaning, times: int | None) -> Meaning:
    """What a loop makes of a counter that its body takes from `before` to `after`."""
    if before == after:
        return before
    if not isinstance(before, Count) or not isinstance(after, Count) or before.leaf != after.leaf:
        return None
    if times is None or None in (before.low, before.high, after.low, after.high):
        return replace(after, low=None, high=None)

    def grown(start: float | None, end: float | None) -> float:
        assert start is not None
        assert end is not None
        return start + (end - start) * times

    return replace(after, low=grown(before.low, after.low), high=grown(before.high, after.high))
