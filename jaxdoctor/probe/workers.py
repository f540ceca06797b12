"""One rollout through its workers: what every precision did, and what could not be examined."""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.errors import WorkerError
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.facts.precision import BF16, F32, TF32, TF32_TRUNCATED, Precision, Rounding
from jaxdoctor.machine.judged import Machine
from jaxdoctor.probe.ask import Ask, replays_of
from jaxdoctor.replay.first_step import FirstStepTimeoutError
from jaxdoctor.replay.plan import (
    NATIVE,
    PREPARE,
    SWEEP,
    NativePlan,
    NativeReplay,
    Prepared,
    RecordPlan,
    Sweep,
    SweepPlan,
)
from jaxdoctor.workers.cache import cache_variables
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Call, R
from jaxdoctor.workers.worker import WorkerTimeoutError, end_all, run

FIRST_STEP_SHARE = 0.4
"""Of the time that is left: after it the slower flags are tried, which answer within the rest."""

RESERVE_SECONDS = 3.0
"""A worker ends itself so long before it is ended, so that what it has is not lost."""

LEAST_SECONDS = 5.0
"""With less time left nothing is begun."""

QUICKER = "--xla_llvm_disable_expensive_passes=true --xla_backend_optimization_level=1"
"""Takes XLA:CPU less than half as long to compile a step, which then runs as fast."""

WITHOUT_FUSION = "--xla_disable_hlo_passes=fusion"
"""XLA:CPU's fusion recomputes a deep kinematic chain exponentially often."""

STILL_TOO_SLOW = "XLA did not compile and run its first step in the time that was left; raise --time-limit"

DEEP = 12
"""With so many hinges one behind the other the usual flags are not even tried: they take minutes."""

ROWS = 128
"""Replays in one program of the sweep: as many lanes as fit, each a batch."""

