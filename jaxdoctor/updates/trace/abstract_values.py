"""What can be known of an array without computing it: a number, a counter and what was added, a condition."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jaxdoctor.facts.dtypes import dtype_named

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
    limit: float | int | None = None
    """Above which the program never lets it."""

    floor: float | int | None = None
    """Below which the program never lets it."""

    carry: int | None = None
    """The input whose overflow was added: this is the upper word of the two."""

    resets: bool = False
    conditional: bool = False
    additions: int = 0
    """How often it was added to, one addition after the other: those of a loop's body at every pass."""

    equation: Any = field(default=None, compare=False, repr=False)
    """Where it was last added to."""


@dataclass(frozen=True)
class Ask:
    """A counter compared with a number: "lt", "le", "gt", "ge", "ne" or "eq"."""

    leaf: int
    relation: str
    number: float | int

    def most(self, leaf: int, step: float, *, whole: bool) -> float | int | None:
        """The largest value that the counter can have where this holds, before it rises by a step."""
        if leaf != self.leaf:
            return None
        if self.relation == "le" or (self.relation == "lt" and not whole):
            return self.number
        # One that rises by 1 passes no number: what is not equal to it is below it.
        below = self.relation == "lt" or (self.relation == "ne" and step == 1)
        return self.number - 1 if below and whole else None

    def least(self, leaf: int, step: float, *, whole: bool) -> float | int | None:
        """The smallest, before it falls by a step."""
        turned = {"ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}.get(self.relation, self.relation)
        found = Ask(self.leaf, turned, -self.number).most(leaf, -step, whole=whole)
        return None if found is None else -found


@dataclass(frozen=True)
class Switch:
    """A condition, or 0 and 1 made from one."""

    token: int
    negated: bool = False
    true: tuple[Ask, ...] = ()
    """What holds where it is true."""

    false: tuple[Ask, ...] = ()
    """What holds where it is false."""

    carry: int | None = None
    """It is true where this input overflowed when it was added to."""

    @property
    def opposite(self) -> Switch:
        """True where it is false."""
        return replace(self, negated=not self.negated, true=self.false, false=self.true, carry=None)


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
    # ml_dtypes' bfloat16 is of NumPy's kind "V".
    kind = dtype_named(str(getattr(array, "dtype", ""))).kind
    if kind not in {"bool", "int", "uint", "float"} and not isinstance(array, int | float):
        return None
    try:
        values = np.asarray(array)
    except (TypeError, ValueError, RuntimeError):
        return None
    if not 0 < values.size <= LARGEST_LOOKED_AT or values.dtype == object:
        return None
    first = values.flat[0]
    if bool((values == first).all()):
        return Known(_plain(first))
    return Several(tuple(values.ravel().tolist())) if values.size <= LARGEST_KEPT else None


def _plain(scalar: Any) -> float | int | bool:
    """A NumPy scalar as Python's number; bfloat16's own `item` gives no such."""
    value = scalar.item()
    return value if isinstance(value, bool | int | float) else float(scalar)


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
            return Known(_plain(np.asarray(value).astype(dtype)[()]))
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

    def moved(value: float | None) -> float | None:
        return None if value is None else value + amount

    return replace(
        count,
        low=moved(count.low),
        high=moved(count.high),
        limit=moved(count.limit),
        floor=moved(count.floor),
        additions=count.additions + 1,
        equation=eqn,
    )


def difference(eqn: Any, one: Meaning, other: Meaning) -> Meaning:
    """A counter less a number, or the opposite of a switch."""
    if isinstance(one, Known) and one.value == 1 and isinstance(other, Switch):
        return other.opposite
    if not isinstance(one, Count) or isinstance(other, Count):
        return None
    if isinstance(other, Known):
        return shifted(one, -other.value, eqn)
    return replace(one, low=None, high=None, limit=None, floor=None, equation=eqn)


def product(one: Meaning, other: Meaning) -> Meaning:
    """A counter or a number times a switch or one."""
    for first, second in ((one, other), (other, one)):
        if isinstance(first, Switch) and isinstance(second, Count):
            return Masked(first, second)
        if isinstance(first, Known) and first.value == 1:
            return second
    return None


def bounded(name: str, inputs: list[Meaning]) -> Meaning:
    """A counter held within bounds: by a remainder for ever, by a minimum or maximum at a limit."""
    counts = [each for each in inputs if isinstance(each, Count)]
    if len(counts) != 1:
        return None
    (count,) = counts
    if name == "clamp":
        low, high = inputs[0], inputs[2]
        floor = low.value if isinstance(low, Known) else None
        return replace(count, floor=floor, limit=high.value if isinstance(high, Known) else None)
    numbers = [each.value for each in inputs if isinstance(each, Known)]
    if not numbers:
        return None
    if name in {"rem", "and"}:
        return replace(count, resets=True)
    return replace(count, floor=numbers[0]) if name == "max" else replace(count, limit=numbers[0])


def spanned(counts: Sequence[Count]) -> Count:
    """One counter that may be any of several."""
    lows = [each.low for each in counts if each.low is not None]
    highs = [each.high for each in counts if each.high is not None]
    sure = len(lows) == len(highs) == len(counts)
    added = max(counts, key=lambda each: (each.equation is not None, each.high or 0))
    # What neither rises nor falls needs no limit to stay where it is.
    rising = [each.limit for each in counts if each.high != 0]
    falling = [each.floor for each in counts if each.low != 0]
    return replace(
        added,
        low=min(lows) if sure else None,
        high=max(highs) if sure else None,
        limit=max((value for value in rising if value is not None), default=None)
        if None not in rising
        else None,
        floor=min((value for value in falling if value is not None), default=None)
        if None not in falling
        else None,
        resets=any(each.resets for each in counts),
        conditional=any(each.conditional for each in counts) or len({*lows, *highs}) > 1,
        additions=max(each.additions for each in counts),
    )


def held(count: Count, asks: Sequence[Ask], *, whole: bool) -> Count:
    """The counter where these comparisons hold, each of which was made before it was added to."""
    high, low = count.high, count.low
    tops = [ask.most(count.leaf, high or 0, whole=whole) for ask in asks]
    bottoms = [ask.least(count.leaf, low or 0, whole=whole) for ask in asks]
    top = min((value for value in tops if value is not None), default=None)
    bottom = max((value for value in bottoms if value is not None), default=None)
    if top is not None and high is not None and high > 0:
        known = top + high if count.limit is None else min(count.limit, top + high)
        count = replace(count, limit=known)
    if bottom is not None and low is not None and low < 0:
        known = bottom + low if count.floor is None else max(count.floor, bottom + low)
        count = replace(count, floor=known)
    return count


NEGATED: Mapping[str, str] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
TURNED: Mapping[str, str] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def compared(token: int, name: str, one: Meaning, other: Meaning) -> Switch:
    """What a comparison tells of a counter, where it is true and where it is false."""
    if isinstance(other, Count) and not isinstance(one, Count):
        one, other, name = other, one, TURNED[name]
    if not isinstance(one, Count):
        return Switch(token)
    if isinstance(other, Count):
        return Switch(token, carry=_overflow(name, one, other))
    if not isinstance(other, Known) or one.low is None or one.low != one.high:
        return Switch(token)
    number = other.value - one.low
    true, false = Ask(one.leaf, name, number), Ask(one.leaf, NEGATED[name], number)
    # A word that is smaller than what was just added to it has overflowed.
    carry = one.leaf if name == "lt" and one.low == other.value and other.value > 0 else None
    return Switch(token, true=(true,), false=(false,), carry=carry)


def _overflow(name: str, one: Count, other: Count) -> int | None:
    """The input that has overflowed when a sum is smaller than what was added to."""
    if one.leaf != other.leaf or None in (one.low, other.low):
        return None
    smaller, larger = (one, other) if name == "lt" else (other, one)
    assert smaller.low is not None
    assert larger.low is not None
    return one.leaf if name in {"lt", "gt"} and smaller.low > larger.low else None


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

    return replace(
        after,
        low=grown(before.low, after.low),
        high=grown(before.high, after.high),
        additions=before.additions + (after.additions - before.additions) * times,
    )
