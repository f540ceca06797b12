"""Many replays in one compiled program: every lane a precision, every row of a lane a replay."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.precision import F32
from jaxdoctor.models.mjx_support import mjx_refusals
from jaxdoctor.programs.emulate import Program, Widths, emulate
from jaxdoctor.replay.fields import floating_leaves, nonfinite_fields
from jaxdoctor.replay.plan import Lane
from jaxdoctor.rollouts.record import Recording, record
from jaxdoctor.workers.progress import SILENT, Progress

CHUNK_STEPS = 25
"""Steps between two looks at the clock and at who has failed."""

Array = npt.NDArray[Any]

STATE = ("qpos", "qvel", "act", "qacc_warmstart")
"""The fields of `mjx.Data` from which a step follows, together with its controls."""


@dataclass(frozen=True, kw_only=True)
class States:
    """The state before each step and after the last: the leading axes are steps + 1 and replays."""

    qpos: Any
    qvel: Any
    act: Any
    qacc_warmstart: Any

    def part(self, start: int, stop: int) -> States:
        """The states before some of the steps, the last repeated where the record ends."""
        last = len(self.qpos) - 1
        chosen = np.minimum(np.arange(start, stop), last)
        return States(**{name: getattr(self, name)[chosen] for name in STATE})


jax.tree_util.register_dataclass(States, data_fields=list(STATE), meta_fields=[])


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """What the replays of one lane did."""

    bad: Array
    """steps x replays x leaves: which floating leaf was not finite after which step."""

    leaves: tuple[str, ...]
    distance: Array
    """steps x replays: the largest difference in qpos from the reference."""

    error: Array
    """steps x replays: the difference of the whole state from the reference, relative to its norm."""

    states: States | None = None
    seconds_per_step: float | None = None
    """Wall time per step of one replay."""


class Ensemble:
    """A compiled program of `lanes` x `batch` replays, run in chunks of steps."""

    def __init__(
        self,
        model: Any,
        *,
        batch: int,
        lanes: int = 1,
        emulated: bool = True,
        all_products: bool = False,
        chunk: int = CHUNK_STEPS,
        keeps_states: bool = False,
    ) -> None:
        from mujoco import mjx  # noqa: PLC0415 (prints when it is imported)

        self.batch, self.lanes, self.chunk = batch, lanes, chunk
        self._keeps_states = keeps_states
        self._step = jax.vmap(mjx.step, in_axes=(None, 0))
        with mjx_refusals(model, "the model"):
            self._model = mjx.put_model(model)
            self._blank = _settled(self._step, self._model, _batched(mjx.make_data(model), batch))
        self.leaves = tuple(name for name, _ in floating_leaves(self._blank))
        self.program = self._trace(emulated=emulated, all_products=all_products)
        self._run: Any = None
        """The compiled program; None until it is compiled."""
        self.compile_seconds = 0.0

    def _trace(self, *, emulated: bool, all_products: bool) -> Program:
        if not emulated:
            return Program(sites=(), unreached=(), call=lambda _, *values: self._step(*values))
        return emulate(self._step, self._model, self._blank, all_products=all_products)

    def compile(self) -> None:
        """Compiles the program. It takes seconds to minutes."""
        started = time.monotonic()
        over_lanes = jax.vmap(self._advance, in_axes=(None, 0, 0, 0, 0, 0))
        jitted = jax.jit(over_lanes, donate_argnums=(3,))
        blank = [Lane()] * self.lanes
        data = self._stacked([self._blank] * self.lanes)
        ctrl = jnp.zeros((self.lanes, self.chunk, *self._blank.ctrl.shape), self._blank.ctrl.dtype)
        states = self._stacked([self._blank_states()] * self.lanes)
        self._run = jitted.lower(self._model, *self._settings(blank), data, ctrl, states).compile()
        self.compile_seconds = time.monotonic() - started

    @property
    def peak_bytes(self) -> int | None:
        """The memory that the compiled program holds while it runs, as the compiler planned it."""
        plan = self._run.memory_analysis() if self._run is not None else None
        if plan is None:
            return None
        sizes = (plan.argument_size_in_bytes, plan.output_size_in_bytes, plan.temp_size_in_bytes)
        return int(sum(sizes) - plan.alias_size_in_bytes)

    def _stacked(self, trees: Sequence[Any]) -> Any:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)

    def _settings(self, lanes: Sequence[Lane]) -> tuple[Widths, jax.Array]:
        widths = self._stacked([self._widths(lane) for lane in lanes])
        return widths, jnp.asarray([lane.forced for lane in lanes])

    def _blank_states(self) -> States:
        data = self._blank
        return States(
            **{
                name: jnp.zeros((self.chunk + 1, *getattr(data, name).shape), getattr(data, name).dtype)
                for name in STATE
            }
        )

    def _advance(
        self, model: Any, widths: Widths, forced: jax.Array, data: Any, ctrl: jax.Array, reference: States
    ) -> tuple[Any, Any]:
        """One lane through one chunk of steps."""

        def body(data: Any, inputs: tuple[jax.Array, States, States]) -> tuple[Any, Any]:
            ctrl, before, after = inputs
            fields = {name: getattr(data, name) for name in STATE}
            chosen = {name: jnp.where(forced, getattr(before, name), value) for name, value in fields.items()}
            data = self.program.call(widths, model, data.replace(ctrl=ctrl, **chosen))
            seen = (nonfinite_fields(data), *_deviation(data, after))
            kept = {name: getattr(data, name) for name in STATE} if self._keeps_states else None
            return data, (seen, kept)

        before = jax.tree.map(lambda x: x[:-1], reference)
        after = jax.tree.map(lambda x: x[1:], reference)
        return jax.lax.scan(body, data, (ctrl, before, after))

    def _start(self, recording: Recording, lane: Lane) -> Any:
        """The data of the first step of one lane's replays."""
        rows = slice(lane.first, lane.first + self.batch)
        blank, fields = self._blank, {}
        for name in ("qpos", "qvel", "act"):
            values = getattr(recording, name)[rows]
            if lane.disturbed:
                values = _disturbed(values)
            fields[name] = jnp.asarray(values, getattr(blank, name).dtype)
        return blank.replace(**fields)

    def roll_out(
        self,
        recording: Recording,
        lanes: Sequence[Lane],
        *,
        reference: States | None = None,
        deadline: float | None = None,
        progress: Progress = SILENT,
    ) -> list[Rollout]:
        """Replays each lane's part of the recording, as many lanes at once as the program has.

        A launch ends early when every replay in it has failed, or at the deadline (of `time.monotonic`).
        Lanes that the deadline leaves unfinished are left out, but for those of the first launch.
        """
        rollouts: list[Rollout] = []
        for start in range(0, len(lanes), self.lanes):
            part = lanes[start : start + self.lanes]
            launched = self._launch(recording, part, reference, deadline, progress)
            late = deadline is not None and time.monotonic() > deadline
            if not (late and rollouts):
                rollouts += launched
            if late:
                break
        return rollouts

    def _launch(
        self,
        recording: Recording,
        lanes: Sequence[Lane],
        reference: States | None,
        deadline: float | None,
        progress: Progress,
    ) -> list[Rollout]:
        if self._run is None:
            self.compile()
        filled = [*lanes, *[lanes[-1]] * (self.lanes - len(lanes))]
        settings = self._settings(filled)
        data = self._stacked([self._start(recording, lane) for lane in filled])
        ctrl = np.stack(
            [np.moveaxis(recording.ctrl[lane.first : lane.first + self.batch], 0, 1) for lane in filled]
        )
        seen, done, started = [], 0, time.monotonic()
        while done < recording.steps:
            inputs = self._padded(ctrl[:, done : done + self.chunk])
            references = self._references(reference, filled, done)
            data, outputs = self._run(self._model, *settings, data, inputs, references)
            seen.append(jax.tree.map(np.asarray, outputs))
            done += self.chunk
            progress.reached(min(done, recording.steps))
            if _all_failed(seen) or (deadline is not None and time.monotonic() > deadline):
                break
        return self._collect(seen, min(done, recording.steps), len(lanes), time.monotonic() - started, done)

    def _widths(self, lane: Lane) -> Widths:
        if lane.only is not None:
            untouched, toward_zero = self.program.untouched()
            return Widths(
                untouched.at[lane.only].set(lane.bits), toward_zero.at[lane.only].set(lane.toward_zero)
            )
        return self.program.widths(lane.bits, toward_zero=lane.toward_zero, explicit_bits=lane.explicit_bits)

    def _padded(self, ctrl: Array) -> jax.Array:
        """A chunk of controls; the last one is filled up with its last step."""
        missing = self.chunk - ctrl.shape[1]
        padded = np.pad(ctrl, ((0, 0), (0, missing), (0, 0), (0, 0)), mode="edge") if missing else ctrl
        return jnp.asarray(padded, self._blank.ctrl.dtype)

    def _references(self, reference: States | None, lanes: Sequence[Lane], start: int) -> States:
        """The reference's states around the chunk; it has as many replays as one lane, from the first on."""
        if reference is None or any(lane.first for lane in lanes):
            part = self._blank_states()
        else:
            part = reference.part(start, start + self.chunk + 1)
        cast = States(
            **{name: jnp.asarray(getattr(part, name), getattr(self._blank, name).dtype) for name in STATE}
        )
        repeated: States = jax.tree.map(lambda x: jnp.broadcast_to(x, (self.lanes, *x.shape)), cast)
        return repeated

    def _collect(
        self, seen: list[Any], steps: int, lanes: int, seconds: float, computed: int
    ) -> list[Rollout]:
        (bad, distance, error), states = jax.tree.map(
            lambda *parts: np.concatenate(parts, axis=1)[:, :steps], *seen
        )
        per_step = seconds / (computed * self.batch * self.lanes)
        return [
            Rollout(
                bad=bad[lane],
                leaves=self.leaves,
                distance=distance[lane],
                error=error[lane],
                states=None if states is None else States(**{k: v[lane] for k, v in states.items()}),
                seconds_per_step=per_step,
            )
            for lane in range(lanes)
        ]


