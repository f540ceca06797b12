"""The step that a file's or a folder's name tells, or a key in what it holds."""

from __future__ import annotations

import re
from typing import Any

from jaxdoctor.reading.pickle_parts import Table

_AT_END = re.compile(r"(?:^|[^0-9])(-?\d{1,19})\Z")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9_]{0,15}\Z")
KEYS = (
    "global_step",
    "step",
    "iteration",
    "iter",
    "env_steps",
    "num_timesteps",
    "total_steps",
    "update_step",
)


def step_in_name(name: str) -> int | None:
    """As in "params_000500.pkl" or "model_500.pt": the number right before the suffix."""
    while _SUFFIX.search(name):
        name = _SUFFIX.sub("", name)
    match = _AT_END.search(name)
    return int(match[1]) if match else None


def step_among(root: Any) -> int | None:
    """The plain integer under one of the usual keys of the outermost dictionary."""
    if not isinstance(root, Table):
        return None
    for key in KEYS:
        value = root.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
