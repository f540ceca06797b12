"""Reads JSON that somebody else wrote: bounded in size, depth and the length of its numbers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import CorruptError, DamagedError, HostileError, TruncatedError
from jaxdoctor.storage.files import read_whole
from jaxdoctor.storage.placeholders import LFS, pointer

LARGEST = 100_000_000
"""Bytes of JSON at most, the limit that safetensors puts on its header."""

INFLATION = 24
"""Bytes of Python objects that a byte of JSON becomes at worst: `[[],[],...` is 72 for three."""


def parse(text: bytes, budget: Budget, what: str, *, unique: bool = False) -> Any:
    """The value of a JSON text. Bare NaN and Infinity are allowed, since real trainers write them.

    Raises:
        TruncatedError: it is empty, or breaks off.
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
        raise _not_json(text, what, error) from error


def _not_json(text: bytes, what: str, error: ValueError) -> DamagedError:
    if not text.strip(b"\0 \t\r\n"):
        return TruncatedError(f"{what} is empty" if not text else f"{what} holds nothing but blanks or zeros")
    if isinstance(error, json.JSONDecodeError) and _is_cut(error):
        return TruncatedError(f"{what} is cut off after {len(text):,} bytes")
    return CorruptError(f"{what} is not valid JSON: {error}")


def _is_cut(error: json.JSONDecodeError) -> bool:
    """Whether more text could mend it: the decoder stopped at the end, or within the last string."""
    if error.msg.startswith("Unterminated string"):
        return True
    rest = error.doc[error.pos :].strip()
    return not rest or (error.msg == "Expecting value" and any(word.startswith(rest) for word in LITERALS))


LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity", "-")


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
    content = read_whole(path, budget, limit=limit, root=root)
    if content.startswith(LFS):
        error = pointer(Candidate(path))
        if error is not None:
            raise error
    return parse(content, budget, path.name)


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
