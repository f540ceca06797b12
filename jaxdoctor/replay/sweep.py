"""Every width in one compiled program: named precisions, single bits, and single products."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from jaxdoctor.facts.precision import F32, Precision, Rounding
from jaxdoctor.facts.trial import Interval, wilson
from jaxdoctor.replay.ensemble import Ensemble, Rollout
from jaxdoctor.replay.first_step import first_step_within
from jaxdoctor.replay.judge import horizon, judgement_of, one_step_error
from jaxdoctor.replay.plan import Judgement, Lane, Sweep, SweepPlan
from jaxdoctor.replay.scratch import Reference, Scratch
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.workers.progress import Progress

MOST_SUSPECTS = 16
"""So many products are tried one by one."""

CLEAR_ABOVE = 0.10
"""No failure among so many replays that the share is below this, at 95 %, counts as none."""


def lane_of(precision: Precision) -> Lane:
    """How a lane multiplies at a precision."""
    return Lane(bits=precision.mantissa_bits, toward_zero=precision.rounding is Rounding.TOWARD_ZERO)


def sweep(folder: str, plan: SweepPlan, *, progress: Progress) -> Sweep:
    """Replays the recording at every width that the plan names."""
    scratch = Scratch(folder)
    with scratch.busy():
        return _Sweeping(scratch, plan, progress).run()


class _Sweeping:
    """One sweep on its way."""

    def __init__(self, scratch: Scratch, plan: SweepPlan, progress: Progress) -> None:
        self.plan, self.progress, self.scratch = plan, progress, scratch
        self.deadline = time.monotonic() + plan.seconds
        self.recording: Recording = scratch.recording()
        self.parts: dict[Lane, list[Rollout]] = {}
        self.reference: Reference | None = None
        self.unfinished: list[str] = []
        with first_step_within(plan.first_step_seconds, progress):
            progress.stage("compiling the step for every width")
            self.ensemble = Ensemble(
                scratch.simulation(), batch=plan.batch, lanes=plan.lanes, all_products=plan.all_products
            )
            self.ensemble.compile()
            progress.stage("replaying the named precisions", self.recording.steps)
            self._replay([lane_of(precision) for precision in plan.named])

    def run(self) -> Sweep:
        plan = self.plan
        named = {precision: lane_of(precision) for precision in plan.named}
        widths = {bits: replace(self._full, bits=bits) for bits in plan.widths}
        self.progress.stage(f"replaying {len(widths)} more widths", self.recording.steps)
        self._replay([lane for lane in widths.values() if lane not in self.parts])
        self._fill([*named.values(), *widths.values()], plan.replays)
        self.reference = self.scratch.wait_for_reference(self.deadline) if plan.compares else None
        self._raise([*named.values(), *widths.values()])
        with_highest = self._with_highest()
        culprits = self._culprits()
        far = self._compared(list(named.values()))
        return Sweep(
            named=tuple((precision, far[lane]) for precision, lane in named.items() if lane in far),
            widths=tuple((bits, self._judged(lane)) for bits, lane in widths.items() if lane in self.parts),
            with_highest=with_highest,
            sites=tuple(site.place for site in self.ensemble.program.sites),
            explicit_sites=tuple(site.place for site in self.ensemble.program.sites if site.explicit),
            unreached=self.ensemble.program.unreached,
            culprits=culprits,
            singly=self._singly() if plan.one_by_one else None,
            unfinished=tuple(self.unfinished),
        )

    def _replay(self, lanes: Sequence[Lane]) -> None:
        """One more part of the replays in each lane, as far as the time allows."""
        following = [replace(lane, first=len(self.parts.get(lane, ())) * self.plan.batch) for lane in lanes]
        rollouts = self.ensemble.roll_out(
            self.recording, following, deadline=self.deadline, progress=self.progress
        )
        for lane, rollout in zip(lanes, rollouts, strict=False):
            self.parts.setdefault(lane, []).append(rollout)

    def _fill(self, lanes: Sequence[Lane], replays: int) -> None:
        """Parts until every lane has as many replays as were asked for."""
        while time.monotonic() < self.deadline:
            short = [lane for lane in lanes if len(self.parts.get(lane, ())) * self.plan.batch < replays]
            if not short:
                return
            self._replay(short)

    def _judged(self, lane: Lane) -> Judgement:
        parts = self.parts[lane]
        aside = self.reference.aside if self.reference is not None else ()
        held = len(parts) * self.plan.batch
        raised = held - self.plan.batch >= self.plan.replays
        return judgement_of(lane, parts, replays=held if raised else self.plan.replays, aside=aside)

    def _raise(self, lanes: Sequence[Lane]) -> None:
        """More replays for the lanes that are not clear, until they are or half of the time is gone."""
        plan = self.plan
        half = self.deadline - plan.seconds / 2
        while plan.most_replays > plan.replays and time.monotonic() < half:
            unclear = [lane for lane in lanes if self._unclear(lane)]
            if not unclear:
                return
            self.progress.stage(f"raising the replays of {len(unclear)} widths", self.recording.steps)
            self._replay(unclear)

    def _unclear(self, lane: Lane) -> bool:
        if lane not in self.parts or len(self.parts[lane]) * self.plan.batch >= self.plan.most_replays:
            return False
        judgement, full = self._judged(lane), self._judged(Lane())
        here, there = wilson(judgement.failed, judgement.replays), wilson(full.failed, full.replays)
        if judgement.failed == 0 and full.failed == 0:
            decisive = lane in (Lane(), self._delivered)
            return decisive and here.high > CLEAR_ABOVE
        return _overlap(here, there) and judgement.failed not in (0, judgement.replays)

    @property
    def _delivered(self) -> Lane | None:
        return None if self.plan.delivered is None else lane_of(self.plan.delivered)

    @property
    def _full(self) -> Lane:
        """Every bit, with the rounding that is delivered."""
        delivered = self._delivered
        return Lane(toward_zero=delivered is not None and delivered.toward_zero)

    def _fails_as_delivered(self) -> bool:
        """Whether what is delivered fails where float32 does not."""
        full, delivered = Lane(), self._delivered
        if delivered is None or delivered not in self.parts or full not in self.parts:
            return False
        return self._judged(delivered).failed > 0 and self._judged(full).failed == 0

    def _with_highest(self) -> Judgement | None:
        delivered = self._delivered
        if delivered is None or not any(site.explicit for site in self.ensemble.program.sites):
            return None
        lane = replace(
            delivered, bits=F32.mantissa_bits, explicit_bits=min(delivered.bits, F32.mantissa_bits)
        )
        self._replay([lane])
        return self._judged(lane) if lane in self.parts else None

    def _culprits(self) -> tuple[str, ...]:
        """The sites whose rounding alone is enough to fail."""
        sites = self.ensemble.program.sites
        delivered = self._delivered
        if delivered is None or not self._fails_as_delivered():
            return ()
        if len(sites) > MOST_SUSPECTS:
            self.unfinished.append(f"{len(sites)} products are too many to try one by one")
            return ()
        self.progress.stage("trying the products one by one", self.recording.steps)
        alone = [replace(delivered, only=index) for index in range(len(sites))]
        self._replay(alone)
        tried = [lane for lane in alone if lane in self.parts]
        return tuple(sites[lane.only or 0].place for lane in tried if self._judged(lane).failed)

    def _compared(self, lanes: Sequence[Lane]) -> dict[Lane, Judgement]:
        """The lanes' judgements, with horizon and one-step error where there is a reference."""
        judged = {lane: self._judged(lane) for lane in lanes if lane in self.parts}
        if self.reference is None:
            return judged
        forced = [replace(lane, forced=True) for lane in judged]
        self.progress.stage("comparing with the x64 replay", self.recording.steps)
        rollouts = self.ensemble.roll_out(
            self.recording,
            forced,
            reference=self.reference.states,
            deadline=self.deadline,
            progress=self.progress,
        )
        for lane, judgement in judged.items():
            free = self.parts[lane][0]
            judged[lane] = replace(judgement, horizon=horizon(free, self.reference))
        for lane, rollout in zip(list(judged), rollouts, strict=False):
            judged[lane] = replace(judged[lane], one_step_error=one_step_error(rollout, self.reference))
        return judged

    def _singly(self) -> Judgement | None:
        """What is delivered, in a batch of one: batching decides which products are matrix products."""
        delivered = self._delivered
        if delivered is None:
            return None
        self.progress.stage("compiling the step for a batch of one")
        single = Ensemble(
            self.scratch.simulation(), batch=1, lanes=self.plan.lanes, all_products=self.plan.all_products
        )
        lanes = [replace(delivered, first=index) for index in range(self.plan.replays)]
        parts = single.roll_out(self.recording, lanes, deadline=self.deadline, progress=self.progress)
        aside = self.reference.aside if self.reference is not None else ()
        return judgement_of(delivered, parts, replays=len(parts), aside=aside) if parts else None


def _overlap(left: Interval, right: Interval) -> bool:
    return left.low <= right.high and right.low <= left.high
