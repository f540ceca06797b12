"""A flight recorder for an environment or a step: the first step that is not finite goes into a bundle."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxdoctor.remedies._guard_bundle import CONTROL, KEY, Writer
from jaxdoctor.remedies._ring import Slot, layout, row_of

MEMORY = "jaxdoctor_guard"
"""Under this name the ring travels in the `info` of an environment's state."""

KEPT = ("qpos", "qvel", "act", "mocap_pos", "mocap_quat")
OR_KEPT = ("q", "qd")
"""What is kept of a physics state: MuJoCo's, or that of Brax's other backends."""

SEEN = ("qacc", "act", "qvel", "qpos", "qd", "q")
"""What is looked at after a step, in the order in which it computes them."""

KEYS = ("rng", "key")
"""What environments call their random key in `info`."""


class Memory(NamedTuple):
    """What a guard keeps of one environment, on the device."""

    step: jax.Array
    """The number of the next step."""

    told: jax.Array
    """Whether a failure was reported."""

    ring: jax.Array
    """Rows x words: what the last steps started from."""


class Watched(NamedTuple):
    """The state of a guarded step of one's own, and what the guard keeps."""

    state: Any
    memory: Memory


def guard(
    target: Any,
    path: str | Path,
    *,
    rows: int = 64,
    stop: bool = False,
    model: Any = None,
    name: str = "",
    leaves: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Any:
    """The same environment or step, which writes the first step that is not finite into a bundle.

    Of a Brax or Playground environment it gives an environment of the same class, for every wrapper and
    trainer. Of a step `step(state, control) -> state` it gives one of `Watched`: begin with
    `guarded.begin(state, control)`, and take `.state` out of it. On the device a step looks with `isfinite`
    at the accelerations, the state, the observation and the reward, and keeps what it started from in a ring;
    only the first failure of a program calls Python. It works under `jit`, `vmap` and `scan`, and does not
    end a run unless `stop` is set.

    >>> def step(state, control):
    ...     return {"x": state["x"] / control.sum()}
    >>> guarded = guard(step, "failure.zip")
    >>> watched = guarded.begin({"x": jnp.ones(2)}, jnp.zeros(1))
    >>> watched = jax.jit(guarded)(watched, jnp.zeros(1))

    Args:
        target: an environment with `reset` and `step`, or a step.
        path: the bundle, which `jaxdoctor replay` replays.
        rows: steps that the ring holds for each environment, at most 64.
        stop: whether the failure raises `FloatingPointError` where the program is waited for.
        model: the `mujoco.MjModel` that is stepped, where the environment has none of its own.
        name: what the bundle says that it is of, such as "brax:ant"; by default the class's or step's name.
        leaves: what is kept of a state of one's own, as small arrays by name: by default MuJoCo's qpos, qvel,
            act and mocap, else every leaf.

    Raises:
        ValueError: `rows` is not from 1 to 64.
        TypeError: the target is neither.
    """
    if not 1 <= rows <= MOST_ROWS:
        raise ValueError(f"rows is {rows}: keep 1 to {MOST_ROWS} steps")
    if hasattr(target, "reset") and hasattr(target, "step"):
        return _environment(target, Path(path), rows=rows, stop=stop, model=model, name=name)
    if not callable(target):
        raise TypeError(f"{type(target).__name__} is neither an environment nor a step")
    called = name or getattr(target, "__name__", type(target).__name__)
    system = "mjx" if model is not None else "function"
    writer = Writer(path=Path(path), subject=called, system=system, model=model, stop=stop)
    return _Step(target, _Recorder(writer, rows), leaves or _kept)


MOST_ROWS = 64


class _Step:
    """A step of the user's own, guarded."""

    def __init__(
        self, step: Callable[..., Any], recorder: _Recorder, leaves: Callable[[Any], Mapping[str, Any]]
    ) -> None:
        functools.update_wrapper(self, step)
        self._step, self._recorder, self._leaves = step, recorder, leaves

    def begin(self, state: Any, control: Any) -> Watched:
        """A state with an empty ring.

        Args:
            state: what the step starts from.
            control: one like those that the step will get; its values are of no account.
        """
        kept = {**self._leaves(state), CONTROL: jnp.ravel(jnp.asarray(control))}
        return Watched(state, self._recorder.empty(kept))

    def __call__(self, watched: Watched, control: Any) -> Watched:
        after = self._step(watched.state, control)
        kept = {**self._leaves(watched.state), CONTROL: jnp.ravel(jnp.asarray(control))}
        return Watched(after, self._recorder.looked(watched.memory, kept, _seen(after)))


def _environment(env: Any, path: Path, *, rows: int, stop: bool, model: Any, name: str) -> Any:
    """A copy whose class differs in `reset` and `step` alone, so that it is still one of its own class."""
    kind = type(env)
    found = model if model is not None else getattr(env, "mj_model", None)
    if found is None:
        found = getattr(getattr(env, "sys", None), "mj_model", None)
    writer = Writer(
        path=path,
        subject=name or kind.__name__,
        system="mjx",
        model=found,
        xml=_file(env),
        substeps=int(getattr(env, "n_substeps", None) or getattr(env, "_n_frames", None) or 1),
        stop=stop,
    )
    recorder = _Recorder(writer, rows)

    def reset(self: Any, *arguments: Any, **named: Any) -> Any:
        state = kind.reset(self, *arguments, **named)
        control = jax.eval_shape(lambda: jnp.ravel(_control(state, jnp.zeros(self.action_size))))
        memory = recorder.empty({**_physics(state), **_key(state), CONTROL: control})
        return state.replace(info={**state.info, MEMORY: memory})

    def step(self: Any, state: Any, action: Any, *arguments: Any, **named: Any) -> Any:
        memory, info = state.info[MEMORY], {key: value for key, value in state.info.items() if key != MEMORY}
        after = kind.step(self, state.replace(info=info), action, *arguments, **named)
        kept = {**_physics(state), **_key(state), CONTROL: jnp.ravel(_control(after, action))}
        seen = {**_seen(_data(after)), **_seen_of_state(after)}
        return after.replace(info={**after.info, MEMORY: recorder.looked(memory, kept, seen)})

    guarded = copy.copy(env)
    guarded.__class__ = type(f"Guarded{kind.__name__}", (kind,), {"reset": reset, "step": step})
    return guarded


def _file(env: Any) -> str | None:
    found = getattr(env, "xml_path", None)
    return str(found) if isinstance(found, (str, Path)) and Path(found).exists() else None


def _data(state: Any) -> Any:
    """The physics in the state of a Brax or Playground environment."""
    return state.pipeline_state if hasattr(state, "pipeline_state") else state.data


def _physics(state: Any) -> dict[str, Any]:
    return dict(_kept(_data(state)))


def _kept(data: Any) -> Mapping[str, Any]:
    found = {name: getattr(data, name) for name in KEPT if hasattr(data, name)}
    found = found or {name: getattr(data, name) for name in OR_KEPT if hasattr(data, name)}
    return {name: leaf for name, leaf in (found or _all_leaves(data)).items() if leaf.size}


def _all_leaves(state: Any) -> dict[str, Any]:
    """Every leaf by its path, joined by dots."""
    paths = jax.tree_util.tree_leaves_with_path(state)
    return {
        jax.tree_util.keystr(path, simple=True, separator=".") or "state": jnp.asarray(leaf)
        for path, leaf in paths
    }


def _key(state: Any) -> dict[str, Any]:
    for name in KEYS:
        if (found := state.info.get(name)) is not None:
            typed = jnp.issubdtype(found.dtype, jax.dtypes.prng_key)
            return {KEY: jax.random.key_data(found) if typed else found}
    return {}


def _control(after: Any, action: Any) -> Any:
    """What the physics was driven by: environments scale and offset actions."""
    found = getattr(_data(after), "ctrl", None)
    return action if found is None or not found.size else found


def _seen(data: Any) -> dict[str, Any]:
    found = {name: getattr(data, name) for name in SEEN if hasattr(data, name)} or _all_leaves(data)
    return {name: leaf for name, leaf in found.items() if _floating(leaf)}


def _seen_of_state(state: Any) -> dict[str, Any]:
    found = {f"obs.{name}".rstrip("."): leaf for name, leaf in _observations(state.obs).items()}
    return {name: leaf for name, leaf in {**found, "reward": state.reward}.items() if _floating(leaf)}


def _observations(observation: Any) -> dict[str, Any]:
    if isinstance(observation, Mapping):
        return dict(observation)
    return {"": observation}


def _floating(leaf: Any) -> bool:
    return bool(hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size)


class _Recorder:
    """What happens on the device."""

    def __init__(self, writer: Writer, rows: int) -> None:
        self.writer, self.rows = writer, rows

    def empty(self, kept: Mapping[str, Any]) -> Memory:
        """A ring of which nothing is written yet.

        Args:
            kept: what a row holds, as arrays or their shapes.
        """
        words = sum(slot.words for slot in layout(kept))
        return Memory(
            step=jnp.int32(0), told=jnp.bool_(False), ring=jnp.zeros((self.rows, words), jnp.uint32)
        )

    def looked(self, memory: Memory, kept: Mapping[str, Any], seen: Mapping[str, Any]) -> Memory:
        """The memory after a step.

        Args:
            memory: before it.
            kept: what the step started from, and its control.
            seen: what it ended in, floating.
        """
        ring = memory.ring.at[memory.step % self.rows].set(row_of(kept))
        bad = jnp.stack([~jnp.isfinite(leaf).all() for leaf in seen.values()])
        report = functools.partial(self._report, layout(kept), tuple(seen))
        told = _over_rows(report)(memory.told, memory.step, ring, bad)
        return Memory(step=memory.step + 1, told=told, ring=ring)

    def _report(
        self, slots: tuple[Slot, ...], seen: tuple[str, ...], told: Any, step: Any, ring: Any, bad: Any
    ) -> Any:
        """Calls Python once, where a row of the batch is the first that is not finite.

        Args:
            slots: where each leaf stands in a row of the ring.
            seen: the leaves that were looked at.
            told: rows.
            step: rows.
            ring: rows x steps x words.
            bad: rows x leaves.
        """
        ill = bad.any(axis=1)
        tell = functools.partial(self.writer.tell, slots, seen, len(ill))

        def call(operands: Any) -> None:
            step, ring, bad, ill = operands
            row = jnp.argmax(ill)
            jax.debug.callback(
                lambda *values: tell(values), row, step[row], ring[row], bad[row], ordered=False
            )

        first = ill.any() & ~told.any()
        jax.lax.cond(first, call, lambda _: None, (step, ring, bad, ill))
        return told | first


def _over_rows(report: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a batch of rows, for one row, which sees all rows of a `vmap` at once.

    Left to itself, `vmap` would make a `select` of a `cond` and call Python for every row and step.
    """

    @jax.custom_batching.custom_vmap
    def batched(told: Any, step: Any, ring: Any, bad: Any) -> Any:
        return report(told, step, ring, bad)

    @batched.def_vmap
    def merged(size: int, mapped: list[bool], *values: Any) -> tuple[Any, bool]:
        whole = [
            value if is_mapped else jnp.broadcast_to(value, (size, *value.shape))
            for value, is_mapped in zip(values, mapped, strict=True)
        ]
        flat = [value.reshape(-1, *value.shape[2:]) for value in whole]
        return batched(*flat).reshape(whole[0].shape), True

    def single(*values: Any) -> Any:
        stopped = [jax.lax.stop_gradient(value) for value in values]
        return batched(*(value[None] for value in stopped))[0]

    return single
