"""A MuJoCo model, stepped by MJX, and recorded by MuJoCo in C and float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.bundles.bundle import Bundle
from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.facts.model import Model
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.inspect import inspect_model
from jaxdoctor.models.mjx_model import mjx_pair
from jaxdoctor.models.mjx_support import mjx_refusals, refused, try_mjx
from jaxdoctor.replay.model_files import Packed, pack, unpacked_model
from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.replay.system import Simulation, System, Twin
from jaxdoctor.rollouts.controls import read_controls
from jaxdoctor.rollouts.record import Recording, record
from jaxdoctor.rollouts.source import load_model
from jaxdoctor.workers.progress import Progress

MODEL = "model.mjb"
"""Every worker replays the same compiled model."""

LIGHT_DOFS = 8
"""With so few degrees of freedom, hundreds of replays take less time than the compile."""

PIPELINE = (
    # Position
    "xanchor", "xaxis", "xpos", "xquat", "xmat", "xipos", "ximat", "mocap_pos", "mocap_quat",
    "geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "cam_xpos", "cam_xmat",
    "subtree_com", "cinert", "cdof", "wrap_xpos", "ten_J", "ten_length",
    "crb", "M", "qM", "qLD", "qLDiagInv",
    "contact.dist", "contact.pos", "contact.frame", "contact.includemargin", "contact.friction",
    "contact.solref", "contact.solreffriction", "contact.solimp",
    "efc_J", "efc_pos", "efc_margin", "efc_frictionloss", "efc_D",
    "actuator_length", "actuator_moment",
    # Velocity
    "actuator_velocity", "ten_velocity", "cvel", "cdof_dot",
    "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive", "efc_aref", "qfrc_bias",
    "subtree_linvel", "subtree_angmom",
    # Actuation, acceleration, constraints
    "act_dot", "actuator_force", "qfrc_actuator", "qfrc_smooth", "qacc_smooth",
    "efc_force", "qacc", "qfrc_constraint", "cacc", "cfrc_int", "cfrc_ext", "qfrc_inverse", "sensordata",
    # Integration
    "qacc_warmstart", "act", "qvel", "qpos", "time",
)  # fmt: skip
"""The fields of `mjx.Data` in the order in which a step computes them."""


def _require_support(model: Any, argument: str) -> None:
    if not model.nv:
        raise UnsupportedModelError(
            f"nothing moves in {argument}: it has no joint",
            hint="MJX cannot step such a model; give the one that your run steps",
        )
    if any(refused(model, ElementLines(model, argument))):
        # MJX decides: the installed one may take more than our table says.
        try_mjx(model, argument)


def _record(plan: RecordPlan, folder: Path, progress: Progress) -> tuple[Recording, Model | None]:
    progress.stage("recording with MuJoCo in float64")
    model = load_model(plan.model)
    facts = inspect_model(model, plan.model, plan.seed)
    _require_support(model, plan.model)
    given = None if plan.controls is None else read_controls(Path(plan.controls), model)
    mujoco.mj_saveModel(model, str(folder / MODEL))
    replays = max(plan.replays, plan.light_replays if model.nv <= LIGHT_DOFS else 0)
    recording = record(model, replays=replays, steps=plan.steps, seed=plan.seed, controls=given)
    return recording, facts


def _load(plan: RecordPlan, folder: Path) -> Simulation:
    return simulation(_kept(folder), plan.model)


def _twin(plan: RecordPlan, folder: Path) -> Twin:
    del plan
    return Twin(model=_kept(folder))


def _kept(folder: Path) -> Any:
    return mujoco.MjModel.from_binary_path(str(folder / MODEL))


def simulation(model: Any, argument: str = "the model") -> Simulation:
    """The simulation of a compiled `mujoco.MjModel`.

    Raises:
        UnsupportedModelError: MJX refuses it.
    """
    with mjx_refusals(model, argument):
        parameters, blank = mjx_pair(model)
    return stepped_by_mjx(parameters, blank)


def stepped_by_mjx(model: Any, blank: Any) -> Simulation:
    """The simulation of an `mjx.Model`, in MJX's implementation in JAX, with its blank `mjx.Data`."""
    from mujoco import mjx  # noqa: PLC0415 (brings jax in, and prints)

    return Simulation(
        step=lambda parameters, data, ctrl: mjx.step(parameters, data.replace(ctrl=ctrl)),
        parameters=model,
        blank=blank,
        controls=int(model.nu),
        carried=("qpos", "qvel", "act", "qacc_warmstart"),
        state=("qpos", "qvel", "act"),
        coordinates="qpos",
        pipeline=PIPELINE,
        follows_x64=True,
        # As it is written: 0.002, and not the float32 nearest to it.
        seconds=float(str(np.asarray(model.opt.timestep))),
    )


def _pack(plan: RecordPlan, folder: Path) -> Packed:
    return pack(_kept(folder), plan.model)


def _unpack(bundle: Bundle, folder: Path) -> None:
    mujoco.mj_saveModel(unpacked_model(bundle, folder), str(folder / MODEL))


SYSTEM = System(record=_record, load=_load, twin=_twin, pack=_pack, unpack=_unpack)
