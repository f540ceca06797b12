"""One rollout through its workers: what every precision did, and what could not be examined."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from jaxdoctor.errors import JaxdoctorError, WorkerError
from jaxdoctor.facts.closed_loop import WARP as WARP_ENGINE
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.facts.precision import BF16, F32, F64, TF32, Precision, Rounding
from jaxdoctor.machine.devices import PRECISION_VARIABLE
from jaxdoctor.machine.judged import Machine
from jaxdoctor.probe.after import After
from jaxdoctor.probe.ask import WARP, Ask, replays_of
from jaxdoctor.probe.unfinished import Unfinished, Watched
from jaxdoctor.probe.variables import WITHOUT_FUSION, is_accelerator, replay_variables, users_flags
from jaxdoctor.replay.compile_limit import CompileLimitError
from jaxdoctor.replay.plan import (
    NATIVE,
    PREPARE,
    SINGLE,
    SWEEP,
    Effort,
    Judgement,
    NativePlan,
    NativeReplay,
    Prepared,
    RecordPlan,
    Single,
    SinglePlan,
    Sweep,
    SweepPlan,
)
from jaxdoctor.rollouts.policy import read_policy
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Call
from jaxdoctor.workers.worker import WorkerTimeoutError, end_all, run

RESERVE_SECONDS = 3.0
"""A worker begins nothing more so long before it is ended, so that it can say what is left out."""

LEAST_SECONDS = 5.0
"""With less time left nothing is begun."""

DEEP = 12
"""With so many hinges one behind the other fusion is not even tried: it takes minutes."""

SUSPECT = 8
"""With so many, a compile that takes more than `FUSION_SECONDS` of CPU time is begun anew without fusion."""

FUSION_SECONDS = 120.0

SLOW_STEPS = 5
"""With so many, the first chunk of steps must end within `CHUNK_SECONDS` of CPU time, or fusion is left out.

