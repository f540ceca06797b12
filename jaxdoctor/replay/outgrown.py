"""Whether MJX itself runs away where MuJoCo in C does: the two engines do not integrate every model alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxdoctor.replay.ensemble import Array, Rollout
from jaxdoctor.rollouts.in_c import LIMIT, grows

VELOCITY = "qvel"


def outgrown(rollouts: Sequence[Rollout], *, replays: int) -> int:
    """How many replays fail, pass MuJoCo's limit, or gain speed by a factor in every step.

    Args:
        rollouts: of one lane, one for each part of the replays.
        replays: how many were asked for; the last part may hold more.
    """
    return int(np.concatenate([_gone(rollout) for rollout in rollouts])[:replays].sum())


def _gone(rollout: Rollout) -> Array:
    """By replay."""
    gone = rollout.bad[:, :, [leaf in rollout.state for leaf in rollout.leaves]].any(axis=(0, 2))
    for name in rollout.state:
        # A position or velocity as it stands after each step: steps x replays.
        sizes = np.abs(rollout.states[name][1:]).reshape(*rollout.bad.shape[:2], -1).max(axis=2, initial=0)
        gone |= ~(sizes < LIMIT).all(axis=0)
        if name == VELOCITY:
            gone |= np.array([grows(speeds) for speeds in sizes.T], bool)
    return np.asarray(gone)
