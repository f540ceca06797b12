"""An environment with the policy that drives it, as one pure step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.facts.closed_loop import OWN, ClosedLoop
from jaxdoctor.replay.fields import floating_leaves, leaf_names, replaced
from jaxdoctor.replay.system import Driven, Simulation
from jaxdoctor.replay.systems.mjx import PIPELINE
from jaxdoctor.rollouts.environments import Environment
from jaxdoctor.rollouts.policy import Policy

KEY, SEEN, NORMALISED, OUTPUT, ACTION = "key", "observation", "normalised", "output", "action"
STATE, REWARD, DONE, NEXT = "state", "reward", "done", "next_observation"
"""What a step's state holds, in the order in which a step computes it."""


@dataclass(frozen=True, kw_only=True)
class Begun:
    """The state of every replay after the environment's reset, by leaf."""

    leaves: dict[str, Any]
    """By the leaf's name in the step's state: replays x the leaf's shape, or as all replays share it."""

    shared: tuple[str, ...] = ()
    """Leaves without an axis of replays."""

    aside: tuple[str, ...] = ()
    """Floating leaves that no replay begins finite: infinity stands for "none" in them."""


def begun(environment: Environment, replays: int, seed: int) -> Begun:
    """Resets the environment for every replay in one program, in float32 at `highest`."""
    keys = jax.random.split(jax.random.PRNGKey(seed), replays)

    def reset(key: Any) -> Any:
        of_reset, of_policy = jax.random.split(key)
        return _first(environment, environment.reset(of_reset), of_policy)

    with jax.default_matmul_precision("highest"):
        state = jax.jit(jax.vmap(reset))(keys)
    names, leaves = leaf_names(state), [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
    shared = _shared(reset, names) if environment.in_warp else ()
    aside = [
        name
        for name, leaf in zip(names, leaves, strict=True)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
        and leaf.size
        and name not in shared
        and _never_finite(leaf)
    ]
    by_name = dict(zip(names, leaves, strict=True))
    return Begun(leaves=by_name, shared=shared, aside=tuple(aside))


def _never_finite(leaf: Any) -> bool:
    return not np.isfinite(leaf.reshape(len(leaf), -1)).all(axis=1).any()


def _shared(reset: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Leaves whose shape does not grow with the batch."""
    struct: Any = jax.ShapeDtypeStruct
    shapes = [
        jax.tree.leaves(jax.eval_shape(jax.vmap(reset), struct((batch, 2), jnp.uint32))) for batch in (2, 3)
    ]
    return tuple(name for name, two, three in zip(names, *shapes, strict=True) if two.shape == three.shape)


def _first(environment: Environment, state: Any, key: Any) -> dict[str, Any]:
    """What is known before the first step."""
    return {
        DONE: jnp.asarray(environment.done(state)).astype(bool),
        KEY: key,
        NEXT: environment.observation(state),
        REWARD: jnp.asarray(environment.reward(state), jnp.asarray(0.0).dtype),
        STATE: _plain(state),
    }


def _plain(state: Any) -> Any:
    """Random keys of a type of their own as the numbers that they are, and Python's numbers as arrays."""
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else jnp.asarray(leaf), state)


def until_over(now: dict[str, Any], after: dict[str, Any], shared: Sequence[str]) -> dict[str, Any]:
    """The state after a step; where the episode was over before it, the state that it ended in.

    Training and inference begin a new episode there, so what an environment computes past its end says
    nothing: a pendulum that has fallen goes on to fall.

    Args:
        now: the state before the step.
        after: the state after it.
        shared: leaves without an axis of replays, which go on.
    """
    before = dict(zip(leaf_names(now), jax.tree.leaves(now), strict=True))
    held = {
        # In the dtype of the step: with x64 the first state may be wider than what a step makes of it.
        name: jnp.where(now[DONE], before[name].astype(leaf.dtype), leaf)
        for name, leaf in zip(leaf_names(after), jax.tree.leaves(after), strict=True)
        if name not in shared and name in before and before[name].shape == leaf.shape
    }
    result: dict[str, Any] = replaced(after, held)
    return result


def _is_key(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def closed_loop(environment: Environment, policy: Policy, begun: Begun) -> Simulation:
    """The simulation of one replay: the policy sees, acts, and the environment answers."""
    struct: Any = jax.ShapeDtypeStruct
    state = jax.eval_shape(environment.reset, struct((2,), jnp.uint32))
    kinds, structure = jax.tree.leaves(state), jax.tree.structure(state)

    def typed(plain: Any) -> Any:
        leaves = [
            jax.random.wrap_key_data(leaf, impl=jax.random.key_impl(kind)) if _is_key(kind) else leaf
            for leaf, kind in zip(jax.tree.leaves(plain), kinds, strict=True)
        ]
        return jax.tree.unflatten(structure, leaves)

    def advance(now: dict[str, Any], action: Any) -> dict[str, Any]:
        following = jax.random.split(now[KEY])[0]
        return _first(environment, environment.step(typed(now[STATE]), action), following)

    def restart(first: Any, now: dict[str, Any]) -> dict[str, Any]:
        state = environment.restarted(typed(first[STATE]), typed(now[STATE]))
        return {**now, STATE: _plain(state), NEXT: environment.observation(state)}

    def step(parameters: Any, now: dict[str, Any], control: Any) -> dict[str, Any]:
        del control
        act = policy.apply(parameters, now[NEXT], jax.random.split(now[KEY])[1])
        after = {
            **advance(now, act.action),
            SEEN: now[NEXT],
            NORMALISED: act.normalised,
            OUTPUT: act.output,
            ACTION: act.action,
        }
        return until_over(now, after, begun.shared)

    first = jax.eval_shape(
        lambda key: _first(environment, environment.reset(key), key), struct((2,), jnp.uint32)
    )
    acts = jax.eval_shape(
        lambda parameters, seen, key: policy.apply(parameters, seen, key)._asdict(),
        policy.parameters, first[NEXT], struct((2,), jnp.uint32),
    )  # fmt: skip
    shapes = {**first, SEEN: first[NEXT], **acts}
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    blank = replaced(blank, {name: jnp.asarray(begun.leaves[name]) for name in begun.shared})
    driven = _driven(environment, policy, blank, advance, restart)
    return _described(environment, policy, begun, step, blank, driven)


def _described(
    environment: Environment, policy: Policy, begun: Begun, step: Any, blank: Any, driven: Driven
) -> Simulation:
    floating = [name for name, _ in floating_leaves(blank, ())]
    physics = f"{STATE}.{environment.physics}" if environment.physics else STATE
    of_physics = [name for name in floating if name.startswith(physics)]
    coordinates = next(
        (name for tail in ("qpos", "q") for name in of_physics if name == f"{physics}.{tail}"),
        next((name for name in floating if name.startswith(NEXT)), floating[0]),
    )
    tails = ("qpos", "qvel", "act", "q", "qd.vel", "qd.ang", "qd")
    state = [name for name in (f"{physics}.{tail}" for tail in tails) if name in floating]
    carried = [name for name in leaf_names(blank) if _part(name) in (KEY, NEXT, STATE)]
    ended = [name for name in floating if _part(name) in (NEXT, STATE) and name not in begun.aside]
    applied = [name for name in [_applied(environment, blank)] if name is not None]
    return Simulation(
        step=step,
        parameters=policy.parameters,
        blank=blank,
        controls=0,
        carried=tuple(name for name in carried if name not in begun.shared),
        state=tuple(state) or (coordinates,),
        coordinates=coordinates,
        pipeline=_pipeline(floating, physics),
        follows_x64=environment.engine != OWN and bool(state),
        seconds=environment.seconds,
        shared=begun.shared,
        driven=driven,
        ends=tuple(name for name in ended if name not in begun.shared),
        kept=tuple(
            dict.fromkeys([*_of(blank, NEXT), *_of(blank, ACTION), REWARD, DONE, coordinates, *applied])
        ),
    )


def loop_of(environment: Environment, policy: Policy) -> ClosedLoop:
    """What a report says of it."""
    return ClosedLoop(
        engine=environment.engine,
        policy=policy.name,
        trained=not policy.name.startswith(RANDOM),
        normalises=policy.statistics is not None,
    )


ROWS = 16
"""So many observations through the policy alone: its products are those of a batch."""

RANDOM = "a random policy"
"""What the name of a policy that nobody trained begins with."""


def _driven(environment: Environment, policy: Policy, blank: Any, advance: Any, restart: Any) -> Driven:
    key, statistics = policy.observation_key, policy.statistics
    reads = [name for name in _of(blank, NEXT) if key is None or name == f"{NEXT}.{key}"]
    return Driven(
        applied=_applied(environment, blank),
        substeps=_substeps(environment),
        loop=loop_of(environment, policy),
        advance=advance,
        restart=restart,
        reads=tuple(reads),
        acts=lambda parameters: jax.vmap(policy.apply, in_axes=(None, 0, 0))(
            parameters,
            jax.tree.map(lambda leaf: jnp.zeros((ROWS, *leaf.shape), leaf.dtype), blank[NEXT]),
            jnp.zeros((ROWS, 2), jnp.uint32),
        ),
        mean=None if statistics is None else np.asarray(statistics.mean, np.float64).reshape(-1),
        std=None if statistics is None else np.asarray(statistics.std, np.float64).reshape(-1),
    )


def _applied(environment: Environment, blank: Any) -> str | None:
    """The leaf with MuJoCo's controls; None: the physics keeps none."""
    name = f"{STATE}.{environment.physics}.ctrl" if environment.physics else f"{STATE}.ctrl"
    return name if name in leaf_names(blank) else None


def _substeps(environment: Environment) -> int:
    """Steps of the physics in one of the environment, as far as its model tells."""
    options = getattr(environment.model, "opt", None)
    timestep = float(getattr(options, "timestep", 0.0))
    return max(1, round(environment.seconds / timestep)) if timestep > 0 else 1


def _of(blank: Any, part: str) -> list[str]:
    return [name for name in leaf_names(blank) if _part(name) == part]


def _part(name: str) -> str:
    return name.partition(".")[0]


def _pipeline(floating: Sequence[str], physics: str) -> tuple[str, ...]:
    """What the policy computes, then the physics, then what the environment makes of it."""
    engine = {f"{physics}.{name}": index for index, name in enumerate(PIPELINE)}
    order = (SEEN, NORMALISED, OUTPUT, ACTION)

    def rank(name: str) -> tuple[int, int]:
        part = _part(name)
        if part in order:
            return order.index(part), 0
        if name.startswith(physics):
            return len(order), engine.get(name, len(engine))
        return len(order) + 1 + (part == REWARD) + 2 * (part == NEXT), 0

    return tuple(sorted(floating, key=rank))
