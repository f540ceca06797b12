"""Many replays in one compiled program: every lane a precision, every row of a lane a replay.

A replay whose state is no longer finite has given its answer. From the next step on its row computes once
more what a healthy row computes, because loops that end on a tolerance run to their limit on NaN: one such
row makes a batch of 16 MJX steps 33 times slower. Where no row is healthy any more, nothing is computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.precision import F32
from jaxdoctor.programs.emulate import Program, Widths, emulate
from jaxdoctor.replay.fields import floating_leaves, leaf_names, nonfinite, picked, replaced
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.system import Simulation, States
from jaxdoctor.replay.systems.mjx import simulation
from jaxdoctor.rollouts.record import Recording, record
from jaxdoctor.workers.progress import SILENT, Progress

CHUNK_STEPS = 25
"""Steps between two looks at the clock and at who has failed."""

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """What the replays of one lane did."""

    bad: Array
    """steps x replays x leaves: which floating leaf was not finite after which step."""

    leaves: tuple[str, ...]
    states: States
    """Before each step and after the last."""

    state: tuple[str, ...] = ("qpos", "qvel", "act")
    """The leaves that an integrator hands on."""

    coordinates: str = "qpos"
    ended: bool = False
    """Whether it has fewer steps than the recording because no replay in its launch was finite any more."""

    seconds_per_step: float | None = None
    """Wall time per step of one replay."""


def over_replays(simulation: Simulation) -> Callable[..., Any]:
    """One step of many replays: of parameters that they share, a state and a control of each."""
    return jax.vmap(simulation.step, in_axes=(None, 0, 0))


def _insist_on_leaves(simulation: Simulation) -> None:
    known = set(leaf_names(simulation.blank))
    for field in ("carried", "state", "coordinates", "ends", "kept"):
        names = getattr(simulation, field) or ()
        for name in [names] if isinstance(names, str) else names:
            if name not in known:
                raise ValueError(
                    f"{name}, of `Simulation.{field}`, is no leaf of its `blank`: {sorted(known)}"
                )


class Ensemble:
    """A compiled program of `lanes` x `batch` replays, run in chunks of steps."""

    def __init__(
        self,
        simulation: Simulation,
        *,
        batch: int,
        lanes: int = 1,
        emulated: bool = True,
        all_products: bool = False,
        chunk: int = CHUNK_STEPS,
    ) -> None:
        _insist_on_leaves(simulation)
        self.batch, self.lanes, self.chunk = batch, 1 if simulation.shared else lanes, chunk
        self.simulation, self.emulated = simulation, emulated
        self._kept = simulation.carried if simulation.kept is None else simulation.kept
        self._step = over_replays(simulation)
        self._ctrl_dtype = jnp.asarray(0.0).dtype
        self._blank_ctrl = np.zeros((batch, simulation.controls), self._ctrl_dtype)
        self._blank = _repeated(simulation.blank, batch, simulation.shared)
        self.program = self._settled(emulated=emulated, all_products=all_products)
        self.leaves = tuple(
            name
            for name, _ in floating_leaves(self._blank, simulation.pipeline)
            if name not in simulation.shared
        )
        self._run: Any = None
        """The compiled program; None until it is compiled."""
        self.compile_seconds = 0.0

    @property
    def arguments(self) -> tuple[Any, Any, Any]:
        """What the vmapped step is traced for: parameters, and each replay's state and control."""
        return self.simulation.parameters, self._blank, self._blank_ctrl

    def _settled(self, *, emulated: bool, all_products: bool) -> Program:
        """The program, of a blank in the dtypes that a step returns: under x64 some of MJX change theirs."""
        for _ in range(2):
            if emulated:
                program = emulate(self._step, *self.arguments, all_products=all_products)
            else:
                shapes = jax.eval_shape(self._step, *self.arguments)
                program = Program(
                    sites=(), unreached=(), call=lambda _, *values: self._step(*values), returns=shapes
                )
            blank = jax.tree.map(lambda x, shape: x.astype(shape.dtype), self._blank, program.returns)
            same = _dtypes(blank) == _dtypes(self._blank)
            self._blank = blank
            if same or not emulated:
                break
        return program

    def compile(self) -> None:
        """Compiles the program. It takes seconds to minutes."""
        started = time.monotonic()
        jitted = jax.jit(self._advance, donate_argnums=(3,))
        blank = [Lane()] * self.lanes
        ctrl = np.zeros((self.chunk, self.lanes, self.batch, self.simulation.controls), self._ctrl_dtype)
        arguments = (*self._settings(blank), self._fresh(), ctrl, self._blank_states())
        self._run = jitted.lower(self.simulation.parameters, *arguments).compile()
        self.compile_seconds = time.monotonic() - started

    def run_chunk(self, recording: Recording, limit: float | None) -> None:
        """Runs the first chunk of steps for nothing but to see that it ends; without a limit nobody waits."""
        if limit is not None:
            self.roll_out(recording.part(self.chunk), [Lane()])

    @property
    def peak_bytes(self) -> int | None:
        """The memory that the compiled program holds while it runs, as the compiler planned it."""
        plan = self._run.memory_analysis() if self._run is not None else None
        if plan is None:
            return None
        sizes = (plan.argument_size_in_bytes, plan.output_size_in_bytes, plan.temp_size_in_bytes)
        return int(sum(sizes) - plan.alias_size_in_bytes)

    @property
    def forces(self) -> bool:
        """Whether a lane can be forced: only where all that is carried was handed out."""
        return set(self.simulation.carried) <= set(self._kept)

    def _settings(self, lanes: Sequence[Lane]) -> tuple[Widths, Array]:
        widths: Widths = jax.tree.map(
            lambda *leaves: np.stack(leaves), *[self._widths(lane) for lane in lanes]
        )
        return widths, np.asarray([lane.forced for lane in lanes])

    def _fresh(self, starts: Mapping[str, Array] | None = None) -> tuple[Any, Array, Array]:
        """The state of every row, who is gone, and what was bad: before the first step."""
        shape = (self.lanes, self.batch)
        state = jax.tree.map(lambda x: np.broadcast_to(np.asarray(x), (self.lanes, *x.shape)), self._blank)
        state = jax.tree.map(jnp.asarray, replaced(state, starts or {}))
        return state, np.zeros(shape, bool), np.zeros((*shape, len(self.leaves)), bool)

    def _blank_states(self) -> States:
        """Reference states of which no lane takes any: chunk x lanes x replays."""
        kept = picked(self._blank, self._kept)
        return {name: np.zeros((self.chunk, self.lanes, *x.shape), x.dtype) for name, x in kept.items()}

    def _advance(
        self, parameters: Any, widths: Widths, forced: jax.Array, rows: Any, ctrl: jax.Array, reference: Any
    ) -> tuple[Any, Any]:
        """Every lane through one chunk of steps."""
        over_lanes = jax.vmap(self.program.call, in_axes=(0, None, 0, 0))
        if self.simulation.shared:
            over_lanes = _alone(self.program.call)
        carried = self.simulation.carried
        ends = carried if self.simulation.ends is None else self.simulation.ends
        forces = self.forces

        def computed(rows: Any, ctrl: jax.Array, before: Any) -> Any:
            state, gone, bad = rows
            lane, row = _stand_ins(gone)
            start = picked(state, carried)
            if forces:
                start = {name: jnp.where(_over(forced, x), before[name], x) for name, x in start.items()}
            start = {name: x[lane[:, None], row] for name, x in start.items()}
            taken = jax.tree.map(lambda x: x[lane], widths)
            state = over_lanes(taken, parameters, replaced(state, start), ctrl[lane[:, None], row])
            seen = jnp.stack([nonfinite(x, 2) for x in picked(state, self.leaves).values()], axis=-1)
            bad = jnp.where(gone[..., None], bad, seen)
            lost = [nonfinite(x, 2) for x in picked(state, ends).values() if _floating(x)]
            return state, gone | jnp.stack(lost).any(axis=0), bad

        def body(rows: Any, inputs: tuple[jax.Array, Any]) -> tuple[Any, Any]:
            ctrl, before = inputs
            rows = jax.lax.cond(rows[1].all(), lambda rows, *_: rows, computed, rows, ctrl, before)
            state, gone, bad = rows
            after = {
                name: jnp.where(_over(gone, x), jnp.nan, x) if _floating(x) else x
                for name, x in picked(state, self._kept).items()
            }
            return rows, (bad, after)

        return jax.lax.scan(body, rows, (ctrl, reference))

    def _starts(self, recording: Recording, lanes: Sequence[Lane]) -> dict[str, Array]:
        """The leaves of the state that differ between replays, before the first step of each lane."""
        dtypes = {name: leaf.dtype for name, leaf in picked(self._blank, tuple(recording.starts)).items()}
        return {
            name: np.stack([self._start(values, lane) for lane in lanes]).astype(dtypes[name])
            for name, values in recording.starts.items()
        }

    def _start(self, values: Array, lane: Lane) -> Array:
        rows = values[lane.first : lane.first + self.batch]
        return _disturbed(rows) if lane.disturbed and _floating(rows) else rows

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

        Args:
            recording: start states and controls.
            lanes: how each multiplies, and which replays it runs.
            reference: where forced lanes take the state before each step; as many replays as one lane has.
            deadline: of `time.monotonic`.
            progress: is given the steps.
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
        starts = self._starts(recording, filled)
        rows = self._fresh(starts)
        ctrl = np.stack([recording.ctrl[lane.first : lane.first + self.batch] for lane in filled])
        ctrl = np.moveaxis(ctrl, 2, 0).astype(self._ctrl_dtype)
        seen, done, started = [], 0, time.monotonic()
        while done < recording.steps:
            inputs = _padded(ctrl[done : done + self.chunk], self.chunk)
            before = self._references(reference, filled, done)
            rows, outputs = self._run(self.simulation.parameters, *settings, rows, inputs, before)
            seen.append(jax.tree.map(np.asarray, outputs))
            done += self.chunk
            progress.reached(min(done, recording.steps))
            if np.asarray(rows[1]).all() or (deadline is not None and time.monotonic() > deadline):
                break
        per_step = (time.monotonic() - started) / (done * self.batch * self.lanes)
        ended = bool(np.asarray(rows[1]).all())
        return [
            replace(rollout, ended=ended, seconds_per_step=per_step)
            for rollout in self._collect(seen, starts, min(done, recording.steps), len(lanes))
        ]

    def _widths(self, lane: Lane) -> Widths:
        if lane.by_site is not None:
            bits = np.asarray(lane.by_site, np.int32)
            return Widths(jnp.asarray(bits), jnp.full(len(bits), lane.toward_zero))
        if lane.only is not None:
            untouched, toward_zero = self.program.untouched()
            return Widths(
                untouched.at[lane.only].set(lane.bits), toward_zero.at[lane.only].set(lane.toward_zero)
            )
        return self.program.widths(lane.bits, toward_zero=lane.toward_zero, explicit_bits=lane.explicit_bits)

    def _references(self, reference: States | None, lanes: Sequence[Lane], start: int) -> States:
        """The reference's states before each step of the chunk, the same for every lane."""
        blank = self._blank_states()
        if reference is None or any(lane.first for lane in lanes):
            return blank
        return {
            name: np.broadcast_to(
                _padded(reference[name][:-1][start : start + self.chunk], self.chunk)[:, None], zeros.shape
            ).astype(zeros.dtype)
            for name, zeros in blank.items()
        }

    def _collect(self, seen: list[Any], starts: Mapping[str, Array], steps: int, lanes: int) -> list[Rollout]:
        bad, after = jax.tree.map(lambda *parts: np.concatenate(parts)[:steps], *seen)
        first = {
            name: starts.get(name, np.broadcast_to(np.asarray(x), (self.lanes, *x.shape)))
            for name, x in picked(self._blank, self._kept).items()
        }
        return [
            Rollout(
                bad=bad[:, lane],
                leaves=self.leaves,
                states={
                    name: np.concatenate([first[name][None, lane], values[:, lane]])
                    for name, values in after.items()
                },
                state=self.simulation.state,
                coordinates=self.simulation.coordinates,
            )
            for lane in range(lanes)
        ]


