"""`replay`: a bundle in JAX at several precisions, in C and in Warp, and what came of it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from jaxdoctor.bundles.bundle import Bundle
from jaxdoctor.bundles.read import read
from jaxdoctor.errors import JaxdoctorError, UnreadableError, UnsupportedModelError, UsageError
from jaxdoctor.facts.bundle_replay import BundleReplay, BundleRun
from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import INTERRUPTED, Skipped
from jaxdoctor.facts.precision import F32, F64, Precision, Rounding
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.devices import PRECISION_VARIABLE
from jaxdoctor.machine.judged import Machine, examine_machine
from jaxdoctor.probe.bundles import settings_of
from jaxdoctor.probe.variables import WITHOUT_FUSION, replay_variables
from jaxdoctor.replay.packed_policy import unpacked
from jaxdoctor.replay.plan import REPLAY_IN_C, REPLAY_IN_JAX, REPLAY_IN_WARP, VIEWED, ReplayPlan
from jaxdoctor.rollouts.policy import read_policy
from jaxdoctor.rollouts.saved_policy import SavedPolicy
from jaxdoctor.rollouts.sources import environment
from jaxdoctor.rollouts.sources.environment import EnvironmentNamed
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.workers.cache import cache_folder
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import end_all, run

MJX, WARP, C = "mjx", "warp", "c"
ENGINES = (MJX, WARP, C)

MACHINE_SECONDS = 60.0
RESERVE_SECONDS = 3.0

TOGETHER = 2
"""So many replays are compiled at once: one on each core."""

COMPARED = ("python", "jax", "jaxlib", "mujoco", "mujoco-mjx", "brax", "playground", "warp-lang", "numpy")
"""Versions that are held against the recorded ones."""

ALL = "all-"

SETTINGS = {"high": "high", "highest": "highest", F32.name: "highest"}
"""What `jax_default_matmul_precision` was where a replay of that name ran on a device."""

PLAIN = (UsageError, UnreadableError, UnsupportedModelError)
"""What is wrong with the call or the bundle, and not with one of its replays."""


@dataclass(frozen=True, kw_only=True)
class ReplayAsk:
    """A bundle, and how it is to be replayed."""

    bundle: str
    precisions: tuple[Precision, ...] = ()
    """Emulated. None of these, no x64 and no other engine: as it failed."""

    x64: bool = False
    engines: tuple[str, ...] = ()
    of: str | None = None
    """What was recorded, where the bundle holds no model."""

    policy: str | None = None
    network: str | None = None
    """As `probe` takes them, where an environment was recorded; before those in the bundle."""

    to_xml: str | None = None
    """The folder for what MuJoCo's viewer opens."""

    time_limit: float = 300.0
    cache: bool = True


def replay_bundle(ask: ReplayAsk, *, progress: Progress = SILENT) -> Report:
    """Replays the bundle in every way that is asked for.

    Raises:
        UsageError: the call cannot be meant.
        UnreadableError, UnsupportedModelError: the bundle cannot be used.
    """
    _check(ask)
    bundle = read(Path(ask.bundle))
    argument, policy = _stepped(ask, bundle)
    deadline = time.monotonic() + ask.time_limit
    if ask.to_xml is not None:
        _view(ask, deadline, progress)
    machine = examine_machine(
        time_limit=min(MACHINE_SECONDS, ask.time_limit), progress=progress, stored=ask.cache
    )
    plan = ReplayPlan(
        bundle=ask.bundle, argument=argument, policy=policy, deadline=deadline - RESERVE_SECONDS
    )
    replaying = _Replaying(ask, bundle, machine, plan, deadline, progress)
    runs, skipped, interrupted = replaying.run()
    fact = BundleReplay(
        bundle=ask.bundle,
        subject=bundle.subject,
        written_by=bundle.written_by,
        precision=bundle.failure.name,
        replay=bundle.failure.replay,
        step=bundle.failure.step,
        field=bundle.failure.field,
        steps=bundle.steps,
        runs=runs,
        differences=_differences(bundle, machine.environment),
        viewer=None if ask.to_xml is None else ask.to_xml,
    )
    return Report(
        command="replay",
        subject=ask.bundle,
        examined=1 if runs else 0,
        environment=machine.environment,
        findings=tuple(diagnose([fact])),
        bundles=(fact,),
        skipped=(*machine.skipped, *skipped),
        partial=interrupted,
    )


