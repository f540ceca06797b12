"""Reads JSON that somebody else wrote: bounded in size, depth and the length of its numbers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError
from jaxdoctor.storage.files import read_whole

LARGEST = 100_000_000
"""Bytes of JSON at most, the limit that safetensors puts on its header."""

INFLATION = 24
"""Bytes of Python objects that a byte of JSON becomes at worst: `[[],[],...` is 72 for three."""


def parse(text: bytes, budget: Budget, what: str, *, unique: bool = False) -> Any:
    """The value of a JSON text. Bare NaN and Infinity are allowed, since real trainers write them.

    Raises:
        CorruptError: it is no JSON, or with `unique`, names a key twice.
        HostileError: it is nested too deeply.
        OverBudgetError: its objects could need more memory than is allowed.
    """
    budget.allow(len(text) * INFLATION, f"the JSON of {what}")
    try:
        return json.loads(text, object_pairs_hook=once if unique else None)
    except RecursionError as error:
        raise HostileError(f"{what} is nested too deeply") from error
    except ValueError as error:
        raise CorruptError(f"{what} is not valid JSON: {error}") from error


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON that names no key twice.

    Raises:
        CorruptError: it does; readers differ in which value they take.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = counts.most_common(1)[0][0]
        raise CorruptError(f"the key {twice[:80]!r} stands twice")
    return found


def read_json(path: Path, budget: Budget, *, root: Path | None = None, limit: int = LARGEST) -> Any:
    """The value in a JSON file.

    Raises:
        DamagedError: it is missing, no regular file, too large, or no JSON.
    """
    return parse(read_whole(path, budget, limit=limit, root=root), budget, path.name)


def read_object(
    path: Path, budget: Budget, *, root: Path | None = None, limit: int = LARGEST
) -> dict[str, Any]:
    """The same where the outermost value must be an object.

    Raises:
        DamagedError: as for `read_json`, or it is another value.
    """
    value = read_json(path, budget, root=root, limit=limit)
    if not isinstance(value, dict):
        raise CorruptError(f"{path.name} holds {type(value).__name__} where an object is expected")
    return value
