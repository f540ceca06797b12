"""The step that a file's or a folder's name tells."""

from __future__ import annotations

import re

UNFINISHED = re.compile(r"\.orbax-checkpoint-tmp.*$|\.tmp-.*$")
NUMBER = re.compile(r"-?\d+")
MOST_DIGITS = 18
"""Beyond it a number in a name is a hash or a date, and no step."""


def named_step(name: str) -> int | None:
    """12 from "12", "000000000012", "checkpoint_12" and "step-12"; -12 from "-00000000012" and "step_-12"."""
    stem = UNFINISHED.sub("", name)
    if NUMBER.fullmatch(stem):
        return _number(stem)
    found = re.search(r"_(-?\d+)$|-(\d+)$", stem)
    return None if found is None else _number(found[1] or found[2])


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) <= MOST_DIGITS else None


def is_step_name(name: str) -> bool:
    """Whether a run calls one of its saves so: the number alone, or a word, "_" or "-" and a number."""
    return re.fullmatch(r"(?:[A-Za-z][A-Za-z_.\-]*[_\-])?-?\d+", UNFINISHED.sub("", name)) is not None
