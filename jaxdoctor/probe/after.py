"""What is looked for once the verdict stands: what mends the rollout, and where MJX parts from C."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.facts.outcome import BEYOND_BITS, Compiled, Outcome, Parting, StepInC, Verdict
from jaxdoctor.facts.precision import F32, Precision
from jaxdoctor.facts.trial import Kind, Trial, native_x64
from jaxdoctor.replay.plan import (
    CURES_IN_C,
    CURES_IN_MJX,
    NATIVE,
    PARTING,
    WARP,
    CurePlan,
    NativePlan,
    PartingPlan,
    WarpPlan,
)
from jaxdoctor.workers.cache import cache_folder
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Call, R
from jaxdoctor.workers.worker import end_all, run

LEAST_SECONDS = 8.0
"""With less time left no program is compiled any more."""

RESERVE_SECONDS = 2.0

TOGETHER = 2
"""So many changes that need a program of their own are compiled at once: one on each core."""

X64 = {"JAX_ENABLE_X64": "1"}
IN_WARP = Precision(name="warp", mantissa_bits=F32.mantissa_bits)
"""Warp's kernels compute in float32, whatever JAX is set to."""

HIGHEST = {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}

Environment = Callable[[Mapping[str, str | None]], Mapping[str, str | None]]


SELDOM = 0.25
"""Of the replays: when fewer fail, a change that mends the start states' replays may have mended none."""

AT_X64, IN_FLOAT32, IN_C = "MJX at x64", "MJX in float32", "MuJoCo in C"


