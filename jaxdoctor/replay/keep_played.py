"""What is kept of what was played: the controls of a model, or what a policy made of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.system import Driven
from jaxdoctor.rollouts.played import keep
from jaxdoctor.rollouts.record import Recording

COORDINATES = ("qpos", "qvel")
"""What `--controls` reads besides controls, by the last part of a leaf's name."""


def keep_recording(path: Path, recording: Recording) -> None:
    """A model's controls and start states, as they were drawn or read.

    Raises:
        UsageError: the file cannot be written.
    """
    keep(path, {"ctrl": recording.ctrl, **_starts(recording)})


def keep_rollout(path: Path, recording: Recording, rollout: Rollout, driven: Driven) -> None:
    """What a policy did in the rollout: its actions, and the controls that the physics was given.

    Where the environment steps its physics several times with one control, the control is kept as often. What
    comes after a replay has failed is what was played last before it, so that the file can be replayed.

    Raises:
        UsageError: the file cannot be written.
    """
    arrays = {"action": _played(rollout.states["action"]), **_starts(recording)}
    applied = arrays["action"] if driven.applied is None else _played(rollout.states[driven.applied])
    if np.issubdtype(applied.dtype, np.floating):
        arrays["ctrl"] = np.repeat(applied, driven.substeps, axis=1)
    keep(path, arrays)


def _played(states: Any) -> Any:
    """Replays x steps x numbers, from a state before each step and after the last."""
    after = np.asarray(states)[1:]
    rows = after.reshape(*after.shape[:2], -1).swapaxes(0, 1).copy()
    for row in rows:
        finite = np.isfinite(row).all(axis=1)
        if not finite.all():
            first = int(finite.argmin())
            row[first:] = row[first - 1] if first else 0
    return rows


def _starts(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, values in recording.starts.items():
        last = name.rpartition(".")[2]
        if last in COORDINATES and np.asarray(values).ndim == 2:  # noqa: PLR2004 (replays x coordinates)
            found.setdefault(last, np.asarray(values))
    return found