A quadruped's or a humanoid's takes 3 s. A chain of 7 hinges with fusion took 20 s for 8 of 64 replays, and
0.1 s without.
"""

CHUNK_SECONDS = 30.0

LOOK_SECONDS = 0.2
"""Between two looks at what another worker has handed over."""

LANES_ON_CPU, LANES_ON_ACCELERATOR = 4, 8
"""A launch takes a CPU as long as its replays are many; an accelerator hardly notices."""

WIDTHS = range(22, 0, -1)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What the workers answered, whole or in part."""

    prepared: Prepared
    batch: int = 1
    """Replays in one program."""

    sweep: Sweep | None = None
    single: Single | None = None
    """In a batch of one; None: no policy drives, or it was not reached."""

    everywhere: Sweep | None = None
    """At `Ask.all_products`."""

    natives: Mapping[str, NativeReplay] = field(default_factory=dict)
    """By setting: "default", "high", "highest", "x64"."""

    skipped: tuple[Skipped, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()
    """The workers that the time limit ended."""

    cures: tuple[Cure, ...] = ()
    """Changes to the model, where x64 fails: tried while the emulation still ran."""

    time_limit: float = 0.0
    interrupted: bool = False
    """Whether a signal ended them."""


def record_plan(ask: Ask) -> RecordPlan:
    """What is recorded: whole batches, for later parts of the replays begin at multiples of one."""
    first, most = replays_of(ask)
    if ask.attribute or ask.level > 2:  # noqa: PLR2004 (levels are numbers)
        # Where so many do not tell which products need the bits, twice as many are replayed.
        most = max(most, 2 * first)
    light = LIGHT_REPLAYS if ask.replays is None else 0
    batches = (
        [ask.batch] if ask.batch else [min(first, size) for size in (BATCH_ON_CPU, BATCH_ON_ACCELERATOR)]
    )
    return RecordPlan(
        model=ask.model,
        controls=ask.controls,
        replays=max(-(-most // batch) * batch for batch in batches),
        light_replays=max(-(-light // batch) * batch for batch in batches),
        steps=ask.steps,
        seed=ask.seed,
        keep=ask.keep,
        policy=_policy(ask.model),
    )


def _policy(argument: str) -> SavedPolicy | None:
    """What drives the environment that the argument names; None: it names none.

    Raises:
        UsageError, UnreadableError: it cannot be read.
    """
    source = find_source(argument)
    if source.system != "environment":
        return None
    named = source.load(argument)
    return read_policy(named.policy, named.network)


LIGHT_REPLAYS, LIGHT_BATCH = 192, 64
"""Of a light model: no failure among them leaves a share of at most 2 %, at 95 %. So small arrays take a CPU
as long for 64 replays as for 16."""

CLEAR_ABOVE = 0.10
"""Of the others: no failure among so many replays that the share is below this counts as none."""

BATCH_ON_CPU, BATCH_ON_ACCELERATOR = 16, 64


def prepare(
    ask: Ask,
    folder: str,
    deadline: float,
    progress: Progress = SILENT,
    variables: Mapping[str, str | None] | None = None,
) -> Prepared:
    """Reads the model and records the rollout into the folder.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the model or the controls cannot be used.
        WorkerError: it could not be recorded.
    """
    return run(
        PREPARE(folder, record_plan(ask)),
        environment=variables,
        deadline=deadline,
        progress=progress,
        subject=f"calling {ask.subject}" if find_source(ask.model).users_code else "recording the rollout",
    )


def replay(
    ask: Ask, machine: Machine, prepared: Prepared, folder: str, deadline: float, progress: Progress = SILENT
) -> Answers:
    """Replays what the folder holds at every precision, until the deadline of `time.monotonic`."""
    return _Replaying(ask, machine, prepared, Path(folder), deadline, progress).run()


def after(
    ask: Ask, machine: Machine, prepared: Prepared, folder: str, deadline: float, progress: Progress = SILENT
) -> After:
    """What may still be looked for in the folder, once the verdict stands."""
    return _Replaying(ask, machine, prepared, Path(folder), deadline, progress).after()


A = TypeVar("A", NativeReplay, Sweep, Single)


class _Job(Generic[A]):
    """One worker: what it has handed over so far, and why it handed over no more."""

    def __init__(self, subject: str, progress: Progress) -> None:
        self.subject = subject
        self.watched = Watched(progress)
        self.known: A | None = None
        self.trouble: str | None = None
        self.unfinished: Unfinished | None = None

    def know(self, part: A) -> None:
        """Takes the place of what was known before."""
        self.known = part

    def ran_out(self) -> None:
        """The time limit has ended it."""
        effort = self.known.effort if self.known is not None else Effort()
        self.unfinished = self.watched.unfinished(self.subject, effort)
        self.trouble = self.unfinished.reason


_AnyJob = _Job[Sweep] | _Job[NativeReplay] | _Job[Single]


class _Replaying:
    """One rollout on its way through the workers."""

    def __init__(
        self,
        ask: Ask,
        machine: Machine,
        prepared: Prepared,
        folder: Path,
        deadline: float,
        progress: Progress,
    ) -> None:
        self.ask, self.machine, self.prepared, self.folder = ask, machine, prepared, folder
        self.deadline, self.progress = deadline, progress
        self.depth = prepared.model.depth if prepared.model is not None else 0
        self.replays, self.most = replays_of(ask)
        self.light = ask.replays is None and prepared.replays >= LIGHT_REPLAYS
        if self.light:
            self.most = prepared.replays
        usual = BATCH_ON_ACCELERATOR if self.on_accelerator else BATCH_ON_CPU
        if self.light:
            self.replays = max(self.replays, LIGHT_BATCH)
            usual = LIGHT_BATCH
        self.batch = ask.batch or min(self.replays, usual)

    @property
    def on_accelerator(self) -> bool:
        return is_accelerator(self.machine)

    @property
    def judged_is_here(self) -> bool:
        """Whether what is judged is the accelerator of this machine."""
        return self.on_accelerator and self.machine.environment.assumed is None

    def run(self) -> Answers:
        sweep: _Job[Sweep] = _Job("the emulation", self.progress)
        everywhere: _Job[Sweep] = _Job("the emulation of all products", SILENT)
        single: _Job[Single] = _Job("the replay in a batch of one", SILENT)
        natives: dict[str, _Job[NativeReplay]] = {
            setting: _Job(f"the replay at {setting}", SILENT) for setting in self._settings()
        }
        interrupted, cures = False, ()  # type: tuple[bool, tuple[Cure, ...]]
        # Two at a time: each compiles on one core, and memory is for two.
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(self._sweep, sweep, self._named(self.ask.precisions), all_products=False)]
            futures += [pool.submit(self._native, job, setting) for setting, job in natives.items()]
            if self.prepared.loop is not None:
                futures.append(pool.submit(self._single, single))
            if self.ask.all_products:
                futures.append(pool.submit(self._sweep, everywhere, self.ask.all_products, all_products=True))
            # Behind all others in the queue, so that the x64 replay has been begun before it is waited for.
            curing = None
            if "x64" in natives:
                curing = pool.submit(self._cured, natives["x64"], futures[1], sweep, futures[0])
            else:
                self._say_there_is_no_reference()
            try:
                for future in futures:
                    future.result()
                cures = () if curing is None else curing.result()
            except KeyboardInterrupt:
                interrupted = True
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                end_all()
        jobs: list[_AnyJob] = [sweep, everywhere, single, *natives.values()]
        return Answers(
            prepared=self.prepared,
            batch=self.batch,
            sweep=sweep.known,
            everywhere=everywhere.known,
            single=single.known,
            natives={setting: job.known for setting, job in natives.items() if job.known is not None},
            skipped=() if interrupted else tuple(self._skipped(jobs)),
            unfinished=tuple(job.unfinished for job in jobs if job.unfinished is not None),
            cures=cures,
            time_limit=self.ask.time_limit,
            interrupted=interrupted,
        )

    def after(self) -> After:
        """What may be looked for besides."""
        return After(
            folder=str(self.folder),
            deadline=self.deadline,
            batch=self.batch,
            environment=lambda variables: self.environment(variables, fuses=self.depth < DEEP),
            progress=self.progress,
            replays=self.replays,
            warp=self.ask.engine == WARP,
            compilers=self.compilers() if self.ask.level > 2 else (),  # noqa: PLR2004 (levels are numbers)
        )

    def _cured(
        self, x64: _Job[NativeReplay], done: Future[None], sweep: _Job[Sweep], swept: Future[None]
    ) -> tuple[Cure, ...]:
        """Changes that mend what fails, tried on the core that x64 has left while the emulation goes on."""
        in_c, later = self.prepared.in_c, replace(self.after(), progress=SILENT)
        if self.ask.cures and (in_c.unusable or in_c.growth is not None):
            # C compiles nothing, so that there is time for it also where there is none for a program more.
            return later.in_c()
        done.result()
        if x64.known is None or not self.ask.cures:
            return ()
        failing = x64.known.steps_in_c
        if failing:
            first = [step for step in failing if step.step == failing[0].step]
            return later.at_x64(failing, near=all(step.holds for step in first))
        if x64.known.judgement is None or x64.known.judgement.failed:
            return ()
        while not (full := _in_float32(sweep.known)) and not swept.done():
            time.sleep(LOOK_SECONDS)
        return later.in_float32(full.first_bad_replay, full.failed, full.replays) if full else ()

    def _skipped(self, jobs: list[_AnyJob]) -> list[Skipped]:
        found = []
        for job in jobs:
            left_out = job.known.unfinished if isinstance(job.known, Sweep) else ()
            reasons = [*([job.trouble] if job.trouble else []), *left_out]
            found += [Skipped(subject=f"{self.ask.subject}: {job.subject}", reason=why) for why in reasons]
        return found

    def _settings(self) -> list[str]:
        """What the device is asked natively; x64 first, because the others are compared with it."""
        if self._in_warp:
            return []
        if not self.on_accelerator:
            return ["x64", "highest"] if self.ask.priced else ["x64"]
        measured = self.machine.measured
        bits = {setting: measured.bits(setting) if measured else None for setting in ("default", "high")}
        differs = bits["high"] != bits["default"]
        return ["x64", "default", *(["high"] if differs else []), "highest"]

    @property
    def _in_warp(self) -> bool:
        """Whether physics that knows float32 alone is part of the program: there is no x64 replay of it."""
        return self.prepared.loop is not None and self.prepared.loop.engine == WARP_ENGINE

    def _named(self, chosen: tuple[Precision, ...]) -> tuple[Precision, ...]:
        """Float32 first, then what is delivered: the first launch has room for few."""
        delivered = self._delivered
        wanted = [F32, *([delivered] if delivered else []), TF32, BF16, *chosen]
        return tuple(dict.fromkeys(precision for precision in wanted if not precision.x64))

    @property
    def _clear_above(self) -> float:
        return 0.0 if self.light else CLEAR_ABOVE

    @property
    def _delivered(self) -> Precision | None:
        delivered = self.machine.delivered
        return F32 if delivered is not None and delivered.x64 else delivered

    def _sweep(self, job: _Job[Sweep], named: tuple[Precision, ...], *, all_products: bool) -> None:
        delivered = None if all_products else self._delivered
        taken = {precision.mantissa_bits for precision in named if _rounds_alike(precision, delivered)}

        def call(compile_cpu_seconds: float | None, chunk_cpu_seconds: float | None) -> Call[Sweep]:
            plan = SweepPlan(
                batch=self.batch,
                replays=self.replays,
                most_replays=self.replays if all_products else self.most,
                clear_above=self._clear_above,
                named=named,
                delivered=delivered,
                widths=() if all_products else tuple(bits for bits in WIDTHS if bits not in taken),
                searched=True,
                deadline=self.deadline - RESERVE_SECONDS,
                compile_cpu_seconds=compile_cpu_seconds,
                chunk_cpu_seconds=chunk_cpu_seconds,
                lanes=LANES_ON_ACCELERATOR if self.on_accelerator else LANES_ON_CPU,
                all_products=all_products,
                one_by_one=self.ask.level > 2 and not all_products and self.prepared.loop is None,  # noqa: PLR2004
                varied=self.ask.level > 2,  # noqa: PLR2004
                behaves=not all_products,
                keep=None if all_products else self.ask.keep,
                attribute=(self.ask.attribute or self.ask.level > 2) and not all_products,  # noqa: PLR2004
                attribute_error=None if all_products else self.ask.attribute_error,
                captures=self.ask.bundle is not None,
            )
            return SWEEP(str(self.folder), plan)

        self._patiently(job, call, {})

    def _single(self, job: _Job[Single]) -> None:
        named = self._named(self.ask.precisions)

        def call(compile_cpu_seconds: float | None, chunk_cpu_seconds: float | None) -> Call[Single]:
            del compile_cpu_seconds, chunk_cpu_seconds
            plan = SinglePlan(
                named=named,
                replays=min(self.replays, BATCH_ON_CPU),
                deadline=self.deadline - RESERVE_SECONDS,
            )
            return SINGLE(str(self.folder), plan)

        self._patiently(job, call, {})

    def _native(self, job: _Job[NativeReplay], setting: str) -> None:
        is_reference = setting == "x64"

        def call(compile_cpu_seconds: float | None, chunk_cpu_seconds: float | None) -> Call[NativeReplay]:
            plan = NativePlan(
                title=setting,
                batch=self.batch,
                replays=self.replays,
                most_replays=self.most,
                # What float32 fails in and x64 does not is told from replays that both have done.
                clear_above=self._clear_above if is_reference else 1.0,
                is_reference=is_reference,
                deadline=self.deadline - RESERVE_SECONDS,
                compile_cpu_seconds=compile_cpu_seconds,
                chunk_cpu_seconds=chunk_cpu_seconds,
                one_by_one=self.ask.level > 2 and setting == "default",  # noqa: PLR2004
                priced=self.ask.priced or self.judged_is_here,
                captures=None if self.ask.bundle is None else native_precision(self.machine, setting),
            )
            return NATIVE(str(self.folder), plan)

        variables = {
            "JAX_ENABLE_X64": "1" if is_reference else "0",
            PRECISION_VARIABLE: None if is_reference or setting == "default" else setting,
        }
        try:
            self._patiently(job, call, variables)
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
        job: _Job[A],
        call: Callable[[float | None, float | None], Call[A]],
        variables: Mapping[str, str | None],
    ) -> None:
        """Runs a worker; once more without fusion where that is what keeps the compiler."""
        for fuses in (True, False):
            if fuses and self.depth >= DEEP:
                continue
            if self.deadline - time.monotonic() < LEAST_SECONDS:
                job.trouble = "the time limit left no time for it"
                return
            may_hang = fuses and self.depth >= SUSPECT and not self.on_accelerator
            may_crawl = fuses and self.depth >= SLOW_STEPS and not self.on_accelerator
            try:
                answer = run(
                    call(FUSION_SECONDS if may_hang else None, CHUNK_SECONDS if may_crawl else None),
                    environment=self.environment(variables, fuses=fuses),
                    deadline=self.deadline,
                    progress=job.watched,
                    received=job.know,
                    subject=job.subject,
                )
            except CompileLimitError:
                continue
            except WorkerTimeoutError:
                job.ran_out()
            except (WorkerError, JaxdoctorError) as error:
                job.trouble = f"{error}; {error.hint}"
            else:
                job.know(answer)
            return

    def compilers(self) -> tuple[str, ...]:
        """XLA_FLAGS of the native replays, then those as the user has them, then without fusion.

        A chain too deep for fusion is not compiled with it: that takes minutes.
        """
        theirs = users_flags(self.machine)
        usual = self.environment({}, fuses=self.depth < DEEP)["XLA_FLAGS"] or ""
        alone = [] if self.depth >= SUSPECT and not self.on_accelerator else [theirs]
        flags = [usual, *alone, f"{theirs} {WITHOUT_FUSION}".strip()]
        return tuple(dict.fromkeys(flags))

    def environment(self, variables: Mapping[str, str | None], *, fuses: bool) -> dict[str, str | None]:
        """The variables of a worker that replays."""
        return replay_variables(self.machine, variables, fuses=fuses, cache=self.ask.cache)


def native_precision(machine: Machine, setting: str) -> Precision:
    """What a setting of JAX means on the device of a machine."""
    if setting == "x64":
        return F64
    if setting == "highest":
        return F32
    bits = machine.measured.bits(setting) if machine.measured else None
    return Precision(name=setting, mantissa_bits=bits or F32.mantissa_bits, jax_setting=setting)


def _in_float32(sweep: Sweep | None) -> Judgement | None:
    """What float32 did; None: it is not known yet that it fails."""
    found = None if sweep is None else dict(sweep.named).get(F32)
    return found if found is not None and found.failed else None


def _rounds_alike(precision: Precision, delivered: Precision | None) -> bool:
    rounding = Rounding.NEAREST if delivered is None else delivered.rounding
    return precision.rounding is rounding
