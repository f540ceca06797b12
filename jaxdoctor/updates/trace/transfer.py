"""What a program does to the counters in its state, read off its primitives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.programs import jax_internals
from jaxdoctor.updates.trace.abstract_values import (
    REDUCTIONS,
    Count,
    Known,
    Masked,
    Meaning,
    Several,
    Switch,
    bounded,
    compared,
    difference,
    folded,
    held,
    is_condition,
    known_as,
    meaning_of,
    passed,
    product,
    repeated,
    shifted,
    spanned,
    stays,
)

MOST_PASSES = 4
"""Through a loop's body, to find what stays known in it. Beyond that nothing is said of the loop."""

PASSING = {
    "broadcast_in_dim", "reshape", "squeeze", "copy", "copy_p", "expand_dims", "transpose", "stop_gradient",
    "optimization_barrier", "device_put", "sharding_constraint", "reduce_precision", "convert_element_type",
    "pvary", "rev", "slice", "mesh_cast", "reshard",
}  # fmt: skip
"""Primitives that leave every element what it was, a conversion's rounding aside."""

COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}
LOGIC = {"and", "or", "not", "xor"}
BOUNDS = {"max", "min", "clamp", "rem", "and"}


class Reading:
    """One pass over a program."""

    def __init__(self) -> None:
        self._tokens = itertools.count()

    def run(self, jaxpr: Any, meanings: Sequence[Meaning]) -> list[Meaning]:
        """The outputs' meanings from those of constants and inputs."""
        known: dict[Any, Meaning] = dict(zip([*jaxpr.constvars, *jaxpr.invars], meanings, strict=True))

        def read(variable: Any) -> Meaning:
            return meaning_of(variable.val) if jax_internals.is_literal(variable) else known.get(variable)

        for eqn in jaxpr.eqns:
            inputs = [read(variable) for variable in eqn.invars]
            if not eqn.invars or any(meaning is not None for meaning in inputs):
                known.update(zip(eqn.outvars, self._apply(eqn, inputs), strict=True))
            for variable in eqn.outvars:
                if known.get(variable) is None and is_condition(variable):
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
                self._call(branch.jaxpr, inputs[1:], branch.consts) for branch in jax_internals.branches(eqn)
            ]
            return [self._chosen(inputs[0], choices) for choices in zip(*branches, strict=True)]
        if (call := jax_internals.called(eqn)) is not None:
            inner, constants = call
            return self._call(inner, inputs, constants)
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
            return passed(eqn, inputs[0])
        if name in COMPARISONS and not all(isinstance(each, Known) for each in inputs):
            return compared(next(self._tokens), name, *inputs)
        if name in LOGIC and all(isinstance(each, Switch) for each in inputs):
            return self._logic(name, [each for each in inputs if isinstance(each, Switch)])
        if name in REDUCTIONS and isinstance(inputs[0], Several):
            whole = eqn.outvars[0].aval.shape == ()
            return known_as(eqn, REDUCTIONS[name](inputs[0].values)) if whole else None
        if name != "select_n" and all(isinstance(each, Known) for each in inputs):
            return folded(eqn, [each.value for each in inputs if isinstance(each, Known)])
        return self._counted(eqn, inputs)

    def _counted(self, eqn: Any, inputs: list[Meaning]) -> Meaning:
        name = eqn.primitive.name
        if name == "select_n":
            return self._chosen(inputs[0], inputs[1:], whole=_is_whole(eqn))
        if name in {"add", "add_any"}:
            return self._sum(eqn, *inputs)
        if name == "sub":
            return difference(eqn, *inputs)
        if name == "mul":
            return product(*inputs)
        return bounded(name, inputs) if name in BOUNDS else None

    def _sum(self, eqn: Any, one: Meaning, other: Meaning) -> Meaning:
        if isinstance(one, Masked) and isinstance(other, Masked):
            opposite = one.switch.token == other.switch.token and one.switch.negated != other.switch.negated
            return self._join([one.count, other.count], one.switch) if opposite else None
        if isinstance(other, Count) and not isinstance(one, Count):
            one, other = other, one
        if not isinstance(one, Count) or isinstance(other, Count):
            return None
        if isinstance(other, Known):
            return shifted(one, other.value, eqn)
        if isinstance(other, Switch):
            added = held(shifted(one, 1, eqn), other.true, whole=_is_whole(eqn))
            return replace(added, low=one.low, floor=one.floor, conditional=True, carry=other.carry)
        return replace(one, low=None, high=None, limit=None, floor=None, equation=eqn)

    def _logic(self, name: str, switches: list[Switch]) -> Switch:
        """Two conditions: what each tells is still so where both must hold."""
        if name == "not":
            return switches[0].opposite
        both = Switch(next(self._tokens))
        if name == "and":
            return replace(both, true=tuple(ask for each in switches for ask in each.true))
        if name == "or":
            return replace(both, false=tuple(ask for each in switches for ask in each.false))
        return both

    def _chosen(self, condition: Meaning, choices: Sequence[Meaning], *, whole: bool = True) -> Meaning:
        if isinstance(condition, Known):
            return choices[min(max(int(condition.value), 0), len(choices) - 1)]
        return self._join(choices, condition if isinstance(condition, Switch) else None, whole=whole)

    def _join(self, choices: Sequence[Meaning], switch: Switch | None, *, whole: bool = True) -> Meaning:
        """What a condition chooses among."""
        first, *others = choices
        if all(other == first for other in others):
            return first
        counts = [choice for choice in choices if isinstance(choice, Count)]
        numbers = [choice.value for choice in choices if isinstance(choice, Known)]
        if not counts or len(counts) + len(numbers) < len(choices) or len({each.leaf for each in counts}) > 1:
            return None
        if switch is not None and len(choices) == 2:  # noqa: PLR2004 (false and true)
            asks = dict(zip(map(id, choices), (switch.false, switch.true), strict=True))
            counts = [held(each, asks[id(each)], whole=whole) for each in counts]
        joined = spanned(counts)
        if not numbers:
            return replace(joined, carry=_carried(choices, switch))
        return _stopped(joined, numbers)

    def _scan(self, eqn: Any, inputs: list[Meaning]) -> list[Meaning]:
        scan = jax_internals.scan(eqn)
        body, fixed, carried, length = scan.body, scan.constants, scan.carries, scan.length
        start = inputs[fixed : fixed + carried]
        slices = inputs[fixed + carried :]
        steady = self._steady(body, inputs[:fixed], start, slices)
        outputs = self._call(body.jaxpr, [*inputs[:fixed], *steady, *slices], body.consts)
        results = [repeated(before, after, length) for before, after in zip(start, outputs, strict=False)]
        return [*results, *([None] * (len(eqn.outvars) - carried))]

    def _while(self, eqn: Any, inputs: list[Meaning]) -> list[Meaning]:
        loop = jax_internals.while_loop(eqn)
        body, skipped, fixed = loop.body, loop.condition_constants, loop.body_constants
        constants, start = inputs[skipped : skipped + fixed], inputs[skipped + fixed :]
        steady = self._steady(body, constants, start, [])
        outputs = self._call(body.jaxpr, [*constants, *steady], body.consts)
        return [repeated(before, after, None) for before, after in zip(start, outputs, strict=True)]

    def _steady(
        self, body: Any, constants: list[Meaning], start: list[Meaning], slices: list[Meaning]
    ) -> list[Meaning]:
        """What a loop carries, without the numbers that change from one pass to the next."""
        steady = list(start)
        for _ in range(MOST_PASSES):
            outputs = self._call(body.jaxpr, [*constants, *steady, *slices], body.consts)
            kept = [
                before if stays(before, after) else None
                for before, after in zip(steady, outputs, strict=False)
            ]
            if kept == steady:
                return steady
            steady = kept
        return [None] * len(start)


def _stopped(joined: Count, numbers: Sequence[float | int]) -> Count:
    """A counter that a condition puts to a number: to where it stops, or to where it begins anew."""
    high, low = joined.high, joined.low
    if high is not None and high > 0 and joined.limit is not None and min(numbers) >= joined.limit - high:
        return replace(joined, limit=max(joined.limit, *numbers), conditional=False)
    if low is not None and low < 0 and joined.floor is not None and max(numbers) <= joined.floor - low:
        return replace(joined, floor=min(joined.floor, *numbers), conditional=False)
    return replace(joined, resets=True)


def _carried(choices: Sequence[Meaning], switch: Switch | None) -> int | None:
    """Of an upper word that is one more where the lower one has overflowed."""
    if switch is None or switch.carry is None or len(choices) != 2:  # noqa: PLR2004 (false and true)
        return None
    stays, rises = choices
    is_word = isinstance(stays, Count) and isinstance(rises, Count) and (stays.high, rises.high) == (0, 1)
    return switch.carry if is_word else None


def _is_whole(eqn: Any) -> bool:
    """Whether the equation gives integers."""
    return dtype_named(str(eqn.outvars[0].aval.dtype)).integral
