"""Replays at a precision that the device really has: one worker for each process-wide setting."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from jaxdoctor.facts.trial import wilson
from jaxdoctor.replay.against_c import parting
from jaxdoctor.replay.capture import capture
from jaxdoctor.replay.compile_limit import compiling_within
from jaxdoctor.replay.effort import first_launch_deadline, since_start
from jaxdoctor.replay.ensemble import CHUNK_STEPS, Ensemble, Rollout
from jaxdoctor.replay.episodes import episodes_of
from jaxdoctor.replay.float64 import insist_on_float64
from jaxdoctor.replay.judge import always_nonfinite, horizon, judgement_of
from jaxdoctor.replay.one_step import steps_in_c
from jaxdoctor.replay.outgrown import outgrown
from jaxdoctor.replay.plan import Effort, Judgement, Lane, NativePlan, NativeReplay
from jaxdoctor.replay.scratch import Reference, Scratch
from jaxdoctor.replay.system import Driven
from jaxdoctor.workers.progress import Progress

TIMED_RUNS = 3
"""The fastest of so many is the time of a step: whatever disturbs only makes it slower."""

CLEAR_WIDTH = 0.12
"""A share of failures is known well enough when its interval is no wider."""


def replay(folder: str, plan: NativePlan, *, progress: Progress) -> NativeReplay:
    """Replays the recording in this process as JAX is configured in it."""
    return _Replaying(Scratch(folder), plan, progress).run()


class _Replaying:
    """One setting on its way: what is known so far is in `known`, and was handed over."""

    def __init__(self, scratch: Scratch, plan: NativePlan, progress: Progress) -> None:
        self.scratch, self.plan, self.progress = scratch, plan, progress
        self.recording = scratch.recording()
        self.known = NativeReplay()
        self.aside: tuple[str, ...] = ()
        self.driven: Driven | None = None

    def run(self) -> NativeReplay:
        plan = self.plan
        with self.scratch.busy():
            ensemble = self._compiled()
            self.driven = ensemble.simulation.driven
            first = self._first(ensemble)
            self._judge([first], plan.replays)
            self._capture(ensemble, [first])
            if plan.is_reference:
                self._publish(ensemble, first)
            parts = self._until_clear(ensemble, first)
            self._capture(ensemble, parts)
            if plan.is_reference:
                self._compare_bounds(parts)
                self._take_steps_in_c(parts)
                self._part_from_c(ensemble, first)
            if plan.one_by_one:
                self._say(singly=self._one_by_one())
        if plan.priced:
            self._say(seconds_per_step=self._time(ensemble))
        return self.known

    def _say(self, **more: object) -> None:
        self.known = replace(self.known, **more)  # type: ignore[arg-type]
        self.progress.hand_over(self.known)

    def _compiled(self) -> Ensemble:
        plan = self.plan
        self.progress.stage(f"tracing the step in {plan.title}")
        ensemble = Ensemble(
            self.scratch.simulation(),
            batch=plan.batch,
            emulated=False,
            chunk=min(CHUNK_STEPS, self.recording.steps),
        )
        if plan.is_reference:
            insist_on_float64(ensemble.simulation, ensemble.program.returns, steps=self.recording.steps)
        self._say(effort=Effort(traced=since_start()))
        self.progress.stage(f"compiling the step in {plan.title}")
        with compiling_within(plan.compile_cpu_seconds, self.progress):
            ensemble.compile()
        with compiling_within(plan.chunk_cpu_seconds, self.progress):
            ensemble.run_chunk(self.recording, plan.chunk_cpu_seconds)
        self._say(
            compile_seconds=ensemble.compile_seconds,
            peak_bytes=ensemble.peak_bytes,
            effort=replace(self.known.effort, compiled=ensemble.compile_seconds),
        )
        return ensemble

    def _first(self, ensemble: Ensemble) -> Rollout:
        """The first batch. It is cut short where all of it would leave no time for the others."""
        plan, started = self.plan, time.monotonic()
        self.progress.stage(f"replaying in {plan.title}", self.recording.steps)
        deadline = first_launch_deadline(plan.deadline)
        first = ensemble.roll_out(self.recording, [Lane()], deadline=deadline, progress=self.progress)[0]
        self.recording = self.recording.part(len(first.bad)) if not first.ended else self.recording
        self._say(effort=replace(self.known.effort, launched=time.monotonic() - started))
        return first

    def _judge(self, parts: list[Rollout], replays: int) -> Judgement:
        self.aside = always_nonfinite(parts[0])
        judgement = judgement_of(Lane(), parts, replays=replays, aside=self.aside)
        if self.driven is not None:
            judgement = judgement.with_episodes(
                episodes_of(parts, self.driven, replays=replays, aside=self.aside)
            )
        self._say(judgement=judgement)
        return judgement

    def _capture(self, ensemble: Ensemble, parts: list[Rollout]) -> None:
        """Keeps the steps before the first failure, once."""
        judgement, precision = self.known.judgement, self.plan.captures
        if judgement is None or precision is None or self.known.captured is not None:
            return
        self._say(
            captured=capture(
                self.scratch,
                self.recording,
                ensemble,
                parts,
                precision,
                replays=judgement.replays,
                aside=self.aside,
            )
        )

    def _publish(self, ensemble: Ensemble, rollout: Rollout) -> None:
        """Hands the states to the other workers, and sees how far chaos alone goes."""
        watched = [leaf not in self.aside for leaf in rollout.leaves]
        finite = np.asarray(~rollout.bad[:, :, watched].any(axis=(0, 2)))
        reference = Reference(states=rollout.states, finite=finite, aside=self.aside)
        self.scratch.keep_reference(reference)
        if not finite.any():
            return
        shadow = ensemble.roll_out(self.recording, [Lane(disturbed=True)], deadline=self.plan.deadline)[0]
        self._say(shadow_horizon=horizon(shadow, reference))

    def _until_clear(self, ensemble: Ensemble, first: Rollout) -> list[Rollout]:
        """More replays while the share of failures is neither none nor all nor known well."""
        parts, plan = [first], self.plan
        while True:
            held = len(parts) * plan.batch
            judgement = self._judge(parts, max(plan.replays, held) if len(parts) > 1 else plan.replays)
            share = wilson(judgement.failed, judgement.replays)
            none = judgement.failed == 0 and share.high <= plan.clear_above
            some = judgement.failed > 0 and share.high - share.low < CLEAR_WIDTH
            clear = none or some or judgement.failed == judgement.replays
            enough = (held >= plan.replays and clear) or held >= plan.most_replays
            if enough or time.monotonic() > plan.deadline:
                return parts
            parts += ensemble.roll_out(self.recording, [Lane(first=held)], deadline=plan.deadline)

    def _compare_bounds(self, parts: list[Rollout]) -> None:
        """Whether MJX runs away too, where C does."""
        judgement, in_c = self.known.judgement, self.recording.in_c
        if judgement is not None and (in_c.unusable or in_c.growth is not None):
            self._say(outgrown=outgrown(parts, replays=judgement.replays))

    def _take_steps_in_c(self, parts: list[Rollout]) -> None:
        """What MuJoCo itself makes of the steps in which replays failed."""
        judgement = self.known.judgement
        twin = self.scratch.twin() if judgement is not None and judgement.failed else None
        if judgement is not None and twin is not None:
            self._say(
                steps_in_c=steps_in_c(
                    twin, self.recording, parts, replays=judgement.replays, aside=self.aside
                )
            )

    def _part_from_c(self, ensemble: Ensemble, first: Rollout) -> None:
        """How far one step is from C's, and how soon the rollout is."""
        twin = self.scratch.twin()
        if twin is not None and time.monotonic() < self.plan.deadline:
            self._say(parting=parting(twin, ensemble, self.recording, first, deadline=self.plan.deadline))

    def _one_by_one(self) -> Judgement:
        """The same states in programs of one replay, which compile to other kernels."""
        plan = self.plan
        self.progress.stage(f"replaying one by one in {plan.title}", plan.replays)
        single = Ensemble(self.scratch.simulation(), batch=1, emulated=False)
        parts: list[Rollout] = []
        for index in range(plan.replays):
            if parts and time.monotonic() > plan.deadline:
                break
            parts += single.roll_out(self.recording, [Lane(first=index)], deadline=plan.deadline)
            self.progress.reached(index + 1)
        return judgement_of(Lane(), parts, replays=len(parts), aside=self.aside)

    def _time(self, ensemble: Ensemble) -> float | None:
        """Seconds per step of one replay while no other worker computes; None when that never was."""
        self.progress.stage(f"timing a step in {self.plan.title}")
        with self.scratch.alone(self.plan.deadline) as alone:
            if not alone:
                return None
            # The start alone: later on other replays may have failed, or more of them be in contact.
            short = self.recording.part(ensemble.chunk)
            runs = [ensemble.roll_out(short, [Lane()])[0].seconds_per_step for _ in range(TIMED_RUNS)]
        return min((seconds for seconds in runs if seconds is not None), default=None)
