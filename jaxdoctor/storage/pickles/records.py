"""Lists of records, such as the lines of a log: one array for each field, not a leaf for each number."""

from __future__ import annotations

import array
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from jaxdoctor.facts.leaf import Role
from jaxdoctor.storage.blobs import memory_values
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.pickles.arrays import Array
from jaxdoctor.storage.pickles.parts import Payload, Table

FEWEST = 16
"""So many dictionaries with the same keys, or rows of the same length, are records."""

EVERY = "*"
"""Stands in a path for the numbers of all records."""

WIDEST = 64
"""Fields of a record."""

LETTERS = {bool: "B", int: "q", float: "d"}
NAMES = {bool: "bool", int: "int64", float: "float64"}
NO_LEAVES = (str, bytes, Payload, type(None))


@dataclass
class Records:
    """What a list of records holds."""

    columns: list[tuple[tuple[str, ...], Array]] = field(default_factory=list)
    """Each field of numbers, with its path below the list."""

    others: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)
    """What is no number, each with its path, to be walked on its own."""


def records(items: list[Any] | tuple[Any, ...]) -> Records | None:
    """The fields of a list of records; None where it is none."""
    if len(items) < FEWEST:
        return None
    kind = type(items[0])
    if kind not in {Table, list, tuple} or any(type(item) is not kind for item in items):
        return None
    fields = _of_tables(items) if kind is Table else _of_rows(items)
    if fields is None:
        return None
    found = Records()
    for name, column in fields:
        _add(found, name, column)
    return found


def _of_tables(items: Any) -> list[tuple[str, list[Any]]] | None:
    keys = [key for key, _ in items[0].pairs]
    if not keys or len(keys) > WIDEST or not all(isinstance(key, (str, int)) for key in keys):
        return None
    width = len(keys)
    for item in items:
        pairs = item.pairs
        if len(pairs) != width or any(pair[0] != key for pair, key in zip(pairs, keys, strict=True)):
            return None
    return [(str(key)[:200], [item.pairs[place][1] for item in items]) for place, key in enumerate(keys)]


def _of_rows(items: Any) -> list[tuple[str, list[Any]]] | None:
    width = len(items[0])
    if not 0 < width <= WIDEST or set(map(len, items)) != {width}:
        return None
    return [(str(place), list(column)) for place, column in enumerate(zip(*items, strict=True))]


def _add(found: Records, name: str, column: list[Any]) -> None:
    kinds = set(map(type, column))
    if kinds <= set(NO_LEAVES):
        return
    plain = _packed(column, kinds, (len(column),))
    if plain is None and kinds <= {list, tuple}:
        widths = set(map(len, column))
        if len(widths) == 1 and 0 not in widths:
            flat = list(chain.from_iterable(column))
            plain = _packed(flat, set(map(type, flat)), (len(column), widths.pop()))
    if plain is not None:
        found.columns.append(((EVERY, name), plain))
        return
    found.others += [((str(index), name), value) for index, value in enumerate(column)]


def _packed(values: list[Any], kinds: set[type], shape: tuple[int, ...]) -> Array | None:
    """Numbers of one kind, as an array. What was logged is no count and no parameter of the state."""
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind not in LETTERS:
        return None
    try:
        content = array.array(LETTERS[kind], values).tobytes()
    except OverflowError:
        return None
    return Array(
        dtype=NAMES[kind],
        shape=shape,
        values=memory_values(content, Element(NAMES[kind])),
        host_scalar=True,
        role=Role.METRIC,
    )
