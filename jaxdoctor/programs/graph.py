"""A traced program as one flat graph: calls are opened, loops tied to what goes into them."""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.facts.signature import SourceLine
from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.authors import is_users, shorten, user_frames

WRITTEN = {
    "astype",
    "_astype",
    "asarray",
    "array",
    "convert_element_type",
    "full_like",
    "_ScalarMeta.__call__",
}
"""Functions of jax that convert because somebody asked for it."""


@dataclass(eq=False)
class Value:
    """One array of the program."""

    dtype: str
    weak: bool
    shape: tuple[int, ...]
    made: Op | None = None
    """None: an input, a constant or a literal."""

    argument: int | None = None
    """The position among the inputs of the whole program."""

    literal: Any = None
    """The number that is written in the program; None: it is none."""

    feedback: list[Value] = field(default_factory=list)
    """Of what a loop carries: its value at the end of the body."""

    @property
    def type_name(self) -> str:
        """With "~" before it where it is weak."""
        return f"{'~' * self.weak}{self.dtype}"


@dataclass(eq=False)
class Op:
    """One primitive at one place."""

    primitive: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...] = ()
    frames: tuple[Any, ...] = ()
    """The frames of the call that somebody wrote, innermost first."""

    implicit: bool = False
    calls: tuple[str, ...] = ()
    """The names of the jitted functions and loops around it, outermost first."""

    inside_jax: bool = False
    """It stands in a function of jax's own."""

    backward: bool = False
    """It belongs to the backward pass of a gradient."""


class Graph:
    """A whole program."""

    def __init__(self, closed: jax_internals.ClosedJaxpr) -> None:
        self.ops: list[Op] = []
        self.constants = constants = [_value(variable) for variable in closed.jaxpr.constvars]
        self.inputs = [_value(variable) for variable in closed.jaxpr.invars]
        for position, value in enumerate(self.inputs):
            value.argument = position
        self.outputs = self._open(closed.jaxpr, [*constants, *self.inputs], Context())
        self.users: Mapping[int, list[Op]] = _users(self.ops)

    def _open(self, jaxpr: Any, arguments: Sequence[Value], context: Context) -> list[Value]:
        known: dict[Any, Value] = dict(zip([*jaxpr.constvars, *jaxpr.invars], arguments, strict=True))

        def read(variable: Any) -> Value:
            return _value(variable) if jax_internals.is_literal(variable) else known[variable]

        for eqn in jaxpr.eqns:
            outputs = self._apply(eqn, [read(variable) for variable in eqn.invars], context.at(eqn))
            known.update(zip(eqn.outvars, outputs, strict=True))
        return [read(variable) for variable in jaxpr.outvars]

    def _apply(self, eqn: Any, inputs: list[Value], context: Context) -> list[Value]:
        name = eqn.primitive.name
        if name == "scan":
            return self._scan(eqn, inputs, context)
        if name == "while":
            return self._while(eqn, inputs, context)
        if name == "cond":
            return self._cond(eqn, inputs, context)
        if (call := jax_internals.called(eqn)) is not None:
            return self._closed(call[0], inputs, context.into(eqn, call[0]))
        return self._primitive(eqn, inputs, context)

    def _closed(self, jaxpr: Any, inputs: Sequence[Value], context: Context) -> list[Value]:
        return self._open(jaxpr, [*map(_value, jaxpr.constvars), *inputs], context)

    def _primitive(self, eqn: Any, inputs: Sequence[Value], context: Context) -> list[Value]:
        op = Op(
            eqn.primitive.name,
            tuple(inputs),
            frames=context.frames,
            implicit=eqn.primitive.name == "convert_element_type" and not _was_written(eqn),
            calls=context.calls,
            inside_jax=context.inside_jax,
            backward=context.backward or jax_internals.is_backward(eqn),
        )
        op.outputs = tuple(_value(variable, made=op) for variable in eqn.outvars)
        self.ops.append(op)
        return list(op.outputs)

    def _scan(self, eqn: Any, inputs: list[Value], context: Context) -> list[Value]:
        scan = jax_internals.scan(eqn)
        body, fixed, carried = scan.body.jaxpr, scan.constants, scan.carries
        start = inputs[fixed : fixed + carried]
        slices = [
            self._stand_in(variable, value, context)
            for variable, value in zip(body.invars[fixed + carried :], inputs[fixed + carried :], strict=True)
        ]
        carry = [
            self._stand_in(variable, value, context)
            for variable, value in zip(body.invars[fixed:], start, strict=False)
        ]
        outputs = self._closed(body, [*inputs[:fixed], *carry, *slices], context.into(eqn, body))
        for value, after in zip(carry, outputs, strict=False):
            value.feedback.append(after)
        return outputs

    def _while(self, eqn: Any, inputs: list[Value], context: Context) -> list[Value]:
        loop = jax_internals.while_loop(eqn)
        body, skipped, fixed = loop.body.jaxpr, loop.condition_constants, loop.body_constants
        start = inputs[skipped + fixed :]
        carry = [
            self._stand_in(variable, value, context)
            for variable, value in zip(body.invars[fixed:], start, strict=False)
        ]
        outputs = self._closed(body, [*inputs[skipped : skipped + fixed], *carry], context.into(eqn, body))
        for value, after in zip(carry, outputs, strict=True):
            value.feedback.append(after)
        return outputs

    def _cond(self, eqn: Any, inputs: list[Value], context: Context) -> list[Value]:
        branches = [
            self._closed(branch.jaxpr, inputs[1:], context.into(eqn, branch.jaxpr))
            for branch in jax_internals.branches(eqn)
        ]
        merged: list[Value] = []
        for variable, choices in zip(eqn.outvars, zip(*branches, strict=True), strict=True):
            op = Op("cond", tuple(choices), frames=context.frames, calls=context.calls)
            op.outputs = (_value(variable, made=op),)
            merged += op.outputs
        return merged

    def _stand_in(self, variable: Any, value: Value, context: Context) -> Value:
        op = Op("carry", (value,), frames=context.frames, calls=context.calls)
        op.outputs = (_value(variable, made=op),)
        return op.outputs[0]


