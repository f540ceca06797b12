"""Changes to a model that may mend a rollout that fails, likeliest first; none is advised untried."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.facts.model import Servo, rounded_up
from jaxdoctor.models.constraints import is_disabled
from jaxdoctor.models.contacts import geom_pairs
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.inertia import felt_inertias
from jaxdoctor.models.poses import start_pose
from jaxdoctor.models.servos import SCALAR_JOINTS, servos, thrown

LEAST_FRICTION = 0.01
"""Sliding friction below it makes MJX's and MuJoCo's solvers divide by next to nothing."""

SOFT_SECONDS = 0.05
"""The time constant of a contact, limit or loop that is soft for every usual timestep, in seconds."""

SOFT_STEPS = 10
"""And at least so many timesteps."""

ARMATURE_SHARE = 0.01
"""Of the inertia that a hinge or slide moves: as much outweighs what rounding does to it."""

DAMPED_SECONDS = 0.1
"""Damping is tried that stops what a joint feels within such a time."""

MOST_LOOPS = 4
"""So many loops are softened one by one."""

MORE_ITERATIONS = 4

NOTICED = 0.1
"""Servos of at least this share of what the timestep follows count in a swing of several joints."""

FARTHEST_THROW, USUAL_THROW = 0.5, 0.05
"""Radians or metres that a motor moves its joint in one timestep: too far, and as far as will do."""

PASSIVE = {
    "damping": ("dof_damping", "tendon_damping"),
    "stiffness": ("jnt_stiffness", "tendon_stiffness"),
}
"""Fields of a model that push along a motion where they are negative."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change, in the words of the file."""

    name: str
    """'cone="pyramidal"'."""

    apply: Callable[[Any], None]
    """Changes a copy of the compiled model in place."""

    halves_timestep: bool = False
    """Whether a control then holds for two steps."""


def changed(model: Any, change: Change) -> Any:
    """A copy of the compiled model with the change."""
    other = copy.copy(model)
    change.apply(other)
    return other


def changes(model: Any, touched: Collection[int] | None = None) -> Iterator[Change]:
    """What may mend a rollout of the compiled model, likeliest first.

    Args:
        model: the compiled model.
        touched: the geoms that touch others in the rollout; None: not known.
    """
    yield from _feedback(model)
    yield from _gains(model)
    yield from _forces(model)
    yield from _friction(model)
    yield from _cone(model)
    yield Change(name=f'timestep="{model.opt.timestep / 2:g}"', apply=_halve_timestep, halves_timestep=True)
    yield from _inertia(model)
    yield from _softness(model)
    yield from _solver(model)
    if touched is not None:
        yield from _untouched(model, touched)


def _halve_timestep(model: Any) -> None:
    model.opt.timestep /= 2


