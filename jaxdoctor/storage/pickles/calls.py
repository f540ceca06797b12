"""Writes a call that a pickle wants as Python would: "os.system('touch x')"."""

from __future__ import annotations

from typing import Any

from jaxdoctor.storage.pickles.parts import Bag, Global, Made, Opaque, Payload, Persistent, Table

LONGEST = 200
"""Characters of a call that are told."""

LONGEST_VALUE = 80
MOST_ITEMS = 4
DEEPEST = 3
SYSTEM = {"posix": "os", "nt": "os"}
"""The public names of modules that Python itself pickles under their private ones."""


def written(callee: Any, arguments: Any) -> str:
    """A call; without arguments (None), what stands for the callee alone."""
    text = _value(callee, DEEPEST)
    if arguments is not None:
        text = f"{text}({_arguments(arguments, DEEPEST)})"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _arguments(arguments: Any, depth: int) -> str:
    if not isinstance(arguments, tuple):
        return f"*{_value(arguments, depth)}"
    return _items(arguments, depth)


def _items(items: Any, depth: int) -> str:
    shown = [_value(one, depth - 1) for one in list(items)[:MOST_ITEMS]]
    return ", ".join([*shown, *(["..."] if len(items) > MOST_ITEMS else [])])


def _value(value: Any, depth: int) -> str:  # noqa: PLR0911 (one for each kind)
    if isinstance(value, Global):
        return f"{SYSTEM.get(value.module, value.module)}.{value.name}"[:LONGEST]
    if isinstance(value, (str, bytes)):
        return repr(value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE])
    if isinstance(value, Payload):
        return f"<{value.size} bytes>"
    if isinstance(value, int) and value.bit_length() > LONGEST_VALUE:
        return f"<an integer of {value.bit_length()} bits>"
    if value is None or isinstance(value, (bool, int, float, complex)):
        return repr(value)
    if isinstance(value, Opaque):
        return f"<{value.what}>"
    if isinstance(value, Persistent):
        return "<an object outside of the pickle>"
    return _container(value, depth) if depth > 0 else "..."


def _container(value: Any, depth: int) -> str:
    if isinstance(value, Made):
        return f"{_value(value.callee, depth - 1)}({_arguments(value.arguments, depth - 1)})"
    if isinstance(value, Table):
        pairs = value.pairs[:MOST_ITEMS]
        shown = [f"{_value(key, depth - 1)}: {_value(item, depth - 1)}" for key, item in pairs]
        return "{" + ", ".join([*shown, *(["..."] if len(value.pairs) > MOST_ITEMS else [])]) + "}"
    if isinstance(value, Bag):
        return "{" + _items(value.items, depth) + "}"
    if isinstance(value, list):
        return f"[{_items(value, depth)}]"
    return f"({_items(value, depth)}{',' if len(value) == 1 else ''})"
