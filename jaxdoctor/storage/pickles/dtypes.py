"""What a pickled `numpy.dtype` says of its elements: their type, their bytes, whether they are objects."""

from __future__ import annotations

import re
from typing import Any

from jaxdoctor.storage.elements import Element, element
from jaxdoctor.storage.pickles.parts import Global, Made, Table

_SIZED = re.compile(r"([USVMmOGg])(\d{1,9})")
OBJECTS = frozenset({"O8", "O4", "O"})
DEEPEST = 16
"""Structured types within structured types that are looked into."""


def dtype_of(kind: Any) -> Element | str:
    """The element type that is described; a text where none of ours is meant."""
    if isinstance(kind, Global):
        return element(kind.name.removesuffix("_")) or kind.full_name[:80]
    if not isinstance(kind, Made) or not isinstance(kind.arguments, tuple) or not kind.arguments:
        return "unknown"
    spelled = kind.arguments[0]
    if isinstance(spelled, Global):
        return element(spelled.name) or spelled.full_name[:80]
    plain = element(spelled)
    if plain is None:
        return "object" if spelled in OBJECTS else f"of type {str(spelled)[:40]!r}"
    order = kind.state[1] if isinstance(kind.state, tuple) and len(kind.state) > 1 else "<"
    return Element(plain.name, big_endian=order == ">" or plain.big_endian)


def width_of(kind: Any) -> int | None:
    """Bytes of an element; None where they are not known."""
    known = dtype_of(kind)
    if isinstance(known, Element):
        return known.width
    spelled = kind.arguments[0] if isinstance(kind, Made) and isinstance(kind.arguments, tuple) else None
    found = _SIZED.fullmatch(spelled) if isinstance(spelled, str) else None
    if found is None:
        return None
    return int(found[2]) * (4 if found[1] == "U" else 1)


def has_objects(kind: Any, deepest: int = DEEPEST) -> bool:
    """Whether an element is a Python object, or has one among its fields."""
    if not isinstance(kind, Made) or not isinstance(kind.arguments, tuple) or deepest <= 0:
        return False
    if kind.arguments and kind.arguments[0] in OBJECTS:
        return True
    parts: list[Any] = []
    for one in kind.state if isinstance(kind.state, tuple) else ():
        if isinstance(one, Table):
            parts += [value[0] for _, value in one.pairs if isinstance(value, tuple) and value]
        elif isinstance(one, tuple) and one:
            parts.append(one[0])
    return any(has_objects(part, deepest - 1) for part in parts)
