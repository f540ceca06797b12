"""A closed loop varied: with the auto-reset of training, and open, with actions that were recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.facts.closed_loop import AutoReset
from jaxdoctor.replay.closed_loop import ACTION, DONE, NEXT, NORMALISED, OUTPUT, SEEN, STATE, until_over
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.fields import leaf_names, nonfinite, picked
from jaxdoctor.replay.system import Simulation
from jaxdoctor.rollouts.record import Recording

FIRST, MASKED, LEFT = "first", "masked", "left"
"""What the auto-reset goes back to, and whether a step's NaN was masked by it or left."""


def opened(simulation: Simulation) -> Simulation:
    """The environment alone: its actions are controls from outside."""
    driven, blank = simulation.driven, simulation.blank
    assert driven is not None
    shape = blank[ACTION]

    def step(parameters: Any, now: dict[str, Any], control: Any) -> dict[str, Any]:
        del parameters
        action = control.reshape(shape.shape).astype(shape.dtype)
        unused = {name: jax.tree.map(jnp.zeros_like, blank[name]) for name in (NORMALISED, OUTPUT)}
        after = {**driven.advance(now, action), **unused, SEEN: now[NEXT], ACTION: action}
        return until_over(now, after, simulation.shared)

    return replace(simulation, step=step, controls=shape.size)


def with_actions(recording: Recording, rollout: Rollout) -> Recording:
    """The start states of the rollout's replays with the actions of it; 0 from where it was not finite."""
    actions = np.nan_to_num(np.asarray(rollout.states[ACTION][1:], np.float64))
    steps, replays = actions.shape[:2]
    return replace(
        recording,
        starts={name: leaf[:replays] for name, leaf in recording.starts.items()},
        ctrl=np.moveaxis(actions.reshape(steps, replays, -1), 0, 1),
    )


def resetting(simulation: Simulation) -> Simulation:
    """The closed loop as training runs it: where `done`, what the wrappers put back begins anew."""
    driven = simulation.driven
    assert driven is not None
    watched = simulation.ends or ()

    def step(parameters: Any, now: dict[str, Any], control: Any) -> dict[str, Any]:
        # An episode that ended was begun anew, so it is not over.
        going_on = {**_without(now), DONE: jnp.zeros_like(now[DONE])}
        after = simulation.step(parameters, going_on, control)
        broken, done = _broken(after, watched), after[DONE]
        fresh = driven.restart(now[FIRST], after)
        chosen = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, after)
        left = (broken & ~done) | _broken(chosen, watched)
        return {**chosen, FIRST: now[FIRST], MASKED: broken & done, LEFT: left}

    first = {name: simulation.blank[name] for name in (STATE, NEXT)}
    blank = {**simulation.blank, FIRST: first, MASKED: jnp.asarray(False), LEFT: jnp.asarray(False)}
    kept = (*(simulation.kept or ()), MASKED, LEFT)
    carried = (*simulation.carried, *(name for name in leaf_names(blank) if name.startswith(f"{FIRST}.")))
    return replace(simulation, step=step, blank=blank, carried=carried, kept=kept, driven=None)


def _without(now: Mapping[str, Any]) -> dict[str, Any]:
    return {name: leaf for name, leaf in now.items() if name not in (FIRST, MASKED, LEFT)}


def _broken(state: Any, watched: Sequence[str]) -> jax.Array:
    return jnp.stack([nonfinite(leaf, 0) for leaf in picked(state, watched).values()]).any()


def with_first(recording: Recording) -> Recording:
    """The start states, with themselves as what an auto-reset goes back to."""
    firsts = {
        f"{FIRST}.{name}": leaf
        for name, leaf in recording.starts.items()
        if name.partition(".")[0] in (STATE, NEXT)
    }
    return replace(recording, starts={**recording.starts, **firsts})


def auto_reset_of(rollout: Rollout) -> AutoReset:
    """How often an auto-reset hid NaN, and how many rows it left."""
    masked, left = (np.asarray(rollout.states[name][1:], bool) for name in (MASKED, LEFT))
    steps, rows = left.shape
    left_at = np.where(left.any(axis=0), left.argmax(axis=0), steps)
    # After a row was left, it computes another's.
    within = np.arange(steps)[:, None] < left_at
    return AutoReset(
        rows=rows, steps=steps, masked=int((masked & within).sum()), left=int((left_at < steps).sum())
    )
