"""What a program does to the counters in its state, read off its primitives."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jax.extend import core

from jaxdoctor.trace.graph import CALLS, subprograms

LARGEST_LOOKED_AT = 65536
"""Elements of a constant that are compared to see whether all are equal."""

MOST_PASSES = 4
"""Through a loop's body, to find what stays known in it. Beyond that nothing is said of the loop."""

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

PASSING = {
    "broadcast_in_dim", "reshape", "squeeze", "copy", "copy_p", "expand_dims", "transpose", "stop_gradient",
    "optimization_barrier", "device_put", "sharding_constraint", "reduce_precision", "convert_element_type",
    "pvary", "rev", "slice", "mesh_cast", "reshard",
}  # fmt: skip
"""Primitives that leave every element what it was, a conversion's rounding aside."""

COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}
REDUCTIONS: Mapping[str, Callable[..., Any]] = {
    "reduce_sum": sum,
    "reduce_prod": math.prod,
    "reduce_max": max,
    "reduce_min": min,
}
LOGIC = {"and", "or", "not", "xor"}
BOUNDS = {"max", "min", "clamp", "rem", "and"}

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


class Reading:
    """One pass over a program."""

    def __init__(self) -> None:
        self._tokens = itertools.count()

    def run(self, jaxpr: Any, meanings: Sequence[Meaning]) -> list[Meaning]:
        """The outputs' meanings from those of constants and inputs."""
        known: dict[Any, Meaning] = dict(zip([*jaxpr.constvars, *jaxpr.invars], meanings, strict=True))

        def read(variable: Any) -> Meaning:
            return meaning_of(variable.val) if isinstance(variable, core.Literal) else known.get(variable)

        for eqn in jaxpr.eqns:
            inputs = [read(variable) for variable in eqn.invars]
            if not eqn.invars or any(meaning is not None for meaning in inputs):
                known.update(zip(eqn.outvars, self._apply(eqn, inputs), strict=True))
            for variable in eqn.outvars:
                if known.get(variable) is None and _is_condition(variable):
                    known[variable] = self.condition()
        return [read(variable) for variable in jaxpr.outvars]

    def condition(self) -> Switch:
        """A condition of which nothing is known but that it is one."""
        return Switch(next(self._tokens))

    def _apply(self, eqn: Any, inputs: list[Meaning]) -> list[Meaning]:
        name = eqn.primitive.name
        if name == "scan":
            return self._scan(eqn, inputs)
        if name == "while":
            return self._while(eqn, inputs)
        if name == "cond":
            branches = [
                self._call(branch.jaxpr, inputs[1:], branch.consts) for branch in eqn.params["branches"]
            ]
            return [self._chosen(inputs[0], choices) for choices in zip(*branches, strict=True)]
        inner = next(iter(subprograms(eqn)), None)
        if name in CALLS and inner is not None and len(inner.invars) == len(inputs):
            return self._call(inner, inputs, [])
        if len(eqn.outvars) != 1:
            return [None] * len(eqn.outvars)
        return [self._primitive(eqn, inputs)]

    def _call(self, jaxpr: Any, inputs: Sequence[Meaning], constants: Sequence[Any]) -> list[Meaning]:
        known = [meaning_of(constant) for constant in constants]
        known += [None] * (len(jaxpr.constvars) - len(known))
        return self.run(jaxpr, [*known, *inputs])

    def _primitive(self, eqn: Any, inputs: list[Meaning]) -> Meaning:
        name = eqn.primitive.name
        if name in PASSING:
            return _passed(eqn, inputs[0])
        if name in COMPARISONS and not all(isinstance(each, Known) for each in inputs):
            return self._compared(name, inputs)
        if name in LOGIC and all(isinstance(each, Switch) for each in inputs):
            return self.condition()
        if name in REDUCTIONS and isinstance(inputs[0], Several):
            whole = eqn.outvars[0].aval.shape == ()
            return _known(eqn, REDUCTIONS[name](inputs[0].values)) if whole else None
        if name != "select_n" and all(isinstance(each, Known) for each in inputs):
            return _folded(eqn, [each.value for each in inputs if isinstance(each, Known)])
        return self._counted(eqn, inputs)

    def _counted(self, eqn: Any, inputs: list[Meaning]) -> Meaning:
        name = eqn.primitive.name
        if name == "select_n":
            return self._chosen(inputs[0], inputs[1:])
        if name in {"add", "add_any"}:
            return self._sum(eqn, *inputs)
        if name == "sub":
            return _difference(eqn, *inputs)
        if name == "mul":
            return _product(*inputs)
        return _bounded(name, inputs) if name in BOUNDS else None

    def _compared(self, name: str, inputs: list[Meaning]) -> Meaning:
        one, other = inputs
        below = isinstance(one, Count) and isinstance(other, Known) and name in {"lt", "le", "ne"}
        above = isinstance(one, Known) and isinstance(other, Count) and name in {"gt", "ge", "ne"}
        return Switch(next(self._tokens), compares=below or above)

    def _sum(self, eqn: Any, one: Meaning, other: Meaning) -> Meaning:
        if isinstance(one, Masked) and isinstance(other, Masked):
            opposite = one.switch.token == other.switch.token and one.switch.negated != other.switch.negated
            return self._join([one.count, other.count], one.switch) if opposite else None
        if isinstance(other, Count) and not isinstance(one, Count):
            one, other = other, one
        if not isinstance(one, Count) or isinstance(other, Count):
            return None
        if isinstance(other, Known):
            return _shifted(one, other.value, eqn)
        if isinstance(other, Switch):
            return replace(_shifted(one, 1, eqn), low=one.low, conditional=True)
        return replace(one, low=None, high=None, equation=eqn)

    def _chosen(self, condition: Meaning, choices: Sequence[Meaning]) -> Meaning:
        if isinstance(condition, Known):
            return choices[min(max(int(condition.value), 0), len(choices) - 1)]
        return self._join(choices, condition if isinstance(condition, Switch) else None)

    def _join(self, choices: Sequence[Meaning], switch: Switch | None) -> Meaning:
        """What a condition chooses among."""
        first, *others = choices
        if all(other == first for other in others):
            return first
        counts = [choice for choice in choices if isinstance(choice, Count)]
        numbers = [choice.value for choice in choices if isinstance(choice, Known)]
        if not counts or len(counts) + len(numbers) < len(choices) or len({each.leaf for each in counts}) > 1:
            return None
        joined = _spanned(counts)
        if not numbers:
            return joined
        if switch is not None and switch.compares and joined.limit is None and 1 < max(numbers) < math.inf:
            return replace(joined, limit=int(max(numbers)))
        return replace(joined, resets=True)

    def _scan(self, eqn: Any, inputs: list[Meaning]) -> list[Meaning]:
        body, fixed = eqn.params["jaxpr"], eqn.params["num_consts"]
        carried, length = eqn.params["num_carry"], eqn.params["length"]
        start = inputs[fixed : fixed + carried]
        slices = inputs[fixed + carried :]
        steady = self._steady(body, inputs[:fixed], start, slices)
        outputs = self._call(body.jaxpr, [*inputs[:fixed], *steady, *slices], body.consts)
        repeated = [_repeated(before, after, length) for before, after in zip(start, outputs, strict=False)]
        return [*repeated, *([None] * (len(eqn.outvars) - carried))]

    def _while(self, eqn: Any, inputs: list[Meaning]) -> list[Meaning]:
        body, skipped = eqn.params["body_jaxpr"], eqn.params["cond_nconsts"]
        fixed = eqn.params["body_nconsts"]
        constants, start = inputs[skipped : skipped + fixed], inputs[skipped + fixed :]
        steady = self._steady(body, constants, start, [])
        outputs = self._call(body.jaxpr, [*constants, *steady], body.consts)
        return [_repeated(before, after, None) for before, after in zip(start, outputs, strict=True)]

    def _steady(
        self, body: Any, constants: list[Meaning], start: list[Meaning], slices: list[Meaning]
    ) -> list[Meaning]:
        """What a loop carries, without the numbers that change from one pass to the next."""
        steady = list(start)
        for _ in range(MOST_PASSES):
            outputs = self._call(body.jaxpr, [*constants, *steady, *slices], body.consts)
            kept = [
                before if _stays(before, after) else None
                for before, after in zip(steady, outputs, strict=False)
            ]
            if kept == steady:
                return steady
            steady = kept
        return [None] * len(start)