@dataclass(frozen=True)
class Context:
    """Where in the user's source the program being opened was written."""

    frames: tuple[Any, ...] = ()
    calls: tuple[str, ...] = ()
    backward: bool = False
    """It is a part of a backward pass."""

    inside_jax: bool = False
    """It is a function of jax's own, whose cached trace may carry the lines of another call."""

    def at(self, eqn: Any) -> Context:
        """The context of one equation."""
        if self.inside_jax:
            return self
        frames = user_frames(eqn)
        return Context(frames or self.frames, self.calls, self.backward)

    def into(self, eqn: Any, inner: Any) -> Context:
        """The context inside the program that an equation holds."""
        own = eqn.primitive.name in jax_internals.JITTED and not is_users(jax_internals.source_file(inner))
        name = eqn.params.get("name") or eqn.primitive.name
        calls = self.calls if own or self.inside_jax else (*self.calls, str(name))
        backward = self.backward or jax_internals.is_backward(eqn)
        return Context(self.frames, calls, backward, inside_jax=self.inside_jax or own)


def _was_written(eqn: Any) -> bool:
    for frame in jax_internals.frames(eqn):
        if is_users(frame.file_name):
            return False
        if frame.function_name in WRITTEN:
            return True
    return False


def _value(variable: Any, made: Op | None = None) -> Value:
    kind = variable.aval
    return Value(
        dtype=str(getattr(kind, "dtype", "token")),
        weak=bool(getattr(kind, "weak_type", False)),
        shape=tuple(getattr(kind, "shape", ())),
        made=made,
        literal=variable.val if jax_internals.is_literal(variable) else None,
    )


def depends(output: Value, source: Value) -> bool:
    """Whether anything of the source can reach the output."""
    seen, waiting = {id(output)}, [output]
    while waiting:
        value = waiting.pop()
        if value is source:
            return True
        for each in (*(value.made.inputs if value.made else ()), *value.feedback):
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)
    return False


def _users(ops: Sequence[Op]) -> dict[int, list[Op]]:
    users: dict[int, list[Op]] = defaultdict(list)
    for op in ops:
        for value in op.inputs:
            users[id(value)].append(op)
    return users


def site_of(op: Op, dtype_from: str, dtype_to: str, partner: str | None = None) -> SourceLine:
    """The place of an operation, as a fact."""
    frame, *outer = op.frames or (None,)
    lines = [f"{shorten(each.file_name)}:{each.line_num} in {each.function_name}" for each in reversed(outer)]
    return SourceLine(
        file=shorten(frame.file_name) if frame else None,
        library=bool(frame) and "site-packages/" in frame.file_name,
        line=frame.line_num if frame else None,
        function=frame.function_name if frame else None,
        source=linecache.getline(frame.file_name, frame.line_num).strip() or None if frame else None,
        primitive=op.primitive,
        dtype_from=dtype_from,
        dtype_to=dtype_to,
        implicit=op.implicit,
        partner=partner,
        through=tuple(lines) or op.calls,
    )