def _touching(model: Any) -> list[int]:
    """Geoms that can touch others."""
    if is_disabled(model, mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return []
    return sorted({geom for first, second, _ in geom_pairs(model) for geom in (first, second)})


def _feedback(model: Any) -> Iterator[Change]:
    affine = model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE
    pushing = affine & (model.actuator_biasprm[:, 2] > 0)
    if pushing.any():

        def braking(model: Any) -> None:
            model.actuator_biasprm[pushing, 2] *= -1

        yield Change(name="a negative third number of biasprm, where it is positive", apply=braking)
    for kind, fields in PASSIVE.items():
        if any((getattr(model, field) < 0).any() for field in fields):

            def positive(model: Any, fields: Collection[str] = fields) -> None:
                for field in fields:
                    values = getattr(model, field)
                    values[:] = np.abs(values)

            yield Change(name=f"a positive {kind}, where it is negative", apply=positive)


def _gains(model: Any) -> Iterator[Change]:
    """Of the servos that the timestep does not follow."""
    timestep = float(model.opt.timestep)
    state = mujoco.MjData(model)
    state.qpos[:] = start_pose(model).qpos
    mujoco.mj_fwdPosition(model, state)
    moved = [servo for servo in servos(model, ElementLines(model, ""), state) if servo.inertia > 0]
    stiff = [servo for servo in moved if servo.stiffness_ratio(timestep) > 1]
    if not stiff:
        return
    yield _softer(stiff, max(servo.divisor(timestep) for servo in stiff))
    together = [servo for servo in moved if servo.stiffness_ratio(timestep) > NOTICED]
    if len(together) > 1:
        # A swing of several joints is no stiffer than all of them one by one, added up.
        yield _softer(together, sum(max(servo.divisor(timestep), 0.0) for servo in together))


def _softer(stiff: Sequence[Servo], divisor: float) -> Change:
    divisor = rounded_up(divisor)
    numbers = [servo.number for servo in stiff]

    def softer(model: Any) -> None:
        model.actuator_gainprm[numbers] /= divisor
        model.actuator_biasprm[numbers] /= divisor

    named = str(stiff[0].spot) if len(stiff) == 1 else f"{len(stiff)} servos"
    return Change(name=f"kp and kv divided by {divisor:g} on {named}", apply=softer)


def _forces(model: Any) -> Iterator[Change]:
    """Of motors that throw their joint farther in one timestep than a timestep can tell."""
    steps = thrown(model)
    strong = [actuator for actuator, far in enumerate(steps) if far > FARTHEST_THROW]
    if not strong:
        return
    divisor = rounded_up(max(steps) / USUAL_THROW)

    def weaker(model: Any) -> None:
        model.actuator_gear[strong] /= divisor

    spot = ElementLines(model, "").at("actuator", strong[0])
    named = str(spot) if len(strong) == 1 else f"{len(strong)} actuators"
    yield Change(name=f"gear divided by {divisor:g} on {named}", apply=weaker)


def _friction(model: Any) -> Iterator[Change]:
    geoms = _touching(model)
    slippery = [geom for geom in geoms if model.geom_friction[geom, 0] < LEAST_FRICTION]
    if slippery or (geoms and model.npair and (model.pair_friction[:, :2] < LEAST_FRICTION).any()):

        def rougher(model: Any) -> None:
            model.geom_friction[slippery, 0] = LEAST_FRICTION
            model.pair_friction[:, :2] = np.maximum(model.pair_friction[:, :2], LEAST_FRICTION)

        yield Change(name=f'friction="{LEAST_FRICTION:g}" where it is less', apply=rougher)
        if model.opt.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL:

            def frictionless(model: Any) -> None:
                model.geom_condim[slippery] = 1
                model.pair_dim[(model.pair_friction[:, :2] < LEAST_FRICTION).all(axis=1)] = 1

            yield Change(name='condim="1" where friction is less than 0.01', apply=frictionless)


def _cone(model: Any) -> Iterator[Change]:
    if not _touching(model):
        return
    elliptic = model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    other = mujoco.mjtCone.mjCONE_PYRAMIDAL if elliptic else mujoco.mjtCone.mjCONE_ELLIPTIC
    if not elliptic and (model.geom_condim == 1).any():
        # MJX refuses contacts without friction under the elliptic cone.
        return

    def cone(model: Any) -> None:
        model.opt.cone = other

    yield Change(name=f'cone="{"pyramidal" if elliptic else "elliptic"}"', apply=cone)


def _inertia(model: Any) -> Iterator[Change]:
    scalar = np.isin(model.jnt_type[model.dof_jntid], list(SCALAR_JOINTS))
    if not scalar.any():
        return
    felt = np.where(scalar, felt_inertias(model, start_pose(model)), 0.0)

    def heavier(model: Any) -> None:
        model.dof_armature[:] = np.maximum(model.dof_armature, ARMATURE_SHARE * felt)

    def slower(model: Any) -> None:
        # Newer MuJoCo has coefficients of higher powers of the velocity behind the first.
        linear = model.dof_damping if model.dof_damping.ndim == 1 else model.dof_damping[:, 0]
        linear[:] = np.maximum(linear, felt / DAMPED_SECONDS)

    yield Change(name="armature of 1/100 of the inertia that each joint moves", apply=heavier)
    yield Change(name=f"damping that stops each joint in {DAMPED_SECONDS:g} s", apply=slower)


def _untouched(model: Any, touched: Collection[int]) -> Iterator[Change]:
    """Geoms without a `<pair>` that could touch others, and do not: their pairs are computed all the same."""
    idle = sorted({geom for one, other, pair in geom_pairs(model) if pair < 0 for geom in (one, other)})
    idle = [geom for geom in idle if geom not in touched]
    if not idle or not _touching(model):
        return

    def excluded(model: Any) -> None:
        model.geom_contype[idle] = 0
        model.geom_conaffinity[idle] = 0

    named = "the geom" if len(idle) == 1 else f"the {len(idle)} geoms"
    yield Change(name=f'contype="0" conaffinity="0" on {named} that never touched', apply=excluded)


def _softness(model: Any) -> Iterator[Change]:
    seconds = max(SOFT_SECONDS, SOFT_STEPS * float(model.opt.timestep))
    if _touching(model) or model.jnt_limited.any() or model.tendon_limited.any():

        def softer(model: Any) -> None:
            for values in (model.geom_solref, model.pair_solref, model.jnt_solref, model.tendon_solref_lim):
                values[:] = (seconds, 1.0)

        yield Change(name=f'solref="{seconds:g} 1" on contacts and limits', apply=softer)
    spots = ElementLines(model, "")
    for loop in np.flatnonzero(model.eq_active0)[:MOST_LOOPS]:

        def looser(model: Any, loop: int = int(loop)) -> None:
            model.eq_solref[loop] = (seconds, 1.0)

        yield Change(name=f'solref="{seconds:g} 1" on {spots.at("equality", int(loop))}', apply=looser)


def _solver(model: Any) -> Iterator[Change]:
    kinds = mujoco.mjtSolver
    newton = model.opt.solver == kinds.mjSOL_NEWTON

    def solver(model: Any) -> None:
        model.opt.solver = kinds.mjSOL_CG if newton else kinds.mjSOL_NEWTON

    def iterations(model: Any) -> None:
        model.opt.iterations *= MORE_ITERATIONS
        model.opt.ls_iterations *= MORE_ITERATIONS

    fast = model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST

    def integrator(model: Any) -> None:
        kinds = mujoco.mjtIntegrator
        model.opt.integrator = kinds.mjINT_EULER if fast else kinds.mjINT_IMPLICITFAST

    yield Change(name=f'solver="{"CG" if newton else "Newton"}"', apply=solver)
    drag = model.opt.density > 0 or model.opt.viscosity > 0 or model.opt.wind.any()
    # MJX has no drag under implicitfast.
    if fast or not drag:
        yield Change(name=f'integrator="{"Euler" if fast else "implicitfast"}"', apply=integrator)
    counts = f'iterations="{model.opt.iterations * MORE_ITERATIONS}"'
    lines = f'ls_iterations="{model.opt.ls_iterations * MORE_ITERATIONS}"'
    yield Change(name=f"{counts} {lines}", apply=iterations)
