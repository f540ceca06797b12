"""The first field in pipeline order in which one step of MJX at x64 differs from MuJoCo's in C."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.models.mjx_model import mjx_pair
from jaxdoctor.replay.against_c import SMOOTH, states_in_c, take, tolerance_of
from jaxdoctor.replay.plan import PartingPlan
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.rollouts.in_c import without_reset
from jaxdoctor.workers.progress import Progress

FIELDS = (
    # Position
    "xanchor", "xaxis", "xpos", "xquat", "xmat", "xipos", "ximat", "geom_xpos", "geom_xmat",
    "site_xpos", "site_xmat", "subtree_com", "cinert", "cdof", "ten_length", "crb",
    "ncon", "contact.dist", "nefc",
    "actuator_length",
    # Velocity
    "actuator_velocity", "ten_velocity", "cvel", "cdof_dot", "qfrc_passive", "qfrc_bias",
    # Actuation and acceleration
    "act_dot", "actuator_force", "qfrc_actuator", "qfrc_smooth", "qacc_smooth",
    # Constraints
    "qfrc_constraint", "qacc",
    # Integration
    "act", "qvel", "qpos",
)  # fmt: skip
"""What `mujoco.MjData` and `mjx.Data` both have, in the order in which a step computes it."""

SOLVED = ("ncon", "contact.dist", "nefc", "qfrc_constraint", "qacc", "act", "qvel", "qpos")
"""Those that a contact or the solver decides: they may differ by what its stopping tolerance explains."""

INTEGRATED = ("act", "qvel", "qpos")
"""All that a Runge-Kutta step leaves comparable: its other fields are those of a stage between."""


def first_field(folder: str, plan: PartingPlan, *, progress: Progress) -> tuple[str, float] | None:
    """The field and its relative difference; None where every one is within its tolerance.

    Raises:
        UnsupportedModelError: MJX refuses the model.
    """
    from mujoco import mjx  # noqa: PLC0415 (prints when it is imported)

    scratch = Scratch(folder)
    twin = scratch.twin()
    if twin is None or twin.substeps != 1:
        return None
    model, recording = twin.model, scratch.recording()
    progress.stage("looking for the first field in which MJX parts from C")
    states = states_in_c(twin, recording, max(replay for _, replay in plan.worst) + 1)
    before = [{leaf: values[at] for leaf, values in states.items()} for at in plan.worst]
    ctrl = np.stack([recording.ctrl[replay, step] for step, replay in plan.worst])
    parameters, blank = mjx_pair(model)
    rows = {leaf: jnp.stack([row[leaf] for row in before]) for leaf in states}
    stepped = jax.jit(
        jax.vmap(lambda model, row, ctrl: mjx.step(model, blank.replace(**row, ctrl=ctrl)), (None, 0, 0))
    )(parameters, rows, jnp.asarray(ctrl))
    data = mujoco.MjData(model)
    worst: dict[str, float] = {}
    fields = INTEGRATED if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4 else FIELDS
    with without_reset(model):
        for number, row in enumerate(before):
            mujoco.mj_resetData(model, data)
            for name, leaf in twin.leaves.items():
                getattr(data, name)[:] = row[leaf]
            take(twin, data, ctrl[number])
            there = jax.tree.map(lambda x, number=number: x[number], stepped)
            for name, error in _errors(fields, data, mjx.get_data(model, there)):
                worst[name] = max(worst.get(name, 0.0), error)
    solved = tolerance_of(model)
    for name in fields:
        if worst[name] > (solved if name in SOLVED else SMOOTH):
            return name, worst[name]
    return None


def _errors(fields: tuple[str, ...], here: Any, there: Any) -> list[tuple[str, float]]:
    return [(name, _error(_values(here, name), _values(there, name))) for name in fields]


def _values(data: Any, name: str) -> npt.NDArray[Any]:
    if name == "contact.dist":
        # Which of two contacts comes first is nobody's matter.
        return np.sort(data.contact.dist[data.contact.dist < 0])
    return np.ravel(getattr(data, name)).astype(np.float64)


def _error(here: npt.NDArray[Any], there: npt.NDArray[Any]) -> float:
    """The largest difference against the largest value; 1 where the numbers of values differ."""
    if here.shape != there.shape:
        return 1.0
    scale = np.abs(here).max(initial=0.0)
    difference = np.abs(here - there).max(initial=0.0)
    return float(difference / scale) if scale > 0 else float(difference > 0)
