"""An environment, driven by a policy inside the program, or the model that a function of the user's made."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from jaxdoctor.errors import NothingExaminedError, UnsupportedModelError, UsageError
from jaxdoctor.facts.closed_loop import MJX, WARP
from jaxdoctor.facts.model import Model
from jaxdoctor.models.inspect import inspect_model
from jaxdoctor.programs.jax_internals import inner_jaxprs
from jaxdoctor.programs.named import first_line, raised
from jaxdoctor.replay import mjx_model, recorded_model
from jaxdoctor.replay.closed_loop import Begun, begun, closed_loop, loop_of
from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.replay.system import Simulation, System, Twin
from jaxdoctor.replay.variations import opened
from jaxdoctor.rollouts.controls import read_actions
from jaxdoctor.rollouts.environments import Environment, make
from jaxdoctor.rollouts.own_resets import resets_itself
from jaxdoctor.rollouts.policy import Policy, Sizes, build_policy
from jaxdoctor.rollouts.record import LEAST_SECONDS, Recording
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.rollouts.sources.environment import BRAX, PLAYGROUND
from jaxdoctor.workers.progress import Progress

BEGUN, MODEL = "begun", "made.mjb"
"""Every worker goes on from the same reset, or from the same model."""

LEAST_STEPS = 100
"""A closed loop is by default as long as the longer of this and a second."""

MUJOCOS = {MJX, WARP}
"""The engines of MuJoCo's models, for which the rules about models are written."""

CALLBACKS = {"debug_callback", "debug_print", "io_callback", "pure_callback"}


def _record(plan: RecordPlan, folder: Path, progress: Progress) -> tuple[Recording, Model | None]:
    jax.config.update("jax_enable_x64", False)  # type: ignore[no-untyped-call]  # the reset is the same for every precision
    progress.stage("making the environment")
    made = _made(plan)
    if not isinstance(made, Environment):
        return _recorded_model(made, plan, folder, progress)
    policy = _policy(plan, made)
    progress.stage("resetting the environment")
    first = begun(made, plan.replays, plan.seed)
    _insist_on_step(closed_loop(made, policy, first), made.name)
    _insist_on_episodes(made)
    (folder / BEGUN).write_bytes(pickle.dumps(first))
    if plan.controls is not None:
        return _with_actions(made, first, plan), inspected(made, plan.seed)
    steps = plan.steps or max(LEAST_STEPS, int(np.ceil(LEAST_SECONDS / made.seconds - 1e-9)))
    loop = loop_of(made, policy)
    recording = Recording(
        starts=_starts(first),
        ctrl=np.zeros((plan.replays, steps, 0)),
        start=_start(plan),
        controls=f"{policy.name}, closed loop in {loop.physics}",
        loop=loop,
        seconds=_seconds(made),
    )
    return recording, inspected(made, plan.seed)


def _with_actions(environment: Environment, first: Begun, plan: RecordPlan) -> Recording:
    """The environment alone, given the actions of a file: no policy answers what it does."""
    assert plan.controls is not None
    size = 1 if environment.discrete else environment.action_size
    given = read_actions(Path(plan.controls), size, environment.name)
    return Recording(
        starts=_starts(first),
        ctrl=given.take(plan.replays, plan.steps),
        start=_start(plan),
        controls=f"the actions of {given.origin}",
        seconds=_seconds(environment),
    )


def _starts(first: Begun) -> dict[str, Any]:
    return {name: leaf for name, leaf in first.leaves.items() if name not in first.shared}


def _start(plan: RecordPlan) -> str:
    return f"its own reset, with keys from seed {plan.seed}"


def _seconds(environment: Environment) -> float | None:
    return environment.seconds if isinstance(environment.model, mujoco.MjModel) else None


def _recorded_model(
    made: Any, plan: RecordPlan, folder: Path, progress: Progress
) -> tuple[Recording, Model | None]:
    named = find_source(plan.model).load(plan.model)
    if named.policy is not None:
        raise UsageError(f"{named.shown} returns a model, which no policy drives", hint="leave --policy out")
    if isinstance(made, mujoco.MjModel):
        return recorded_model.record(made, plan, folder / MODEL, progress)
    return mjx_model.record(made, plan, named.shown), None