def _stays(before: Meaning, after: Meaning) -> bool:
    """Whether what is known before a pass through a loop's body is still so after it."""
    if isinstance(before, Count):
        return isinstance(after, Count) and after.leaf == before.leaf
    return before == after


def _is_condition(variable: Any) -> bool:
    return str(getattr(variable.aval, "dtype", "")) == "bool"


def _passed(eqn: Any, meaning: Meaning) -> Meaning:
    if not isinstance(meaning, Known) or eqn.primitive.name != "convert_element_type":
        return meaning
    return _known(eqn, meaning.value)


def _known(eqn: Any, value: float) -> Meaning:
    dtype = getattr(eqn.outvars[0].aval, "dtype", None)
    try:
        with np.errstate(all="ignore"):
            return Known(np.asarray(value).astype(dtype).item())
    except (TypeError, ValueError, OverflowError):
        return None


def _folded(eqn: Any, values: list[Any]) -> Meaning:
    name = eqn.primitive.name
    try:
        if name in REDUCTIONS:
            return _known(eqn, _reduced(name, values[0], _times(eqn)))
        if name == "integer_pow":
            return _known(eqn, values[0] ** eqn.params["y"])
        if name == "div":
            whole = all(isinstance(value, int) for value in values)
            return _known(eqn, int(values[0] / values[1]) if whole else values[0] / values[1])
        return _known(eqn, FOLDS[name](*values)) if name in FOLDS else None
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


def _shifted(count: Count, amount: float, eqn: Any) -> Count:
    low = None if count.low is None else count.low + amount
    high = None if count.high is None else count.high + amount
    return replace(count, low=low, high=high, equation=eqn)


def _difference(eqn: Any, one: Meaning, other: Meaning) -> Meaning:
    if isinstance(one, Known) and one.value == 1 and isinstance(other, Switch):
        return replace(other, negated=not other.negated)
    if not isinstance(one, Count) or isinstance(other, Count):
        return None
    if isinstance(other, Known):
        return _shifted(one, -other.value, eqn)
    return replace(one, low=None, high=None, equation=eqn)


def _product(one: Meaning, other: Meaning) -> Meaning:
    for first, second in ((one, other), (other, one)):
        if isinstance(first, Switch) and isinstance(second, Count):
            return Masked(first, second)
        if isinstance(first, Known) and first.value == 1:
            return second
    return None


def _bounded(name: str, inputs: list[Meaning]) -> Meaning:
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


def _spanned(counts: Sequence[Count]) -> Count:
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


def _repeated(before: Meaning, after: Meaning, times: int | None) -> Meaning:
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