def _disturbed(values: Array) -> Array:
    """Moved by one float32 unit roundoff, alternately up and down."""
    signs = np.where(np.arange(values.size).reshape(values.shape) % 2, 1, -1)
    return np.asarray(values + signs * F32.unit_roundoff * np.maximum(np.abs(values), 1))


def _batched(data: Any, batch: int) -> Any:
    return jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * batch), data)


def _settled(step: Callable[..., Any], model: Any, data: Any) -> Any:
    """The data in the dtypes that a step returns: under x64 some of MJX's fields change theirs."""
    shapes = jax.eval_shape(step, model, data)
    return jax.tree.map(lambda x, shape: x.astype(shape.dtype), data, shapes)


def _deviation(data: Any, reference: States) -> tuple[jax.Array, jax.Array]:
    """Per replay: the largest difference in qpos, and the state's difference relative to its norm."""
    here = jnp.concatenate([data.qpos, data.qvel, data.act], axis=-1)
    there = jnp.concatenate([reference.qpos, reference.qvel, reference.act], axis=-1)
    distance = jnp.max(jnp.abs(data.qpos - reference.qpos), axis=-1, initial=0)
    norm = jnp.linalg.norm(there, axis=-1)
    return distance, jnp.linalg.norm(here - there, axis=-1) / jnp.where(norm == 0, 1, norm)


def _all_failed(seen: list[Any]) -> bool:
    (bad, _, _), _ = seen[-1]
    return bool(bad[:, -1].any(axis=-1).all())


def failed_counts(
    path: str, bits: Sequence[int], replays: int = 8, steps: int = 100, seed: int = 0, *,
    toward_zero: bool = False, progress: Progress = SILENT,
) -> dict[int, int]:  # fmt: skip
    """How many replays of a model file fail at each width: for tuning a model by hand, or in a worker."""
    model = mujoco.MjModel.from_xml_path(path)
    recording = record(model, replays=replays, steps=steps, seed=seed)
    ensemble = Ensemble(model, batch=replays, lanes=len(bits))
    lanes = [Lane(bits=width, toward_zero=toward_zero) for width in bits]
    rollouts = ensemble.roll_out(recording, lanes, progress=progress)
    return {
        width: int(rollout.bad.any(axis=(0, 2)).sum()) for width, rollout in zip(bits, rollouts, strict=True)
    }