def _load(plan: RecordPlan, folder: Path) -> Simulation:
    if (folder / MODEL).exists():
        return recorded_model.load(folder / MODEL, find_source(plan.model).load(plan.model).shown)
    made = _made(plan)
    if not isinstance(made, Environment):
        return mjx_model.simulation(made)
    first = pickle.loads((folder / BEGUN).read_bytes())  # noqa: S301 (our own worker wrote it)
    assert isinstance(first, Begun)
    loop = closed_loop(made, _policy(plan, made), first)
    return loop if plan.controls is None else replace(opened(loop), driven=None, kept=None)


def _twin(plan: RecordPlan, folder: Path) -> Twin | None:
    del plan
    return recorded_model.twin(folder / MODEL) if (folder / MODEL).exists() else None


def _made(plan: RecordPlan) -> Any:
    return make(find_source(plan.model).load(plan.model))


def _policy(plan: RecordPlan, environment: Environment) -> Policy:
    assert plan.policy is not None
    struct: Any = jax.ShapeDtypeStruct
    seen = jax.eval_shape(
        lambda key: environment.observation(environment.reset(key)), struct((2,), jnp.uint32)
    )
    sizes = Sizes(
        observation=jax.tree.map(lambda leaf: leaf.shape, seen),
        action=environment.action_size,
        discrete=environment.discrete,
    )
    draws = find_source(plan.model).load(plan.model).draws
    return build_policy(plan.policy, sizes, seed=plan.seed, stochastic=draws)


def inspected(environment: Environment, seed: int) -> Model | None:
    """What can be said of the model, where it is told and MuJoCo's equations step it.

    Brax's own backends read MuJoCo's models and leave its solver, contacts and timestep aside.
    """
    if environment.engine not in MUJOCOS or not isinstance(environment.model, mujoco.MjModel):
        return None
    return inspect_model(environment.model, environment.name, seed)


def _insist_on_step(simulation: Simulation, name: str) -> None:
    """Traces one step.

    Raises:
        NothingExaminedError: it raises, cannot be traced, calls Python, or returns another state than reset.
    """
    traced = jax.make_jaxpr(simulation.step, return_shape=True)
    try:
        closed, after = traced(simulation.parameters, simulation.blank, jnp.zeros(0))
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise NothingExaminedError(
            f"step of {name} cannot be traced: {first_line(error)}", hint=raised(error, name).hint
        ) from error
    except (Exception, SystemExit) as error:
        raise raised(error, f"step of {name}") from error
    if _calls_python(closed.jaxpr):
        raise NothingExaminedError(
            f"step of {name} prints, or calls Python from its program", hint="take that out to replay it"
        )
    before = jax.tree_util.tree_leaves_with_path(simulation.blank)
    shapes = {jax.tree_util.keystr(path): leaf.shape for path, leaf in before}
    for path, leaf in jax.tree_util.tree_leaves_with_path(after):
        key = jax.tree_util.keystr(path)
        if shapes.pop(key, None) != leaf.shape:
            raise _other_state(name, key)
    if shapes:
        raise _other_state(name, next(iter(shapes)))


def _insist_on_episodes(environment: Environment) -> None:
    """Raises where an environment of the user's begins new episodes in its step.

    Raises:
        NothingExaminedError: it does.
    """
    if not environment.name.startswith((f"{BRAX}:", f"{PLAYGROUND}:")) and resets_itself(environment):
        raise NothingExaminedError(
            f"step of {environment.name} resets by itself where it is done",
            hint="let step_env, or the step of what is returned, leave the reset out: it hides NaN",
        )


def _other_state(name: str, leaf: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"step of {name} returns another state than its reset, at {leaf}",
        hint="let both return the same structure and shapes, as jax.lax.scan asks for",
    )


def _calls_python(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name in CALLBACKS or any(_calls_python(inner) for inner in inner_jaxprs(eqn))
        for eqn in jaxpr.eqns
    )


SYSTEM = System(record=_record, load=_load, twin=_twin)
