"""An `mjx.Model` that a function of the user's made: stepped as it is, without a twin in C.

MuJoCo's compiled model, which a recording in C takes, cannot be had from it. So every worker calls the
function again, as it does for an environment.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.errors import UnsupportedModelError, UsageError
from jaxdoctor.facts.model import QPOS0
from jaxdoctor.models.mjx_model import blank_data
from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.replay.system import Simulation
from jaxdoctor.replay.systems.mjx import stepped_by_mjx
from jaxdoctor.rollouts.controls import random_controls
from jaxdoctor.rollouts.record import VELOCITY_SCALE, Recording, default_steps

OF_CONTROLS = (
    "actuator_ctrllimited", "actuator_ctrlrange", "actuator_biastype", "actuator_biasprm",
    "actuator_trntype", "actuator_trnid", "jnt_limited", "jnt_range", "jnt_qposadr",
)  # fmt: skip
"""Arrays that random controls are chosen by."""


def record(model: Any, plan: RecordPlan, name: str) -> Recording:
    """Replays from qpos0, the first at rest and the others with a little speed, under random controls.

    Args:
        model: an `mjx.Model`.
        plan: how many replays and steps, and the seed.
        name: what messages call it.

    Raises:
        UsageError: it is Warp's, or a batch of models.
        UnsupportedModelError: nothing moves in it.
    """
    _insist(model, name)
    # The shortest decimal of a float32: 0.002, and not 0.0020000000949949026.
    seconds = float(str(np.asarray(model.opt.timestep)))
    generator = np.random.default_rng(plan.seed)
    qpos = np.asarray(model.qpos0, np.float64)
    qvel = VELOCITY_SCALE * generator.standard_normal((plan.replays, model.nv))
    qvel[0] = 0
    steps = plan.steps or default_steps(seconds)
    fields = {field: np.asarray(getattr(model, field)) for field in OF_CONTROLS}
    on_host = SimpleNamespace(**fields, nu=model.nu, nkey=0, opt=SimpleNamespace(timestep=seconds))
    return Recording(
        starts={
            "qpos": np.repeat(qpos[None], plan.replays, axis=0),
            "qvel": qvel,
            "act": np.zeros((plan.replays, model.na)),
        },
        ctrl=random_controls(on_host, plan.replays, steps, generator, qpos=qpos),
        start=QPOS0,
        controls="band-limited random" if model.nu else "none, for the model has no actuators",
        seconds=seconds,
    )


def simulation(model: Any) -> Simulation:
    """The model's simulation, in the precision of this process."""
    dtype = jnp.zeros(()).dtype
    cast = jax.tree.map(
        lambda leaf: (
            jnp.asarray(leaf, dtype) if jnp.issubdtype(jnp.result_type(leaf), jnp.floating) else leaf
        ),
        model,
    )
    return stepped_by_mjx(cast, blank_data(cast))


def _insist(model: Any, name: str) -> None:
    impl = getattr(getattr(model, "impl", None), "value", "jax")
    if impl != "jax":
        raise UsageError(
            f"{name} returns an mjx.Model in {impl}, where no setting of JAX reaches",
            hint='make it with mjx.put_model(model, impl="jax"), or return the mujoco.MjModel',
        )
    if np.ndim(model.qpos0) != 1:
        raise UsageError(
            f"{name} returns a batch of models, for qpos0 has the shape {np.shape(model.qpos0)}",
            hint="return one of them: batches are made here",
        )
    if not model.nv:
        raise UnsupportedModelError(
            f"nothing moves in {name}: it has no joint", hint="return the model that your run steps"
        )