def _stand_ins(gone: jax.Array) -> tuple[jax.Array, jax.Array]:
    """For each row the lane and the row that it computes: its own, or a healthy one's when it is gone.

    Args:
        gone: lanes x replays, at least one of them false.

    Returns:
        The lane of each lane, and in that lane the row of each row. A lane without a healthy row becomes the
        first lane that has one, its widths and controls with it, so that it does not fail once more.
    """
    lanes, rows = jnp.arange(gone.shape[0]), jnp.arange(gone.shape[1])
    over = gone.all(axis=1)
    lane = jnp.where(over, jnp.argmin(over), lanes)
    there = gone[lane]
    return lane, jnp.where(there, jnp.argmin(there, axis=1)[:, None], rows)


def _over(mask: jax.Array, leaf: jax.Array) -> jax.Array:
    """The mask with axes for the rest of the leaf's."""
    return mask.reshape(mask.shape + (1,) * (leaf.ndim - mask.ndim))


def _floating(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))


def _padded(values: Array, length: int) -> Array:
    """The steps of a chunk; the last one is filled up with its last step."""
    missing = length - len(values)
    return np.concatenate([values, np.repeat(values[-1:], missing, axis=0)]) if missing else values


def _disturbed(values: Array) -> Array:
    """Moved by one float32 unit roundoff, alternately up and down."""
    signs = np.where(np.arange(values.size).reshape(values.shape) % 2, 1, -1)
    return np.asarray(values + signs * F32.unit_roundoff * np.maximum(np.abs(values), 1))