def _check(ask: ReplayAsk) -> None:
    for engine in ask.engines:
        if engine not in ENGINES:
            raise UsageError(
                f"there is no engine {engine}",
                hint=f"--engine takes {', '.join(ENGINES)}; repeat it for several",
            )
    if not ask.time_limit > 0:
        raise UsageError(
            f"--time-limit {ask.time_limit:g} leaves no time", hint="give it in seconds, such as 300"
        )


def _stepped(ask: ReplayAsk, bundle: Bundle) -> tuple[str | None, SavedPolicy | None]:
    """What steps a bundle without a model, as `probe` would be told: the argument, and the policy.

    Raises:
        UsageError: it is code of the user's, or a policy drove it, and the user has not named it.
        UnreadableError, UsageError: the policy cannot be read.
    """
    if bundle.model is not None or bundle.system != environment.SOURCE.system:
        return ask.of, None
    if not environment.SOURCE.accepts(bundle.subject):
        raise UnreadableError(f"{ask.bundle} names no environment", hint="have it written again")
    recorded = environment.SOURCE.load(bundle.subject)
    if ask.of is None and recorded.suite == environment.USERS:
        raise UsageError(
            f"the bundle was recorded of {recorded.shown}, which is code and not in it",
            hint=f"if you trust that code, name it: --of {recorded.shown}",
        )
    driver = _driver(ask, bundle, recorded)
    named = environment.environment_named(ask.of or recorded.shown, policy=ask.policy, network=ask.network)
    return environment.written(named), driver


def _driver(ask: ReplayAsk, bundle: Bundle, recorded: EnvironmentNamed) -> SavedPolicy:
    """The policy that drives the environment: the one that the user names, else the bundle's."""
    if ask.policy is not None or recorded.policy is None:
        return read_policy(ask.policy, ask.network)
    if bundle.policy is not None and bundle.policy.left_out is None:
        return unpacked(bundle.policy, ask.network)
    reason = "" if bundle.policy is None else f": {bundle.policy.left_out}"
    raise UsageError(
        f"the policy {recorded.policy} drove what was recorded, and is not in the bundle{reason}",
        hint="name it with --policy, and --network if it needs one",
    )


def _view(ask: ReplayAsk, deadline: float, progress: Progress) -> None:
    assert ask.to_xml is not None
    plan = ReplayPlan(bundle=ask.bundle, deadline=deadline)
    run(VIEWED(ask.to_xml, plan), deadline=deadline, progress=progress, subject="writing the viewer's files")


def _differences(bundle: Bundle, now: Environment) -> dict[str, tuple[str, str]]:
    """Versions and settings that are others than when it was recorded: then, and here."""
    versions = {name: (bundle.versions.get(name), now.versions.get(name)) for name in COMPARED}
    found = {
        name: (then or "none", here or "none")
        for name, (then, here) in versions.items()
        if (then or "none") != (here or "none")
    }
    settings = settings_of(now)
    for name in sorted({*settings, *bundle.settings}):
        then_set, here_set = bundle.settings.get(name, "unset"), settings.get(name, "unset")
        if then_set != here_set:
            found[name] = (then_set, here_set)
    return found


@dataclass(frozen=True, kw_only=True)
class _Job:
    """One worker."""

    subject: str
    task: Task[[str, ReplayPlan], tuple[BundleRun, ...]]
    plan: ReplayPlan
    variables: Mapping[str, str | None]


