"""From the workers' answers to trials and an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxdoctor.facts.closed_loop import ClosedLoop
from jaxdoctor.facts.memory import Memory
from jaxdoctor.facts.outcome import BEYOND_BITS, Outcome, Parting, StepInC, Verdict
from jaxdoctor.facts.precision import F32, Precision, Rounding
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.machine.judged import Machine
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.unfinished import unknown_because
from jaxdoctor.probe.verdict import deciding, required_bits, verdict_of
from jaxdoctor.probe.workers import Answers, native_precision
from jaxdoctor.replay.plan import Judgement, NativeReplay, Prepared

ORDER = ("default", "high", "highest", "x64")
"""Native trials in the order in which they are told."""


def assemble(ask: Ask, machine: Machine, answers: Answers, expected: Verdict | None = None) -> Outcome:
    """The outcome of one rollout."""
    making = _Trials(ask, machine, answers)
    natives, emulated, widths = making.natives(), making.emulated(), making.widths()
    x64 = natives.get("x64")
    by_bits = making.by_bits(widths)
    full = making.full(natives, by_bits)
    if full is not None:
        by_bits[F32.mantissa_bits] = full
    decides = deciding(making.as_delivered(natives, emulated), full)
    in_c, taken = answers.prepared.in_c, making.steps_in_c()
    verdict = verdict_of(decides, full, x64, steps_in_c=taken, in_c=in_c, outgrown=making.outgrown())
    sweep = answers.sweep
    delivered = machine.delivered
    return Outcome(
        subject=ask.subject,
        trials=(*natives.values(), *emulated, *making.singly(), *making.everywhere(), *widths),
        verdict=verdict,
        # More bits do not mend a model that float64 breaks, so there is no number of them to require.
        required_bits=None if verdict in BEYOND_BITS else required_bits(by_bits, x64),
        delivered_bits=None if delivered is None else delivered.mantissa_bits,
        delivered_by=machine.environment.accelerator.name,
        as_delivered=decides,
        reason=_reason(verdict, machine, answers) or _left_open(verdict, x64, taken, answers.prepared),
        steps=answers.prepared.steps,
        start=answers.prepared.start,
        controls=answers.prepared.controls,
        in_c=in_c,
        steps_in_c=taken,
        parting=making.parting(),
        timestep=answers.prepared.seconds,
        behaviour_bits=None if sweep is None else sweep.behaviour_bits,
        rounded=None if sweep is None or sweep.effort.traced is None else len(sweep.sites),
        memory=making.memory(ask.training_batch),
        timed_on=None if machine.environment.assumed is None else making.device(),
        float64_rate=machine.environment.accelerator.fp64_ratio,
        products=() if sweep is None else sweep.sites,
        culprits=() if sweep is None else sweep.culprits,
        attribution=None if sweep is None else sweep.attribution,
        error_attribution=None if sweep is None else sweep.error_attribution,
        own_precision=() if sweep is None else sweep.explicit_sites,
        at_highest=making.at_highest(),
        expected=expected,
        loop=_loop(answers),
    )


def _loop(answers: Answers) -> ClosedLoop | None:
    """The policy that drove, with what the batch changes for it."""
    loop, sweep, single = answers.prepared.loop, answers.sweep, answers.single
    if loop is None or sweep is None:
        return loop
    loop = replace(
        loop,
        scales=sweep.scales,
        policy_bits=sweep.policy_bits,
        physics_bits=sweep.physics_bits,
        auto_reset=sweep.auto_reset,
        open_loop=sweep.open_loop,
    )
    if single is None:
        return loop
    return replace(
        loop,
        only_batched=tuple(place for place in sweep.sites if place not in single.sites),
        only_alone=tuple(place for place in single.sites if place not in sweep.sites),
    )


def _reason(verdict: Verdict, machine: Machine, answers: Answers) -> str | None:
    if verdict is not Verdict.UNKNOWN:
        return None
    if machine.delivered is None:
        return "it is not known what products get here"
    x64 = answers.natives.get("x64")
    named = dict(answers.sweep.named) if answers.sweep is not None else {}
    known = {"x64": None if x64 is None else x64.judgement, "float32": named.get(F32)}
    if machine.delivered != F32 and not machine.delivered.x64:
        known[machine.delivered.name] = named.get(machine.delivered)
    reason = unknown_because(known, answers.unfinished, answers.time_limit)
    if answers.unfinished:
        return reason
    return "; ".join([reason, *(skipped.reason for skipped in answers.skipped)])


def _left_open(
    verdict: Verdict, x64: Trial | None, taken: Sequence[StepInC] | None, prepared: Prepared
) -> str | None:
    if verdict is Verdict.MODEL and x64 is not None and x64.failed and prepared.controls is None:
        return "fails at x64 too: the function or its arguments, not the precision"
    if verdict is Verdict.MODEL and x64 is not None and x64.failed and taken is None:
        part = None if x64.episodes is None else x64.episodes.part
        if part is not None and part.is_the_policys:
            return f"not the precision but the policy: the {part} is first not finite, at x64 too"
        return "not the precision; engine or model cannot be distinguished, for there is no C twin to ask"
    return None


class _Trials:
    """Trials of one rollout, made of judgements."""

    def __init__(self, ask: Ask, machine: Machine, answers: Answers) -> None:
        self._source = ask.subject
        self._machine, self._answers = machine, answers
        x64 = answers.natives.get("x64")
        self._shadow = None if x64 is None else x64.shadow_horizon
        self._named: Mapping[Precision, Judgement] = dict(answers.sweep.named) if answers.sweep else {}

    def natives(self) -> dict[str, Trial]:
        """What ran on the device, by setting."""
        replays = self._answers.natives
        return {
            setting: self._native(setting, replays[setting], judgement)
            for setting in ORDER
            if setting in replays and (judgement := replays[setting].judgement) is not None
        }

    def steps_in_c(self) -> tuple[StepInC, ...] | None:
        """What C made of the steps in which x64 failed."""
        x64 = self._answers.natives.get("x64")
        return None if x64 is None else x64.steps_in_c

    def outgrown(self) -> int | None:
        """How many replays run away in MJX at x64, where C's do."""
        x64 = self._answers.natives.get("x64")
        return None if x64 is None else x64.outgrown

    def parting(self) -> Parting | None:
        """MJX at x64 against C."""
        x64 = self._answers.natives.get("x64")
        return None if x64 is None else x64.parting

    def _native(self, setting: str, replay: NativeReplay, judgement: Judgement) -> Trial:
        precision = native_precision(self._machine, setting)
        # A CPU computes in float32, so this is to the last bit what the emulation compared with x64.
        alike = self._named.get(precision)
        # Float64 has nothing above it to be compared with but MuJoCo's own rollout in C.
        parting = replay.parting
        left = alike.horizon if alike else parting.horizon if parting else None
        return self._trial(
            precision,
            Kind.NATIVE,
            judgement,
            horizon=left,
            one_step_error=alike.one_step_error if alike else None,
            seconds_per_step=replay.seconds_per_step,
            compile_seconds=replay.compile_seconds,
            peak_bytes=replay.peak_bytes,
        )

    def emulated(self) -> list[Trial]:
        """The named precisions; float32 only where it did not run natively."""
        replayed = self._answers.natives.get("highest")
        native = replayed is not None and replayed.judgement is not None
        peak = self._answers.sweep.peak_bytes if self._answers.sweep else None
        return [
            self._trial(precision, Kind.EMULATED, judgement, peak_bytes=peak if precision == F32 else None)
            for precision, judgement in self._named.items()
            if not (native and precision == F32)
        ]

    def widths(self) -> list[Trial]:
        """The bare widths."""
        sweep = self._answers.sweep
        if sweep is None:
            return []
        rounding = self._rounding
        return [
            self._trial(
                Precision(name=str(bits), mantissa_bits=bits, rounding=rounding), Kind.EMULATED, judgement
            )
            for bits, judgement in sweep.widths
        ]

    @property
    def _rounding(self) -> Rounding:
        delivered = self._machine.delivered
        return Rounding.NEAREST if delivered is None else delivered.rounding

    def by_bits(self, widths: list[Trial]) -> dict[int, Trial]:
        """One trial for each width, all with the rounding that is delivered."""
        named = {
            precision.mantissa_bits: self._trial(precision, Kind.EMULATED, judgement)
            for precision, judgement in self._named.items()
            if precision == F32 or precision.rounding is self._rounding
        }
        return named | {trial.precision.mantissa_bits: trial for trial in widths}

    def as_delivered(self, natives: Mapping[str, Trial], emulated: list[Trial]) -> Trial | None:
        """What decides: the device itself where it is the one that is judged, else the emulation."""
        delivered = self._machine.delivered
        if delivered is None:
            return None
        if self._machine.environment.assumed is None and self._machine.setting in natives:
            return natives[self._machine.setting]
        if delivered.x64:
            return natives.get("x64")
        alike = [trial for trial in emulated if trial.precision == delivered]
        return alike[0] if alike else natives.get("highest") if delivered == F32 else None

    def full(self, natives: Mapping[str, Trial], by_bits: Mapping[int, Trial]) -> Trial | None:
        """Float32: the emulation's or the device's own, whichever fails more."""
        known = [trial for trial in (by_bits.get(F32.mantissa_bits), natives.get("highest")) if trial]
        return max(known, key=lambda trial: trial.interval.low, default=None)

    def memory(self, batch: int | None) -> Memory | None:
        """What one of the replays takes, in the programs that were compiled."""
        sweep, natives = self._answers.sweep, self._answers.natives
        sizes = [sweep.peak_bytes if sweep else None]
        sizes += [natives[name].peak_bytes if name in natives else None for name in ("highest", "x64")]
        emulated, full, x64 = (None if size is None else size / self._answers.batch for size in sizes)
        replay = full or emulated
        card = self._machine.environment.accelerator.memory_bytes
        return None if replay is None else Memory(replay=replay, x64=x64, batch=batch, card=card)

    def device(self) -> str:
        """What the native trials ran on."""
        here = self._machine.environment.here
        return "this machine" if here is None else here.name

    def at_highest(self) -> Trial | None:
        """With every bit except where the code names a precision."""
        judgement = self._answers.sweep.with_highest if self._answers.sweep else None
        return None if judgement is None else self._trial(F32, Kind.EMULATED, judgement)

    def singly(self) -> list[Trial]:
        """In a batch of one: natively, and emulated at what is delivered."""
        found = [
            self._trial(native_precision(self._machine, setting), Kind.NATIVE, replay.singly, batch=1)
            for setting, replay in self._answers.natives.items()
            if replay.singly is not None
        ]
        sweep, delivered = self._answers.sweep, self._machine.delivered
        if self._answers.single is not None:
            found += [
                self._trial(precision, Kind.EMULATED, judgement, batch=1)
                for precision, judgement in self._answers.single.named
            ]
        if sweep is not None and sweep.singly is not None and delivered is not None:
            found.append(self._trial(delivered, Kind.EMULATED, sweep.singly, batch=1))
        return found

    def everywhere(self) -> list[Trial]:
        """With every product rounded."""
        sweep = self._answers.everywhere
        named = () if sweep is None else sweep.named
        return [self._trial(precision, Kind.EMULATED, judgement) for precision, judgement in named]

    def _trial(self, precision: Precision, kind: Kind, judgement: Judgement, **rest: Any) -> Trial:
        fields: dict[str, Any] = {
            "horizon": judgement.horizon,
            "one_step_error": judgement.one_step_error,
            "shadow_horizon": self._shadow,
            **rest,
        }
        return Trial(
            source=self._source,
            precision=precision,
            kind=kind,
            replays=judgement.replays,
            # A launch ends early when nothing in it is finite any more.
            steps=self._answers.prepared.steps if judgement.failed == judgement.replays else judgement.steps,
            failed=judgement.failed,
            first_bad_step=judgement.first_bad_step,
            first_bad_field=judgement.first_bad_field,
            first_bad_replay=judgement.first_bad_replay,
            hidden=judgement.hidden,
            bad_fields=judgement.bad_fields,
            episodes=judgement.episodes,
            **fields,
        )
