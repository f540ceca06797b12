"""Who reads a counter: a schedule or a warm-up; Adam's bias correction does not mind its end."""

from __future__ import annotations

from jaxdoctor.programs.graph import Graph, Op, Value

PASSING = {
    "convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "copy", "add", "sub", "min", "max",
    "clamp", "lt", "le", "gt", "ge", "eq", "ne", "carry", "and", "or", "not", "stop_gradient",
    "optimization_barrier",
}  # fmt: skip
"""Primitives through which a counter is still only counted."""


def read_by_more_than_itself(graph: Graph, counter: Value) -> bool:
    """Whether anything but its own next value, and powers of a decay, is computed from a counter."""
    seen, waiting = {id(counter)}, [counter]
    while waiting:
        value = waiting.pop()
        for op in graph.users.get(id(value), ()):
            if _is_bias_correction(op, value):
                continue
            if op.primitive == "select_n" and _keeps_counting(op, seen):
                pass
            elif op.primitive not in PASSING and op.primitive != "cond":
                return True
            for output in op.outputs:
                if id(output) not in seen:
                    seen.add(id(output))
                    waiting.append(output)
    return False


def _is_bias_correction(op: Op, value: Value) -> bool:
    """Whether it raises a number to the counter: 1 - decay ** count."""
    return op.primitive in {"pow", "integer_pow"} and len(op.inputs) > 1 and op.inputs[1] is value


def _keeps_counting(op: Op, seen: set[int]) -> bool:
    """Whether a choice is between values of the counter, not between others by the counter."""
    return any(id(each) in seen for each in op.inputs[1:])