@dataclass(frozen=True, kw_only=True)
class After:
    """What the workers need that come after the verdict."""

    folder: str
    """The scratch folder, as the replays left it."""

    deadline: float
    """The moment of `time.monotonic()` at which the command's time is over."""

    batch: int
    environment: Environment
    """The variables of a worker, with those that are given."""

    progress: Progress = SILENT
    compilers: tuple[str, ...] = ()
    """XLA_FLAGS with which the float32 replay is compiled once more."""

    replays: int = 0
    warp: bool = False
    """Whether MuJoCo Warp replays the recording too."""

    known: tuple[Cure, ...] = ()
    """Changes that were tried while the emulation still ran."""

    trouble: list[Skipped] = field(default_factory=list)
    """What was asked for and could not be looked at."""

    def completed(self, outcome: Outcome, *, cures: bool) -> Outcome:
        """The outcome with the field in which MJX parts from C, and, if wanted, with what mends it.

        An outcome is never lost to what comes after it: a worker that dies, or a signal, leaves it as it is.
        """
        try:
            if self.warp:
                outcome = replace(outcome, warp=self._warp(outcome))
            if cures:
                outcome = replace(outcome, cures=self._cures(outcome))
            if outcome.parting is not None and outcome.parting.is_plain:
                outcome = replace(outcome, parting=self._field(outcome.parting))
            if self.compilers:
                outcome = replace(outcome, compiled=self._compiled())
        except KeyboardInterrupt:
            end_all()
        return outcome

    @property
    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _run(
        self,
        call: Call[R],
        variables: Mapping[str, str | None],
        subject: str,
        received: Callable[[R], None] | None = None,
    ) -> R | None:
        try:
            return run(
                call,
                environment=self.environment(variables),
                deadline=self.deadline,
                progress=self.progress,
                received=received,
                subject=subject,
            )
        except JaxdoctorError:
            return None

    def _field(self, parting: Parting) -> Parting:
        if self._left < LEAST_SECONDS:
            return parting
        call = PARTING(self.folder, PartingPlan(worst=parting.worst))
        found = self._run(call, X64, "the comparison with C")
        return parting if found is None else replace(parting, field=found[0], field_error=found[1])

    def _warp(self, outcome: Outcome) -> Trial | None:
        """What Warp did, held against C."""
        plan = WarpPlan(batch=self.batch, deadline=self.deadline - RESERVE_SECONDS)
        reason = "there is no MuJoCo model to hold it against"
        try:
            answer = run(
                WARP(self.folder, plan),
                environment=self.environment({"WARP_CACHE_PATH": str(cache_folder() / "warp")}),
                deadline=self.deadline,
                progress=self.progress,
                subject="the replay in Warp",
            )
        except JaxdoctorError as error:
            answer, reason = None, f"{error}; {error.hint}"
        if answer is None:
            self.trouble.append(Skipped(subject=f"{outcome.subject}: the replay in Warp", reason=reason))
            return None
        return Trial(
            source=outcome.subject,
            precision=IN_WARP,
            kind=Kind.NATIVE,
            replays=answer.replays,
            steps=answer.steps,
            failed=answer.failed,
            first_bad_step=answer.first_bad_step,
            first_bad_field=answer.first_bad_field,
            bad_fields=answer.bad_fields,
            hidden=answer.hidden,
            horizon=answer.horizon,
            one_step_error=answer.one_step_error,
        )

    def _compiled(self) -> tuple[Compiled, ...]:
        """The float32 replay under each of the flags, as far as the time goes."""
        found = []
        for flags in self.compilers:
            if self._left < LEAST_SECONDS:
                break
            plan = NativePlan(
                title="float32, compiled otherwise",
                batch=self.batch,
                replays=self.replays,
                most_replays=self.replays,
                deadline=self.deadline - RESERVE_SECONDS,
            )
            variables = {**HIGHEST, "XLA_FLAGS": flags or None}
            answer = self._run(NATIVE(self.folder, plan), variables, "the replay with other flags")
            judged = None if answer is None else answer.judgement
            if judged is not None:
                found.append(
                    Compiled(
                        flags=flags,
                        failed=judged.failed,
                        replays=judged.replays,
                        first_bad_step=judged.first_bad_step,
                        first_bad_field=judged.first_bad_field,
                    )
                )
        return tuple(found)

    def _cures(self, outcome: Outcome) -> tuple[Cure, ...]:
        x64 = native_x64(outcome.trials)
        fails_at_x64 = outcome.verdict in BEYOND_BITS and x64 is not None and x64.failed > 0
        wide = outcome.required_bits is not None and outcome.required_bits > F32.mantissa_bits
        if outcome.verdict is Verdict.MODEL and (outcome.in_c.unusable or outcome.in_c.growth):
            return self._known(IN_C) or self.in_c()
        if fails_at_x64:
            near = outcome.verdict is Verdict.ENGINE
            return self._known(AT_X64) or self.at_x64(outcome.steps_in_c or (), near=near)
        decides = outcome.as_delivered
        if outcome.verdict is Verdict.PRECISION and wide and decides is not None:
            return self._known(IN_FLOAT32) or self.in_float32(
                decides.first_bad_replay, decides.failed, decides.replays
            )
        return ()

    def _known(self, where: str) -> tuple[Cure, ...]:
        """What was tried there beside the emulation; nothing where the verdict asks for another place."""
        return self.known if any(cure.where == where for cure in self.known) else ()

    def in_float32(self, number: int | None, failed: int, replays: int) -> tuple[Cure, ...]:
        """Changes tried in MJX in float32.

        Args:
            number: of a replay that fails.
            failed: how many do.
            replays: of so many.
        """
        # Where few replays meet a bad spot, what its surroundings do tells more than they.
        return self._in_mjx(number or 0, HIGHEST, IN_FLOAT32, near=failed < SELDOM * replays)

    def at_x64(self, failing: Sequence[StepInC], *, near: bool) -> tuple[Cure, ...]:
        """Changes tried in MJX in float64.

        Args:
            failing: the steps in which it fails, taken by C.
            near: whether from shortly before them on, instead of from the start.
        """
        return self._in_mjx(failing[0].replay if failing else 0, X64, AT_X64, near=near)

    def in_c(self) -> tuple[Cure, ...]:
        """Changes tried in MuJoCo's C engine, for what fails there too."""
        plan = CurePlan(batch=self.batch, where="", deadline=self.deadline - RESERVE_SECONDS)
        return self._run(CURES_IN_C(self.folder, plan), {}, "the changes in C") or ()

    def _in_mjx(
        self, number: int, variables: Mapping[str, str | None], where: str, *, near: bool
    ) -> tuple[Cure, ...]:
        """Those of numbers first, then those of structure until one mends the replay of that number."""
        if self._left < LEAST_SECONDS:
            return ()
        plan = CurePlan(
            batch=self.batch,
            first=number // self.batch * self.batch,
            near=near,
            where=where,
            deadline=self.deadline - RESERVE_SECONDS,
        )
        known: dict[str, Cure] = {}

        def learn(cures: tuple[Cure, ...]) -> None:
            known.update({cure.change: cure for cure in cures if cure.failed is not None})
            for cure in cures:
                known.setdefault(cure.change, cure)

        learn(self._run(CURES_IN_MJX(self.folder, plan), variables, "the changes in MJX", learn) or ())
        waiting = [cure.change for cure in known.values() if cure.failed is None]

        def attempt(change: str) -> None:
            if self._left < LEAST_SECONDS or any(known[other].mends for other in waiting):
                return
            call = CURES_IN_MJX(self.folder, replace(plan, only=change))
            learn(self._run(call, variables, f"the change {change}") or ())

        with ThreadPoolExecutor(TOGETHER) as pool:
            try:
                list(pool.map(attempt, waiting))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                end_all()
                raise
        return tuple(known.values())