class _Replaying:
    """One bundle on its way through the workers."""

    def __init__(
        self,
        ask: ReplayAsk,
        bundle: Bundle,
        machine: Machine,
        plan: ReplayPlan,
        deadline: float,
        progress: Progress,
    ) -> None:
        self.ask, self.bundle, self.machine, self.plan = ask, bundle, machine, plan
        self.deadline, self.progress = deadline, progress

    def run(self) -> tuple[tuple[BundleRun, ...], list[Skipped], bool]:
        """What each replay did, what could not be replayed, and whether a signal ended it.

        Raises:
            UsageError, UnreadableError, UnsupportedModelError: nothing could be replayed for that reason.
        """
        jobs = list(self._jobs())
        runs: list[BundleRun] = []
        skipped: list[Skipped] = []
        errors: list[JaxdoctorError] = []
        with ThreadPoolExecutor(TOGETHER) as pool:
            futures = [pool.submit(self._answer, job) for job in jobs]
            try:
                for job, future in zip(jobs, futures, strict=True):
                    answer = future.result()
                    if isinstance(answer, JaxdoctorError):
                        errors.append(answer)
                        reason = f"{answer}; {answer.hint}"
                        skipped.append(
                            Skipped(subject=f"{self.ask.bundle}: {job.subject}", reason=reason, asked=True)
                        )
                    else:
                        runs += answer
            except KeyboardInterrupt:
                end_all()
                pool.shutdown(wait=False, cancel_futures=True)
                return tuple(runs), [Skipped(subject=self.ask.bundle, reason=INTERRUPTED)], True
        if (
            not runs
            and errors
            and isinstance(errors[0], (UsageError, UnreadableError, UnsupportedModelError))
        ):
            raise errors[0]
        return tuple(runs), skipped, False

    def _answer(self, job: _Job) -> tuple[BundleRun, ...] | JaxdoctorError:
        try:
            with tempfile.TemporaryDirectory(prefix="jaxdoctor-") as folder:
                return run(
                    job.task(folder, job.plan),
                    environment=job.variables,
                    deadline=self.deadline,
                    progress=self.progress,
                    subject=job.subject,
                )
        except JaxdoctorError as error:
            return error

    def _jobs(self) -> Iterator[_Job]:
        ask, failure = self.ask, self.bundle.failure
        as_it_failed = not ask.precisions and not ask.x64 and not ask.engines
        emulated = [_recorded(self.bundle)] if as_it_failed and failure.emulated else ask.precisions
        for everywhere in (False, True):
            alike = tuple(one for one in emulated if one.name.startswith(ALL) is everywhere)
            if alike:
                subject = f"the emulation of {', '.join(one.name for one in alike)}"
                yield self._in_jax(subject, self._plan(precisions=alike, all_products=everywhere), {})
        at_x64 = as_it_failed and not failure.emulated and failure.precision == F64.name
        if ask.x64 or at_x64:
            yield self._in_jax("the replay at x64", self._plan(how="x64"), {"JAX_ENABLE_X64": "1"})
        if MJX in ask.engines or (as_it_failed and not failure.emulated and not at_x64):
            yield self._here()
        if C in ask.engines:
            yield _Job(
                subject="the replay in C", task=REPLAY_IN_C, plan=self._plan(), variables=self._jax({})
            )
        if WARP in ask.engines:
            kernels = {"WARP_CACHE_PATH": str(cache_folder() / "warp")}
            yield _Job(
                subject="the replay in Warp",
                task=REPLAY_IN_WARP,
                plan=self._plan(),
                variables=self._jax(kernels),
            )

    def _here(self) -> _Job:
        """As this machine computes, at the setting that was recorded, or else as the user has set it."""
        failure = self.bundle.failure
        setting = SETTINGS.get(failure.precision) if not failure.emulated else None
        theirs = self.machine.environment.settings.get(PRECISION_VARIABLE)
        chosen = setting or theirs
        how = f"{chosen}, on this machine" if chosen else "as this machine computes"
        variables = {} if setting is None else {PRECISION_VARIABLE: setting}
        return self._in_jax("the replay on this machine", self._plan(how=how), {**_kept(), **variables})

    def _in_jax(self, subject: str, plan: ReplayPlan, variables: Mapping[str, str | None]) -> _Job:
        return _Job(subject=subject, task=REPLAY_IN_JAX, plan=plan, variables=self._jax(variables))

    def _plan(
        self, *, precisions: tuple[Precision, ...] = (), how: str = "", all_products: bool = False
    ) -> ReplayPlan:
        return replace(self.plan, precisions=precisions, how=how, all_products=all_products)

    def _jax(self, variables: Mapping[str, str | None]) -> dict[str, str | None]:
        """The variables of a worker.

        Of XLA's flags in the bundle only that for fusion counts: no file chooses what is written where.
        """
        fuses = WITHOUT_FUSION not in self.bundle.failure.xla_flags
        return replay_variables(self.machine, variables, fuses=fuses, cache=self.ask.cache)


def _kept() -> dict[str, str | None]:
    """What the user has set the precision of products to."""
    return {PRECISION_VARIABLE: os.environ.get(PRECISION_VARIABLE)}


def _recorded(bundle: Bundle) -> Precision:
    failure = bundle.failure
    return Precision(
        name=f"{ALL}{failure.precision}" if failure.all_products and not failure.precision.startswith(ALL)
        else failure.precision,
        mantissa_bits=failure.bits or F32.mantissa_bits,
        rounding=Rounding.TOWARD_ZERO if failure.toward_zero else Rounding.NEAREST,
    )  # fmt: skip
