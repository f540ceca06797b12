"""The step that a key in a saved dictionary tells."""

from __future__ import annotations

from typing import Any

from jaxdoctor.storage.pickles.parts import Table

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


def step_among(root: Any) -> int | None:
    """The plain integer under one of the usual keys of the outermost dictionary."""
    if not isinstance(root, Table):
        return None
    for key in KEYS:
        value = root.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
