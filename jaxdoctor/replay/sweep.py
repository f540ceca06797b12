"""Every width in one compiled program: named precisions, single bits, and single products."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from jaxdoctor.facts.closed_loop import OpenLoop
from jaxdoctor.facts.precision import F32, Precision, Rounding
from jaxdoctor.facts.trial import Interval, wilson
from jaxdoctor.programs.emulate import emulate
from jaxdoctor.replay.attribution import Attributing
from jaxdoctor.replay.capture import capture
from jaxdoctor.replay.compile_limit import compiling_within
from jaxdoctor.replay.effort import first_launch_deadline, since_start
from jaxdoctor.replay.ensemble import CHUNK_STEPS, Ensemble, Rollout
from jaxdoctor.replay.episodes import episodes_of, returns_of, scales_of
from jaxdoctor.replay.hypotheses import FailingShares, OneStepErrors
from jaxdoctor.replay.judge import always_nonfinite, horizon, judgement_of, one_step_error
from jaxdoctor.replay.keep_played import keep_rollout
from jaxdoctor.replay.local_cures import with_cures
from jaxdoctor.replay.plan import Captured, Effort, Judgement, Lane, Sweep, SweepPlan
from jaxdoctor.replay.scratch import Reference, Scratch
from jaxdoctor.replay.search import between, uneven
from jaxdoctor.replay.variations import auto_reset_of, opened, resetting, with_actions, with_first
from jaxdoctor.workers.progress import Progress

MOST_SUSPECTS = 16
"""So many products are tried one by one."""

APART = (16, 10, 7, 4, 2, 1)
"""Widths at which the policy and the physics are rounded apart, wide ones first."""

FORCED_STEPS = 50
"""So many single steps of each replay give the one-step error: a median over hundreds of states."""

NO_REFERENCE = "the products that a one-step error needs: there is no x64 replay to compare with"


def lane_of(precision: Precision) -> Lane:
    """How a lane multiplies at a precision."""
    return Lane(bits=precision.mantissa_bits, toward_zero=precision.rounding is Rounding.TOWARD_ZERO)


def sweep(folder: str, plan: SweepPlan, *, progress: Progress) -> Sweep:
    """Replays the recording at every width that the plan names."""
    scratch = Scratch(folder)
    with scratch.busy():
        return _Sweeping(scratch, plan, progress).run()


class _Sweeping:
    """One sweep on its way: what is known so far is in `known`, and was handed over."""

    def __init__(self, scratch: Scratch, plan: SweepPlan, progress: Progress) -> None:
        self.plan, self.progress, self.scratch = plan, progress, scratch
        self.recording = scratch.recording()
        self.parts: dict[Lane, list[Rollout]] = {}
        self.errors: dict[Lane, float | None] = {}
        self.reference: Reference | None = None
        self.aside: tuple[str, ...] = ()
        self.known = Sweep()
        self.named = {precision: lane_of(precision) for precision in plan.named}
        self.widths = {bits: replace(self._full, bits=bits) for bits in plan.widths}
        self.ensemble = self._compiled()

    def run(self) -> Sweep:
        plan, late = self.plan, "the time limit left no time for it"
        self._first()
        driven = self.ensemble.simulation.driven
        if plan.keep is not None and driven is not None and Lane() in self.parts:
            keep_rollout(plan.keep, self.recording, self.parts[Lane()][0], driven)
        self._replay_widths()
        self._raise()
        self._halve()
        self._say(with_highest=self._with_highest())
        self._say(culprits=self._culprits())
        if plan.compares:
            self.reference = self.scratch.wait_for_reference(plan.deadline)
            self._compare()
            if plan.behaves:
                self._say(behaviour_bits=self._behaviour())
        if driven is not None and (plan.varied or any(one.failed for _, one in self.known.named)):
            self._vary()
        if plan.attribute:
            self._attribute()
        if plan.attribute_error is not None:
            self._attribute_error(plan.attribute_error)
        if plan.one_by_one:
            self._say(singly=self._singly())
        missing = [f"{bits} bits: {late}" for bits in self._wanted() if self.widths[bits] not in self.parts]
        self._say(unfinished=(*self.known.unfinished, *missing))
        return self.known

    def _say(self, **more: object) -> None:
        """Hands over what is known, the judgements of all lanes anew among it."""
        named = {
            precision: self._judged(lane) for precision, lane in self.named.items() if lane in self.parts
        }
        widths = {bits: self._judged(lane) for bits, lane in self.widths.items() if lane in self.parts}
        self.known = replace(
            self.known,
            captured=self._captured(),
            named=tuple(named.items()),
            widths=tuple(widths.items()),
            **more,  # type: ignore[arg-type]
        )
        self.progress.hand_over(self.known)

    def _captured(self) -> tuple[Captured, ...]:
        """The first failure at each named precision, kept once all its replays have run."""
        held = {one.failure.precision: one for one in self.known.captured}
        for precision, lane in self.named.items() if self.plan.captures else ():
            if precision.name in held or lane not in self.parts or self._held(lane) < self.plan.replays:
                continue
            found = capture(
                self.scratch,
                self.recording,
                self.ensemble,
                self.parts[lane],
                precision,
                replays=self._judged(lane).replays,
                aside=self.aside,
                all_products=self.plan.all_products,
            )
            if found is not None:
                held[precision.name] = found
        return tuple(held.values())

    def _compiled(self) -> Ensemble:
        plan = self.plan
        self.progress.stage("tracing the step")
        ensemble = Ensemble(
            self.scratch.simulation(),
            batch=plan.batch,
            lanes=plan.lanes,
            all_products=plan.all_products,
            chunk=min(CHUNK_STEPS, self.recording.steps),
        )
        sites = ensemble.program.sites
        if not sites:
            self._take_one_lane(ensemble)
        self._say(
            sites=tuple(site.place for site in sites),
            explicit_sites=tuple(site.place for site in sites if site.explicit),
            unreached=ensemble.program.unreached,
            effort=Effort(traced=since_start()),
        )
        self.progress.stage("compiling the step for every width")
        with compiling_within(plan.compile_cpu_seconds, self.progress):
            ensemble.compile()
        with compiling_within(plan.chunk_cpu_seconds, self.progress):
            ensemble.run_chunk(self.recording, plan.chunk_cpu_seconds)
        peak = ensemble.peak_bytes
        self._say(
            peak_bytes=None if peak is None else peak // ensemble.lanes,
            effort=replace(self.known.effort, compiled=ensemble.compile_seconds),
        )
        return ensemble

    def _take_one_lane(self, ensemble: Ensemble) -> None:
        """Where nothing is rounded every width is float32, which one lane replays for all of them."""
        ensemble.lanes = 1
        self.plan = replace(self.plan, lanes=1)
        self.named = {precision: Lane() for precision in self.named}
        self.widths = {bits: Lane() for bits in self.widths if bits == min(self.widths)}

    def _first(self) -> None:
        """The named precisions. They are cut short where whole replays would leave no time for the rest."""
        lanes, started = list(dict.fromkeys(self.named.values())), time.monotonic()
        if self.plan.searched and self.widths and len(lanes) < self.plan.lanes:
            # Where the narrowest width is finite, nothing is left to search.
            lanes.append(self.widths[min(self.widths)])
        self.progress.stage("replaying the named precisions", self.recording.steps)
        self._replay(lanes[: self.plan.lanes], first_launch_deadline(self.plan.deadline))
        first = self.parts[lanes[0]][0]
        if not first.ended:
            self.recording = self.recording.part(len(first.bad))
        self.aside = always_nonfinite(first)
        if self.ensemble.simulation.driven is not None:
            self._say(scales=scales_of([first], self.ensemble.simulation.driven))
        self._say(effort=replace(self.known.effort, launched=time.monotonic() - started))
        self._replay(lanes[self.plan.lanes :])
        self._fill(lanes)
        self._say()

    def _replay_widths(self) -> None:
        """All widths, or those that tell where the first fails; those already replayed are left alone."""
        while time.monotonic() < self.plan.deadline:
            wanted = [bits for bits in self._wanted() if self.widths[bits] not in self.parts]
            if not wanted:
                break
            self.progress.stage(f"replaying {len(wanted)} more widths", self.recording.steps)
            lanes = [self.widths[bits] for bits in wanted]
            self._replay(lanes)
            self._fill(lanes)
            self._say()

    def _wanted(self) -> list[int]:
        """The widths that are to be replayed, going by what is known of the others."""
        if not self.plan.searched:
            return list(self.widths)
        known = {lane.bits: lane for lane in self.parts if self._is_plain(lane)}
        if self._full.bits not in known:
            return []
        full = self._judged(self._full if self._full in self.parts else Lane())
        finite = {bits: self._as_finite(self._judged(lane), full) for bits, lane in known.items()}
        return [bits for bits in between(finite, self.plan.widths, self.plan.lanes) if bits in self.widths]

    def _is_plain(self, lane: Lane) -> bool:
        """Whether it rounds every product alike, and as what is delivered does; 23 bits round nothing."""
        alike = lane.toward_zero == self._full.toward_zero or lane.bits == F32.mantissa_bits
        return alike and lane == Lane(bits=lane.bits, toward_zero=lane.toward_zero)

    def _as_finite(self, judgement: Judgement, full: Judgement) -> bool:
        """Whether it fails no more than float32 does; where float32 fails too, chance is allowed for."""
        if not full.failed:
            return judgement.failed == 0
        here, there = (wilson(each.failed, each.replays) for each in (judgement, full))
        return here.low <= there.high

    def _replay(self, lanes: Sequence[Lane], deadline: float | None = None) -> None:
        """One more part of the replays in each lane, as far as the time allows."""
        held = uneven(lanes)
        following = [
            replace(lane, first=(len(self.parts.get(lane, ())) + before) * self.plan.batch)
            for lane, before in zip(lanes, held, strict=True)
        ]
        rollouts = self.ensemble.roll_out(
            self.recording, following, deadline=deadline or self.plan.deadline, progress=self.progress
        )
        for lane, rollout in zip(lanes, rollouts, strict=False):
            self.parts.setdefault(lane, []).append(rollout)

    def _fill(self, lanes: Sequence[Lane]) -> None:
        """Parts until every lane has as many replays as were asked for."""
        while time.monotonic() < self.plan.deadline:
            short = [lane for lane in lanes if lane in self.parts and self._held(lane) < self.plan.replays]
            if not short:
                return
            self._replay(short)

    def _held(self, lane: Lane) -> int:
        return len(self.parts.get(lane, ())) * self.plan.batch

    def _judged(self, lane: Lane) -> Judgement:
        parts, held = self.parts[lane], self._held(lane)
        raised = held - self.plan.batch >= self.plan.replays
        replays = held if raised else self.plan.replays
        judgement = judgement_of(lane, parts, replays=replays, aside=self.aside)
        if (driven := self.ensemble.simulation.driven) is not None:
            full = None if lane == Lane() else returns_of(self.parts.get(Lane(), []), driven, self.aside)
            judgement = judgement.with_episodes(
                episodes_of(parts, driven, replays=replays, aside=self.aside, full=full)
            )
        if self.reference is None:
            return judgement
        return replace(
            judgement, horizon=horizon(parts[0], self.reference), one_step_error=self.errors.get(lane)
        )

    def _raise(self) -> None:
        """More replays for the lanes that are not clear, until they are or half of the time is gone."""
        plan = self.plan
        half = time.monotonic() + (plan.deadline - time.monotonic()) / 2
        while plan.most_replays > plan.replays and time.monotonic() < half:
            unclear = [lane for lane in self.parts if self._unclear(lane)]
            if not unclear:
                return
            self.progress.stage(f"raising the replays of {len(unclear)} widths", self.recording.steps)
            # A launch with free lanes costs as much: they take further replays of the same widths.
            times = max(1, plan.lanes // len(unclear))
            room = [(plan.most_replays - self._held(lane)) // plan.batch for lane in unclear]
            lanes = [
                lane for turn in range(times) for lane, free in zip(unclear, room, strict=True) if turn < free
            ]
            self._replay(lanes)
            self._say()

    def _vary(self) -> None:
        """With auto-reset, as training runs it, and open, with the actions of float32."""
        simulation, chunk = self.ensemble.simulation, self.ensemble.chunk
        if simulation.shared or time.monotonic() > self.plan.deadline:
            return
        self.progress.stage("compiling the step with auto-reset")
        ensemble = Ensemble(resetting(simulation), batch=self.plan.batch, chunk=chunk)
        lane = self._delivered or Lane()
        rollouts = ensemble.roll_out(with_first(self.recording), [lane], deadline=self.plan.deadline)
        self._say(auto_reset=auto_reset_of(rollouts[0]))
        if Lane() not in self.parts or time.monotonic() > self.plan.deadline:
            return
        self.progress.stage("compiling the step of an open loop")
        ensemble = Ensemble(opened(simulation), batch=self.plan.batch, lanes=self.plan.lanes, chunk=chunk)
        recording = with_actions(self.recording, self.parts[Lane()][0])
        rollouts = ensemble.roll_out(recording, list(self.named.values()), deadline=self.plan.deadline)
        told = []
        for precision, rollout in zip(self.named, rollouts, strict=False):
            judged = judgement_of(Lane(), [rollout], replays=self.plan.batch, aside=self.aside)
            told.append(
                OpenLoop(
                    precision=precision.name,
                    failed=judged.failed,
                    replays=judged.replays,
                    first_bad_step=judged.first_bad_step,
                    first_bad_field=judged.first_bad_field,
                )
            )
        self._say(open_loop=tuple(told))

    def _halve(self) -> None:
        """What the policy's products require while all others are exact, and the other way round."""
        driven = self.ensemble.simulation.driven
        if driven is None or driven.acts is None or Lane() not in self.parts or self._judged(Lane()).failed:
            return
        alone = emulate(driven.acts, self.ensemble.simulation.parameters)
        places = {site.place for site in alone.sites}
        of_policy = [site.place in places for site in self.ensemble.program.sites]
        for name, part in (("policy_bits", True), ("physics_bits", False)):
            self._say(**{name: self._required_by([mine is part for mine in of_policy])})

    def _required_by(self, chosen: Sequence[bool]) -> int | None:
        """The smallest of some widths from which on the chosen products keep every replay finite."""
        narrow = replace(self._full, bits=1)
        if not any(chosen):
            return None
        if narrow in self.parts and not self._judged(narrow).failed:
            return 1
        self.progress.stage("rounding the policy and the physics apart", self.recording.steps)
        full = F32.mantissa_bits
        lanes = [
            replace(self._full, bits=bits, by_site=tuple(bits if one else full for one in chosen))
            for bits in APART
        ]
        rollouts = self.ensemble.roll_out(self.recording, lanes, deadline=self.plan.deadline)
        required = full
        for lane, rollout in zip(lanes, rollouts, strict=False):
            if judgement_of(lane, [rollout], replays=self.plan.batch, aside=self.aside).failed:
                break
            required = lane.bits
        return required

    def _unclear(self, lane: Lane) -> bool:
        if self._held(lane) + self.plan.batch > self.plan.most_replays or Lane() not in self.parts:
            return False
        judgement, full = self._judged(lane), self._judged(Lane())
        here, there = wilson(judgement.failed, judgement.replays), wilson(full.failed, full.replays)
        if judgement.failed == 0 and full.failed == 0:
            return lane in (Lane(), self._delivered) and here.high > self.plan.clear_above
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
        explicit = any(site.explicit for site in self.ensemble.program.sites)
        # Where what is delivered is enough, so is more of it.
        if delivered is None or not explicit or not self._fails_as_delivered():
            return None
        lane = replace(
            delivered, bits=F32.mantissa_bits, explicit_bits=min(delivered.bits, F32.mantissa_bits)
        )
        self.progress.stage("replaying at highest", self.recording.steps)
        self._replay([lane])
        return self._judged(lane) if lane in self.parts else None

    def _culprits(self) -> tuple[str, ...]:
        """The sites whose rounding alone is enough to fail."""
        sites = self.ensemble.program.sites
        delivered = self._delivered
        if delivered is None or not self._fails_as_delivered():
            return ()
        if len(sites) > MOST_SUSPECTS:
            self._say(unfinished=(f"{len(sites)} products are too many to try one by one",))
            return ()
        self.progress.stage("trying the products one by one", self.recording.steps)
        alone = [replace(delivered, only=index) for index in range(len(sites))]
        self._replay(alone)
        tried = [lane for lane in alone if lane in self.parts]
        return tuple(sites[lane.only or 0].place for lane in tried if self._judged(lane).failed)

    def _attribute(self) -> None:
        """Which products must be exact, where what is delivered fails and float32 does not."""
        delivered = self._delivered
        if delivered is None or not self._fails_as_delivered():
            return
        asked = FailingShares(
            self.ensemble,
            self.recording,
            replays=self.plan.replays,
            deadline=self.plan.deadline,
            aside=self.aside,
            progress=self.progress,
        )
        search = Attributing(self.ensemble, delivered, asked, progress=self.progress)
        sites = frozenset(range(len(search.sites)))
        known = {Lane(): sites, delivered: frozenset[int]()}
        known |= {replace(delivered, only=index): sites - {index} for index in sites}
        for lane, exact in known.items():
            if lane in self.parts:
                asked.know(search.lane(exact), self.parts[lane])
        found = search.run()
        self._say(attribution=found)
        if found.needs:
            for tried in with_cures(found, search, asked, self.scratch.simulation()):
                self._say(attribution=tried)

    def _attribute_error(self, bound: float) -> None:
        """Which products must be exact for the one-step error to stay within the bound."""
        delivered = self._delivered
        if delivered is None or self.reference is None or not self.ensemble.forces:
            self._say(unfinished=(*self.known.unfinished, NO_REFERENCE))
            return
        asked = OneStepErrors(
            self.ensemble,
            self.recording.part(FORCED_STEPS),
            self.reference,
            bound=bound,
            deadline=self.plan.deadline,
            progress=self.progress,
        )
        found = Attributing(self.ensemble, delivered, asked, progress=self.progress).run()
        self._say(error_attribution=replace(found, bound=bound))

    def _compare(self) -> None:
        """Horizons against the x64 replay, and one-step errors of the named precisions from its states."""
        if self.reference is None:
            return
        self.aside = self.reference.aside or self.aside
        lanes = [lane for lane in dict.fromkeys(self.named.values()) if lane in self.parts]
        if not self.ensemble.forces:
            self._say()
            return
        self.progress.stage("taking single steps from the x64 replay", FORCED_STEPS)
        rollouts = self.ensemble.roll_out(
            self.recording.part(FORCED_STEPS),
            [replace(lane, forced=True) for lane in lanes],
            reference=self.reference.states,
            deadline=self.plan.deadline,
            progress=self.progress,
        )
        for lane, rollout in zip(lanes, rollouts, strict=False):
            self.errors[lane] = one_step_error(rollout, self.reference)
        self._say()

    def _behaviour(self) -> int | None:
        """The smallest width from which on replays stay with the x64 ones half as long as float32's do.

        Float32's own horizon is what chaos makes of one rounding more or less.
        """
        full = Lane()
        nothing = not self.ensemble.program.sites or full not in self.parts
        if self.reference is None or nothing or self._judged(full).failed:
            return None
        half = math.ceil((self._judged(full).horizon or self.recording.steps) / 2)
        recording, reference = self.recording.part(half), self.reference

        def stays(rollout: Rollout) -> bool:
            left = horizon(rollout, reference)
            return left is None or left >= half

        known = {
            lane.bits: stays(parts[0])
            for lane, parts in self.parts.items()
            if self._is_plain(lane) and len(parts[0].bad)
        }
        self.progress.stage("finding the width that behaves otherwise", recording.steps)
        while time.monotonic() < self.plan.deadline:
            wanted = between(known, list(self.widths), self.plan.lanes)
            if not wanted:
                break
            lanes = [self.widths[bits] for bits in wanted]
            rollouts = self.ensemble.roll_out(
                recording, lanes, deadline=self.plan.deadline, progress=self.progress
            )
            if len(rollouts) < len(lanes):
                return None
            known |= {bits: stays(rollout) for bits, rollout in zip(wanted, rollouts, strict=True)}
        failing = [bits for bits, good in known.items() if not good]
        return min(bits for bits in known if bits > max(failing, default=0))

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
        parts = single.roll_out(self.recording, lanes, deadline=self.plan.deadline, progress=self.progress)
        return judgement_of(delivered, parts, replays=len(parts), aside=self.aside) if parts else None


def _overlap(left: Interval, right: Interval) -> bool:
    return left.low <= right.high and right.low <= left.high
