"""The workers that replay a bundle: in JAX, in MuJoCo's C engine and in Warp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.bundles.bundle import Bundle
from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.facts.bundle_replay import BundleRun
from jaxdoctor.replay.against_c import take
from jaxdoctor.replay.bundle_loader import load
from jaxdoctor.replay.ensemble import CHUNK_STEPS, Ensemble, Rollout
from jaxdoctor.replay.float64 import insist_on_float64
from jaxdoctor.replay.judge import HORIZON_TOLERANCE, always_nonfinite
from jaxdoctor.replay.plan import Lane, ReplayPlan
from jaxdoctor.replay.sweep import lane_of
from jaxdoctor.replay.system import Twin
from jaxdoctor.replay.systems.mjx import PIPELINE
from jaxdoctor.replay.warp import LEAST, ROOM, Warp
from jaxdoctor.replay.warp_engines import CARRIED
from jaxdoctor.rollouts.in_c import is_usable, without_reset
from jaxdoctor.workers.progress import Progress

Array = npt.NDArray[Any]

BY_WARNING = {"BADQPOS": "qpos", "BADQVEL": "qvel", "BADQACC": "qacc"}
"""The field of which C says that it is no usable number."""


def replay_in_jax(folder: str, plan: ReplayPlan, *, progress: Progress) -> tuple[BundleRun, ...]:
    """One run for each precision of the plan, else one as JAX computes in this process.

    The batch and the lanes are those of the program that failed: others compile to other kernels.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the bundle cannot be replayed here.
        NothingExaminedError: this is to be float64, and the step fixes something narrower.
    """
    loaded = load(folder, plan, progress)
    failure = loaded.bundle.failure
    recording = loaded.recording(failure.batch)
    progress.stage("tracing the step")
    ensemble = Ensemble(
        loaded.simulation(),
        batch=failure.batch,
        lanes=failure.lanes if plan.precisions else 1,
        emulated=bool(plan.precisions),
        all_products=plan.all_products,
        chunk=min(CHUNK_STEPS, recording.steps),
    )
    if not plan.precisions and jax.config.values["jax_enable_x64"]:
        insist_on_float64(ensemble.simulation, ensemble.program.returns, steps=recording.steps)
    progress.stage("compiling the step")
    ensemble.compile()
    progress.stage("replaying the bundle", recording.steps)
    lanes = [lane_of(precision) for precision in plan.precisions] or [Lane()]
    names = [f"{precision.name} (emulated)" for precision in plan.precisions] or [plan.how]
    rollouts = ensemble.roll_out(recording, lanes, deadline=plan.deadline, progress=progress)
    return tuple(_run_of(loaded.bundle, rollout, how) for rollout, how in zip(rollouts, names, strict=False))


def _run_of(bundle: Bundle, rollout: Rollout, how: str) -> BundleRun:
    """What the first row did."""
    aside = set(always_nonfinite(rollout)) - set(bundle.failure.fields)
    watched = np.array([leaf not in aside for leaf in rollout.leaves])
    bad = rollout.bad[:, 0] & watched
    run = _judged(bundle, how, bad.any(axis=1), lambda step: rollout.leaves[int(bad[step].argmax())])
    return _compared(bundle, run, rollout.coordinates, {k: v[:, 0] for k, v in rollout.states.items()})


def _judged(bundle: Bundle, how: str, ill: Array, field: Any) -> BundleRun:
    """A run by which of its steps were not finite; steps of the physics, counted as recorded steps are."""
    if not ill.any():
        return BundleRun(how=how)
    step = int(ill.argmax())
    return BundleRun(
        how=how, first_bad_step=bundle.begins + step // bundle.substeps, first_bad_field=field(step)
    )


def _compared(bundle: Bundle, run: BundleRun, leaf: str, states: Mapping[str, Array]) -> BundleRun:
    """The run with how far a coordinate came from the recorded ones.

    Args:
        bundle: has the recorded ones.
        run: is completed.
        leaf: whose coordinates are compared.
        states: before each step of the physics and after the last.
    """
    if leaf not in bundle.state or leaf not in states:
        return run
    first = bundle.first_step - bundle.begins
    here = np.asarray(states[leaf][:: bundle.substeps][first : first + bundle.steps], np.float64)
    there = np.asarray(bundle.state[leaf][: len(here)], np.float64)
    apart = np.abs(here - there).reshape(len(here), -1).max(axis=1, initial=0.0)
    left = ~(apart <= HORIZON_TOLERANCE)
    finite = apart[np.isfinite(apart)]
    return replace(
        run,
        left_at=bundle.first_step + int(left.argmax()) if left.any() else None,
        difference=float(finite.max()) if finite.size else None,
    )


def replay_in_c(folder: str, plan: ReplayPlan, *, progress: Progress) -> tuple[BundleRun, ...]:
    """The recorded controls in C and float64, with its auto-reset off.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the bundle cannot be replayed here.
    """
    loaded = load(folder, plan, progress)
    twin, bundle = loaded.twin(), loaded.bundle
    progress.stage("replaying in C", bundle.steps)
    data = mujoco.MjData(twin.model)
    _set(twin, data, bundle)
    leaf = twin.leaves["qpos"]
    kept, ill, field = [data.qpos.copy()], [], ""
    with without_reset(twin.model):
        for control in loaded.recording(1).ctrl[0]:
            take(twin, data, control)
            kept.append(data.qpos.copy())
            ill.append(not is_usable(data) or bool(_nonfinite(data)))
            if ill[-1]:
                field = _nonfinite(data) or next(
                    (name for word, name in BY_WARNING.items() if _warned(data, word)), "qacc"
                )
                break
    run = _judged(bundle, "MuJoCo in C", np.array(ill), lambda _: field)
    return (_compared(bundle, run, leaf, {leaf: np.stack(kept)}),)


def _set(twin: Twin, data: Any, bundle: Bundle) -> None:
    """Puts the recorded start into C's data.

    Raises:
        UnsupportedModelError: the bundle has not all of it.
    """
    for name, leaf in twin.leaves.items():
        if leaf not in bundle.starts:
            if name in ("qpos", "qvel"):
                raise UnsupportedModelError(
                    f"the bundle has no {leaf}, from which C would start", hint="leave --engine c away"
                )
            continue
        target, values = getattr(data, name), bundle.starts[leaf]
        if target.shape != values.shape:
            raise UnsupportedModelError(
                f"{leaf} was recorded as {values.shape}, and the model has {target.shape}",
                hint="leave --engine c away",
            )
        target[:] = values
    for name in ("mocap_pos", "mocap_quat"):
        if name in bundle.starts and getattr(data, name).shape == bundle.starts[name].shape:
            getattr(data, name)[:] = bundle.starts[name]


def _nonfinite(data: Any) -> str:
    """The first field, in the order in which a step computes them, that is not finite; or nothing."""
    for name in PIPELINE:
        values = getattr(data, name, None)
        if isinstance(values, np.ndarray) and values.size and not np.isfinite(values).all():
            return name
    return ""


def _warned(data: Any, word: str) -> bool:
    return bool(data.warning[mujoco.mjtWarning.__members__[f"mjWARN_{word}"]].number)


def replay_in_warp(folder: str, plan: ReplayPlan, *, progress: Progress) -> tuple[BundleRun, ...]:
    """The recorded controls in MuJoCo Warp, which computes in float32.

    Raises:
        MissingPackageError: warp-lang is not installed.
        UsageError, UnreadableError, UnsupportedModelError: the bundle cannot be replayed here.
    """
    loaded = load(folder, plan, progress)
    twin, bundle = loaded.twin(), loaded.bundle
    if twin.substeps != 1 or set(twin.leaves) != set(CARRIED):
        raise UnsupportedModelError(
            f"{bundle.subject} is no model that Warp steps alone", hint="leave --engine warp away"
        )
    progress.stage("compiling Warp's kernels")
    room = _room(twin, bundle)
    engine = Warp(twin.model, 1, *room)
    recording = loaded.recording(1)
    starts = {name: recording.starts.get(name, np.zeros((1, *_shape(twin, name)))) for name in CARRIED}
    progress.stage("replaying in Warp", recording.steps)
    rollout = engine.roll_out(starts, np.moveaxis(recording.ctrl, 0, 1), None, plan.deadline, progress)
    return (_run_of(bundle, rollout, "MuJoCo Warp"),)


def _shape(twin: Twin, name: str) -> Sequence[int]:
    shape: Sequence[int] = getattr(mujoco.MjData(twin.model), name).shape
    return shape


def _room(twin: Twin, bundle: Bundle) -> tuple[int, int]:
    """Contacts and constraints that Warp has room for: several times those of the recorded poses."""
    data, contacts, constraints = mujoco.MjData(twin.model), 0, 0
    with without_reset(twin.model):
        for qpos in bundle.state.get("qpos", ()):
            if np.isfinite(qpos).all():
                data.qpos[:] = qpos
                mujoco.mj_fwdPosition(twin.model, data)
                contacts, constraints = max(contacts, data.ncon), max(constraints, data.nefc)
    return max(LEAST, ROOM * contacts), max(LEAST, ROOM * constraints)