def _repeated(state: Any, batch: int, shared: Sequence[str]) -> Any:
    repeated = jax.tree.map(
        lambda x: jnp.asarray(np.broadcast_to(np.asarray(x), (batch, *np.shape(x)))), state
    )
    return replaced(repeated, picked(state, shared)) if shared else repeated


def _alone(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call for one lane, which is no axis of it."""

    def over_lanes(widths: Widths, parameters: Any, state: Any, ctrl: jax.Array) -> Any:
        lane = call(jax.tree.map(lambda x: x[0], widths), parameters, _without_lane(state), ctrl[0])
        return jax.tree.map(lambda x: x[None], lane)

    return over_lanes


def _without_lane(state: Any) -> Any:
    return jax.tree.map(lambda x: x[0], state)


def _dtypes(state: Any) -> list[Any]:
    return [leaf.dtype for leaf in jax.tree.leaves(state)]


def failed_counts(
    path: str, bits: Sequence[int], replays: int = 8, steps: int = 100, seed: int = 0, *,
    toward_zero: bool = False, progress: Progress = SILENT,
) -> dict[int, int]:  # fmt: skip
    """How many replays of a model file fail at each width: for tuning a model by hand, or in a worker."""
    model = mujoco.MjModel.from_xml_path(path)
    recording = record(model, replays=replays, steps=steps, seed=seed)
    ensemble = Ensemble(simulation(model), batch=replays, lanes=len(bits))
    lanes = [Lane(bits=width, toward_zero=toward_zero) for width in bits]
    rollouts = ensemble.roll_out(recording, lanes, progress=progress)
    return {
        width: int(rollout.bad.any(axis=(0, 2)).sum()) for width, rollout in zip(bits, rollouts, strict=True)
    }
