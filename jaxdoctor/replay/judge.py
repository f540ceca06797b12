"""What becomes of a rollout's arrays: who failed, when, in which field, and how far it departed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.plan import Judgement, Lane
from jaxdoctor.replay.scratch import Reference

HORIZON_TOLERANCE = 1e-2
"""A replay has left the reference when some coordinate differs by more: radians or metres."""


def judgement_of(
    lane: Lane, rollouts: Sequence[Rollout], *, replays: int, aside: Iterable[str] = ()
) -> Judgement:
    """Judges the rollouts of one lane; they hold different replays.

    Args:
        lane: how they were replayed.
        rollouts: one for each part of the replays.
        replays: how many were asked for; the last part may hold more.
        aside: fields that are not finite in a healthy replay either.
    """
    leaves = rollouts[0].leaves
    watched = np.array([leaf not in set(aside) for leaf in leaves])
    steps = max(len(rollout.bad) for rollout in rollouts)
    bad = np.concatenate([_lasting(rollout.bad, steps) for rollout in rollouts], axis=1)
    bad = bad[:, :replays] & watched
    ill = bad.any(axis=2)
    failed = np.flatnonzero(ill.any(axis=0))
    step, field, fields = _first(bad, ill, failed, leaves)
    earliest = None if step is None else int(ill[step].argmax())
    state = np.array([leaf in rollouts[0].state for leaf in leaves])
    hidden = [replay for replay in failed if not bad[:, replay][:, state].any()]
    return Judgement(
        lane=lane,
        replays=bad.shape[1],
        steps=steps,
        failed=len(failed),
        first_bad_step=step,
        first_bad_field=field,
        first_bad_replay=earliest,
        bad_fields=fields,
        hidden=len(hidden),
        seconds_per_step=rollouts[0].seconds_per_step,
    )


def _lasting(bad: npt.NDArray[np.bool_], steps: int) -> npt.NDArray[np.bool_]:
    """Filled up with its last step: a launch ends early only when every replay in it has failed."""
    missing = steps - len(bad)
    return np.concatenate([bad, np.repeat(bad[-1:], missing, axis=0)]) if missing else bad


def _first(
    bad: npt.NDArray[np.bool_],
    ill: npt.NDArray[np.bool_],
    failed: npt.NDArray[np.intp],
    leaves: Sequence[str],
) -> tuple[int | None, str | None, tuple[str, ...]]:
    """The earliest bad step, the first field in pipeline order there, and all that began anything."""
    if not len(failed):
        return None, None, ()
    first = ill.argmax(axis=0)
    step = int(first[failed].min())
    earliest = bad[step].any(axis=0)
    began = np.zeros(len(leaves), bool)
    for replay in failed:
        began |= bad[first[replay], replay]
    return step, leaves[int(earliest.argmax())], tuple(np.array(leaves)[began].tolist())


def horizon(rollout: Rollout, reference: Reference) -> float | None:
    """The median step at which a coordinate has left the reference; None when most replays never do.

    A replay that is no longer finite has left it. Replays whose reference is not finite are left out.
    """
    name, steps = rollout.coordinates, _common_steps(rollout, reference)
    here, there = (
        states[name][1 : steps + 1, reference.finite] for states in (rollout.states, reference.states)
    )
    if not reference.finite.any():
        return None
    distance = np.abs(here - there).reshape(*here.shape[:2], -1).max(axis=2, initial=0)
    left = ~(distance <= HORIZON_TOLERANCE)
    at = np.where(left.any(axis=0), left.argmax(axis=0).astype(float), np.inf)
    middle = float(np.median(at))
    return middle if np.isfinite(middle) else None


def one_step_error(rollout: Rollout, reference: Reference, *, lost_counts: bool = False) -> float | None:
    """The median error of a forced lane's state, relative to its norm; None when nothing in it was finite.

    Args:
        rollout: of the forced lane.
        reference: from whose states it took its steps.
        lost_counts: count a state that is not finite as an infinite error, instead of leaving it out.
    """
    if not reference.finite.any():
        return None
    steps = _common_steps(rollout, reference)
    here, there = (
        np.concatenate(
            [_flat(states[name][1 : steps + 1, reference.finite]) for name in rollout.state], axis=-1
        )
        for states in (rollout.states, reference.states)
    )
    norm = np.linalg.norm(there, axis=-1)
    errors = np.linalg.norm(here - there, axis=-1) / np.where(norm == 0, 1, norm)
    if lost_counts:
        return float(np.median(np.where(np.isfinite(errors), errors, np.inf))) if errors.size else None
    finite = errors[np.isfinite(errors)]
    return float(np.median(finite)) if finite.size else None


def _common_steps(rollout: Rollout, reference: Reference) -> int:
    """Either may be cut short by the clock, or end when nothing in it is finite any more."""
    return min(len(rollout.bad), len(reference.states[rollout.coordinates]) - 1)


def _flat(leaf: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Steps x replays x the leaf's size, in float64."""
    return leaf.reshape(*leaf.shape[:2], -1).astype(np.float64)


def always_nonfinite(rollout: Rollout) -> tuple[str, ...]:
    """Fields that are so by design: never finite, though the state always is.

    MJX fills some fields with infinity for "none". A field is set aside only when every step of the replays
    whose state and acceleration stay finite shows it, and there is such a replay.
    """
    state = [index for index, leaf in enumerate(rollout.leaves) if leaf in (*rollout.state, "qacc")]
    healthy = ~rollout.bad[:, :, state].any(axis=(0, 2))
    if not healthy.any():
        return ()
    return tuple(np.array(rollout.leaves)[rollout.bad[:, healthy].all(axis=(0, 1))].tolist())