MOST_LANES = 8
SWEEP_FROM, SWEEP_TO = 22, 1


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What the workers answered. Whatever is missing stands in `skipped`."""

    prepared: Prepared
    sweep: Sweep | None = None
    everywhere: Sweep | None = None
    """At `Ask.all_products`."""

    natives: Mapping[str, NativeReplay] = field(default_factory=dict)
    """By setting: "default", "high", "highest", "x64"."""

    skipped: tuple[Skipped, ...] = ()


def replay(ask: Ask, machine: Machine, progress: Progress = SILENT) -> Answers:
    """Records the rollout and replays it at every precision.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the model or the controls cannot be used.
        WorkerError: it could not even be recorded.
    """
    with tempfile.TemporaryDirectory(prefix="jaxdoctor-") as folder:
        return _Replaying(ask, machine, Path(folder), progress).run()


def record_plan(ask: Ask, batch: int = 1) -> RecordPlan:
    """What is recorded: whole batches, for later parts of the replays begin at multiples of one."""
    most = -(-max(replays_of(ask)) // batch) * batch
    return RecordPlan(model=ask.model, controls=ask.controls, replays=most, steps=ask.steps, seed=ask.seed)


class _Replaying:
    """One rollout on its way through the workers."""

    def __init__(self, ask: Ask, machine: Machine, folder: Path, progress: Progress) -> None:
        self.ask, self.machine, self.folder, self.progress = ask, machine, folder, progress
        self.deadline = time.monotonic() + ask.time_limit
        self.skipped: list[Skipped] = []
        self.is_deep = False
        self.replays, self.most = replays_of(ask)
        self.batch = ask.batch or min(self.replays, 64 if self.on_accelerator else 16)

    @property
    def on_accelerator(self) -> bool:
        return self.machine.environment.device.platform not in ("cpu", "unknown")

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()

    def run(self) -> Answers:
        prepared = self._prepare()
        self.is_deep = prepared.model is not None and prepared.model.depth >= DEEP
        # Two at a time: each compiles on one core, and memory is for two.
        with ThreadPoolExecutor(2) as pool:
            sweeping = pool.submit(self._sweep, self.ask.precisions, all_products=False)
            natives = {setting: pool.submit(self._native, setting) for setting in self._settings()}
            everywhere = (
                pool.submit(self._sweep, self.ask.all_products, all_products=True)
                if self.ask.all_products
                else None
            )
            try:
                swept = self._answer(sweeping)
                replayed = {setting: self._answer(future) for setting, future in natives.items()}
                rounded = None if everywhere is None else self._answer(everywhere)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                end_all()
                raise
        return Answers(
            prepared=prepared,
            sweep=swept,
            everywhere=rounded,
            natives={setting: answer for setting, answer in replayed.items() if answer is not None},
            skipped=tuple(self.skipped),
        )

    def _answer(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except NoAnswerError as error:
            self.skipped.append(Skipped(subject=error.subject, reason=error.reason))
            return None

    def _prepare(self) -> Prepared:
        return run(
            PREPARE(str(self.folder), record_plan(self.ask, self.batch)),
            environment=self.machine.variables,
            deadline=max(self.deadline, time.monotonic() + 1),
            progress=self.progress,
            subject="recording the rollout",
        )

    def _settings(self) -> list[str]:
        """What the device is asked natively; x64 first, because the others are compared with it."""
        if not self.on_accelerator:
            return ["x64", "highest"] if self.ask.priced else ["x64"]
        measured = self.machine.measured
        bits = {setting: measured.bits(setting) if measured else None for setting in ("default", "high")}
        differs = bits["high"] != bits["default"]
        return ["x64", "default", *(["high"] if differs else []), "highest"]

    def _named(self, chosen: tuple[Precision, ...]) -> tuple[Precision, ...]:
        delivered = self.machine.delivered
        usual = (F32, TF32, TF32_TRUNCATED, BF16)
        wanted = [*usual, *([delivered] if delivered else []), *chosen]
        return tuple(dict.fromkeys(precision for precision in wanted if not precision.x64))

    def _sweep(self, chosen: tuple[Precision, ...], *, all_products: bool) -> Sweep:
        named = chosen if all_products else self._named(chosen)
        delivered = None if all_products else self._delivered
        taken = {precision.mantissa_bits for precision in named if _rounds_alike(precision, delivered)}
        widths = () if all_products else range(SWEEP_FROM, SWEEP_TO - 1, -1)
        lanes = max(1, min(MOST_LANES, ROWS // self.batch))

        def call(seconds: float, first_step_seconds: float) -> Call[Sweep]:
            plan = SweepPlan(
                batch=self.batch,
                replays=self.replays,
                most_replays=self.replays if all_products else self.most,
                named=named,
                delivered=delivered,
                widths=tuple(bits for bits in widths if bits not in taken),
                seconds=seconds,
                first_step_seconds=first_step_seconds,
                lanes=lanes,
                all_products=all_products,
                one_by_one=self.ask.level > 2 and not all_products,  # noqa: PLR2004
            )
            return SWEEP(str(self.folder), plan)

        subject = "the emulation of all products" if all_products else "the emulation"
        answer = self._patiently(call, {}, subject, self.progress)
        for what in answer.unfinished:
            self.skipped.append(Skipped(subject=f"{self.ask.subject}: {subject}", reason=what))
        return answer

    @property
    def _delivered(self) -> Precision | None:
        delivered = self.machine.delivered
        return F32 if delivered is not None and delivered.x64 else delivered

    def _native(self, setting: str) -> NativeReplay:
        is_reference = setting == "x64"

        def call(seconds: float, first_step_seconds: float) -> Call[NativeReplay]:
            plan = NativePlan(
                title=setting,
                batch=self.batch,
                replays=self.replays,
                most_replays=self.most,
                is_reference=is_reference,
                seconds=seconds,
                first_step_seconds=first_step_seconds,
                one_by_one=self.ask.level > 2 and setting == "default",  # noqa: PLR2004
            )
            return NATIVE(str(self.folder), plan)

        variables = {
            "JAX_ENABLE_X64": "1" if is_reference else "0",
            "JAX_DEFAULT_MATMUL_PRECISION": None if is_reference or setting == "default" else setting,
        }
        try:
            return self._patiently(call, variables, f"the replay at {setting}", SILENT)
        finally:
            if is_reference:
                self._say_there_is_no_reference()

    def _say_there_is_no_reference(self) -> None:
        """Where the x64 worker published none, nobody shall wait for it."""
        path = self.folder / "reference"
        if not path.exists():
            path.write_bytes(pickle.dumps(None))

    def _patiently(
        self,
        call: Callable[[float, float], Call[R]],
        variables: Mapping[str, str | None],
        subject: str,
        progress: Progress,
    ) -> R:
        """Runs a worker; once more with slower flags when its first step did not return."""
        for flags in ((QUICKER,), (QUICKER, WITHOUT_FUSION))[self.is_deep :]:
            seconds = self.left - RESERVE_SECONDS
            if seconds < LEAST_SECONDS:
                raise NoAnswerError(subject, "the time limit left no time for it; raise --time-limit")
            share = FIRST_STEP_SHARE if WITHOUT_FUSION not in flags else 1.0
            try:
                return run(
                    call(seconds, share * seconds),
                    environment=self._environment(variables, flags),
                    deadline=self.deadline,
                    progress=progress,
                    subject=subject,
                )
            except WorkerTimeoutError as error:
                raise NoAnswerError(subject, f"{error}; {error.hint}") from error
            except FirstStepTimeoutError as error:
                if WITHOUT_FUSION in flags:
                    raise NoAnswerError(subject, STILL_TOO_SLOW) from error
            except WorkerError as error:
                raise NoAnswerError(subject, f"{error}; {error.hint}") from error
        raise AssertionError(subject)

    def _environment(
        self, variables: Mapping[str, str | None], flags: tuple[str, ...]
    ) -> dict[str, str | None]:
        theirs = {**os.environ, **self.machine.variables}.get("XLA_FLAGS") or ""
        ours = () if self.on_accelerator else flags
        return {
            **self.machine.variables,
            **cache_variables(wanted=self.ask.cache),
            "XLA_FLAGS": " ".join([theirs, *ours]).strip() or None,
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "JAX_ENABLE_X64": "0",
            "JAX_DEFAULT_MATMUL_PRECISION": None,
            "JAX_DEBUG_NANS": "0",
            "JAX_DEBUG_INFS": "0",
            "JAX_TRACEBACK_FILTERING": "off",
            **variables,
        }


class NoAnswerError(Exception):
    """A worker gave no answer: it becomes a line among what was not examined."""

    def __init__(self, subject: str, reason: str) -> None:
        super().__init__(f"{subject}: {reason}")
        self.subject, self.reason = subject, reason


def _rounds_alike(precision: Precision, delivered: Precision | None) -> bool:
    rounding = Rounding.NEAREST if delivered is None else delivered.rounding
    return precision.rounding is rounding
