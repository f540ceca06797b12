"""`probe`: does a rollout break on a card, by how many bits, and what should be set."""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxdoctor.errors import JaxdoctorError, MissingPackageError, UsageError, WorkerError
from jaxdoctor.facts.finding import INTERRUPTED, Finding, Skipped
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.prescription import Prescription
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import HERE
from jaxdoctor.machine.judged import Machine, examine_machine
from jaxdoctor.models.scenario import PREFIX, SCENARIOS
from jaxdoctor.prescriptions.from_probe import prescribe
from jaxdoctor.probe.ask import ENGINES, Ask
from jaxdoctor.probe.bundles import check_writable, chosen, write
from jaxdoctor.probe.engines import on_each_engine
from jaxdoctor.probe.stages import Staged
from jaxdoctor.probe.trials import assemble
from jaxdoctor.probe.workers import Answers, after, prepare, replay
from jaxdoctor.replay.plan import Prepared
from jaxdoctor.reports.wording import worst
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.worker import WorkerTimeoutError

LEVELS = (1, 2, 3)
"""1: the machine only; 2: also a rollout; 3: also a batch of one, and more replays."""

MACHINE_SECONDS = 60.0
"""The machine never gets more than this of the time limit."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """One rollout with what was found about it."""

    outcome: Outcome | None
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    interrupted: bool = False
    """Whether a signal ended it before all was known."""


def probe(ask: Ask, *, card: str = HERE, progress: Progress = SILENT) -> Report:
    """Examines the machine, replays one rollout, and judges both.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the call or what it names cannot be used.
    """
    check(ask)
    deadline, progress = time.monotonic() + ask.time_limit, Staged(progress)
    if ask.level == 1:
        machine = look_at(ask, card, deadline, progress)
        return report_of(ask.subject, machine, tuple(diagnose(machine.facts)), [])
    find_source(ask.model)
    first, *others = on_each_engine(ask)
    left_out: list[Examined] = []
    with tempfile.TemporaryDirectory(prefix="jaxdoctor-") as folder:
        # One core records while the other asks the devices; whoever mistyped a file waits for neither.
        looking = _Aside(lambda: look_at(ask, card, deadline, SILENT))
        try:
            prepared = _prepared(first, folder, deadline, progress)
        except MissingPackageError as error:
            if not others:
                raise
            left_out.append(_left_out(first, error))
            first, others = others[0], others[1:]
            prepared = _prepared(first, folder, deadline, progress)
        machine = looking.result()
        findings = tuple(diagnose(machine.facts))
        share = (deadline - time.monotonic()) / (len(others) + 1)
        try:
            examined = [_replayed(first, machine, prepared, folder, time.monotonic() + share, progress)]
        except KeyboardInterrupt:
            return interrupted(report_of(ask.subject, machine, findings, []), [ask.subject])
    for other in others:
        if not examined[-1].interrupted:
            examined.append(_besides(other, machine, deadline, progress))
    lead = worst(one.outcome for one in examined if one.outcome is not None)
    prescription = None
    if lead is not None and lead.verdict is not Verdict.UNKNOWN:
        found = next(one.findings for one in examined if one.outcome is lead)
        prescription = prescribe(lead, found, machine)
    report = report_of(ask.subject, machine, findings, [*examined, *left_out], prescription)
    return interrupted(report, [ask.subject]) if examined[-1].interrupted else report


def _besides(ask: Ask, machine: Machine, deadline: float, progress: Progress) -> Examined:
    """The same on another engine; where that cannot be, why."""
    try:
        return examine(ask, machine, deadline, progress)
    except JaxdoctorError as error:
        return _left_out(ask, error)


def _left_out(ask: Ask, error: JaxdoctorError) -> Examined:
    return Examined(outcome=None, skipped=(Skipped(subject=ask.subject, reason=f"{error}; {error.hint}"),))


class _Aside:
    """A call in a thread of its own, which ends with the process where nobody waits for it."""

    def __init__(self, call: Callable[[], Machine]) -> None:
        self._call = call
        self._answer: Machine | BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._call()
        except BaseException as error:  # noqa: BLE001 (whoever waits for the answer gets it)
            self._answer = error

    def result(self) -> Machine:
        """What the call returned, or raises what it raised."""
        self._thread.join()
        if isinstance(self._answer, BaseException):
            raise self._answer
        assert self._answer is not None
        return self._answer


def look_at(ask: Ask, card: str, deadline: float, progress: Progress) -> Machine:
    """The machine, within its part of the time until the deadline of `time.monotonic`."""
    limit = min(MACHINE_SECONDS, max(deadline - time.monotonic(), 1.0))
    # At level 1 the machine is the question; before a rollout its last answer is good enough.
    return examine_machine(card, time_limit=limit, progress=progress, stored=ask.cache and ask.level > 1)


def _prepared(
    ask: Ask,
    folder: str,
    deadline: float,
    progress: Progress,
    variables: Mapping[str, str | None] | None = None,
) -> Prepared | WorkerError:
    """What is replayed; where the worker died, why.

    Raises:
        WorkerTimeoutError: a function of the user's does not end.
    """
    try:
        return prepare(ask, folder, deadline, progress, variables)
    except WorkerError as error:
        if isinstance(error, WorkerTimeoutError) and find_source(ask.model).users_code:
            # It has neither steps nor replays that could be fewer.
            hint = "raise --time-limit, or look for what in it does not end"
            raise WorkerTimeoutError(str(error), hint=hint) from error
        return error


def interrupted(report: Report, left: Iterable[str]) -> Report:
    """What was found until Ctrl-C."""
    skipped = (Skipped(subject=name, reason=INTERRUPTED) for name in left)
    return replace(report, skipped=(*report.skipped, *skipped), partial=True)


def scenario_ask(ask: Ask, name: str) -> Ask:
    """The same question about a packaged scenario, with its own steps and replays where none were given.

    Raises:
        UnknownNameError: there is no scenario of that name.
    """
    scenario = SCENARIOS.load(name)
    return replace(
        ask,
        model=f"{PREFIX}{name}",
        subject=name,
        steps=ask.steps or scenario.steps,
        replays=ask.replays or scenario.replays,
    )


def examine(
    ask: Ask, machine: Machine, deadline: float, progress: Progress, expected: Verdict | None = None
) -> Examined:
    """Records and replays one rollout until the deadline of `time.monotonic`, and judges it.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: it cannot be replayed.
    """
    with tempfile.TemporaryDirectory(prefix="jaxdoctor-") as folder:
        prepared = _prepared(ask, folder, deadline, progress, machine.variables)
        return _replayed(ask, machine, prepared, folder, deadline, progress, expected)


def _replayed(
    ask: Ask,
    machine: Machine,
    prepared: Prepared | WorkerError,
    folder: str,
    deadline: float,
    progress: Progress,
    expected: Verdict | None = None,
) -> Examined:
    """Replays one rollout and judges it."""
    if isinstance(prepared, WorkerError) and machine.variables:
        # What ends JAX here is known by now.
        prepared = _prepared(ask, folder, deadline, progress, machine.variables)
    if isinstance(prepared, WorkerError):
        reason = f"{prepared}; {prepared.hint}"
        outcome = Outcome(
            subject=ask.subject, trials=(), verdict=Verdict.UNKNOWN, reason=reason, expected=expected
        )
        return Examined(outcome=outcome, skipped=(Skipped(subject=ask.subject, reason=reason),))
    ask = replace(ask, cures=ask.cures and expected is None)
    answers = replay(ask, machine, prepared, folder, deadline, progress)
    outcome = assemble(ask, machine, answers, expected)
    if ask.bundle is not None:
        outcome, said = _with_bundle(ask, machine, answers, outcome, folder, deadline, progress)
        answers = replace(answers, skipped=(*answers.skipped, *said))
    if not answers.interrupted:
        later = after(ask, machine, prepared, folder, deadline, progress)
        later = replace(later, known=answers.cures)
        outcome = replace(outcome, xla_flags=later.environment({}).get("XLA_FLAGS") or "")
        outcome = later.completed(outcome, cures=ask.cures)
        answers = replace(answers, skipped=(*answers.skipped, *later.trouble))
    model = answers.prepared.model
    facts = [outcome] if model is None else [model, outcome]
    return Examined(
        outcome=outcome,
        findings=tuple(diagnose(facts)),
        skipped=answers.skipped,
        interrupted=answers.interrupted,
    )


def _with_bundle(
    ask: Ask,
    machine: Machine,
    answers: Answers,
    outcome: Outcome,
    folder: str,
    deadline: float,
    progress: Progress,
) -> tuple[Outcome, list[Skipped]]:
    """The outcome with its bundle, if a replay failed; and why that could not be written."""
    captured = chosen(answers, outcome)
    if captured is None:
        return outcome, []
    found = write(ask, machine, captured, folder, deadline, progress)
    return (outcome, [found]) if isinstance(found, Skipped) else (replace(outcome, bundle=found), [])


def check(ask: Ask) -> None:
    """Whether the numbers can be meant.

    Raises:
        UsageError: one cannot.
    """
    if ask.level not in LEVELS:
        raise UsageError(f"there is no level {ask.level}", hint="1 the machine, 2 a rollout, 3 a closer look")
    if ask.level == 1 and ask.model:
        raise UsageError(
            f"level 1 examines the machine alone, and {ask.subject or ask.model} was named",
            hint="give level 2 or 3, or name nothing",
        )
    if ask.engine not in ENGINES:
        raise UsageError(f"there is no engine {ask.engine}", hint=f"--engine takes {' or '.join(ENGINES)}")
    if ask.bundle is not None:
        if not ask.model:
            raise UsageError("--bundle was given and nothing that can fail", hint="name what is replayed")
        check_writable(ask.bundle)
    counts = {
        "--steps": ask.steps,
        "--replays": ask.replays,
        "--batch": ask.batch,
        "--training-batch": ask.training_batch,
    }
    for option, value in counts.items():
        if value is not None and value < 1:
            raise UsageError(f"{option} {value} replays nothing", hint=f"give {option} 1 or more")
    bound = ask.attribute_error
    if bound is not None and not 0 < bound < math.inf:
        raise UsageError(
            f"--attribute-error {bound:g} is no bound", hint="give a relative error of a step, such as 1e-5"
        )
    if not ask.time_limit > 0:
        raise UsageError(
            f"--time-limit {ask.time_limit:g} leaves no time", hint="give it in seconds, such as 300"
        )


def report_of(
    subject: str,
    machine: Machine,
    findings: Iterable[Finding],
    examined: Sequence[Examined],
    prescription: Prescription | None = None,
) -> Report:
    """What becomes of the machine and the rollouts that were examined."""
    outcomes = [one.outcome for one in examined if one.outcome is not None]
    judged = sum(outcome.verdict is not Verdict.UNKNOWN for outcome in outcomes)
    return Report(
        command="probe",
        subject=subject,
        examined=judged if examined else 1,
        environment=machine.environment,
        findings=(*findings, *(finding for one in examined for finding in one.findings)),
        deliveries=machine.products,
        outcomes=tuple(outcomes),
        prescription=prescription,
        skipped=(*machine.skipped, *(skipped for one in examined for skipped in one.skipped)),
    )
