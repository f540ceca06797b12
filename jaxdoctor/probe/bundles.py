"""`probe --bundle`: which failing replay is written into a bundle, and with what."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from jaxdoctor.errors import JaxdoctorError, UsageError
from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.recorded import RecordedFailure
from jaxdoctor.machine.judged import Machine
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.workers import Answers
from jaxdoctor.replay.plan import BUNDLE, BundlePlan, Captured
from jaxdoctor.reports.json_writer import plain, written_environment
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.worker import run

WRITING_SECONDS = 60.0
"""A bundle is written even where the time limit is over: it takes a second or two."""


def check_writable(path: str) -> None:
    """Whether a bundle may be written there, before anything is replayed.

    Raises:
        UsageError: it may not.
    """
    file = Path(path)
    if file.is_dir():
        raise UsageError(f"{path} is a folder", hint="give --bundle a file, such as failure.zip")
    if not file.parent.is_dir():
        raise UsageError(f"the folder {file.parent} does not exist", hint="make it, or give --bundle another")


def chosen(answers: Answers, outcome: Outcome) -> Captured | None:
    """The failure that is written: at what decides, else at the highest precision that fails.

    A failure at a high precision says more than one at a low one, and one that the device itself computed
    more than an emulated one.
    """
    found = list(_captured(answers))
    decides = outcome.as_delivered
    if decides is not None and decides.failed:
        alike = [one for one in found if one.failure.precision == decides.precision.name]
        found = alike or found
    return min(found, key=_rank, default=None)


def _captured(answers: Answers) -> Iterable[Captured]:
    for native in answers.natives.values():
        if native.captured is not None:
            yield native.captured
    for sweep in (answers.sweep, answers.everywhere):
        yield from () if sweep is None else sweep.captured


def _rank(one: Captured) -> tuple[int, bool, int]:
    failure = one.failure
    wide = 64 if failure.precision == "f64" else failure.bits or 23
    return -wide, failure.emulated, failure.step


def write(
    ask: Ask, machine: Machine, captured: Captured, folder: str, deadline: float, progress: Progress = SILENT
) -> RecordedFailure | Skipped:
    """The bundle that was written, or why there is none.

    Args:
        ask: names the file.
        machine: whose report goes into it.
        captured: the failure.
        folder: the scratch folder, as the replays left it.
        deadline: of `time.monotonic`.
        progress: is given the stage.
    """
    assert ask.bundle is not None
    environment = machine.environment
    plan = BundlePlan(
        path=ask.bundle,
        subject=ask.subject,
        captured=captured,
        versions=dict(environment.versions),
        settings=settings_of(environment),
        environment=plain(written_environment(environment)),
        with_policy=ask.bundle_policy,
    )
    try:
        return run(
            BUNDLE(folder, plan),
            environment=machine.variables,
            deadline=max(deadline, time.monotonic() + WRITING_SECONDS),
            progress=progress,
            subject="writing the bundle",
        )
    except JaxdoctorError as error:
        subject = f"{ask.subject}: the bundle {ask.bundle}"
        return Skipped(subject=subject, reason=f"{error}; {error.hint}", asked=True)


def settings_of(environment: Environment) -> dict[str, str]:
    """What JAX and XLA were set to: variables, and flags of XLA by their names."""
    flags = {f"--{name}": str(value) for name, value in environment.xla_flags.items()}
    return {**{name: str(value) for name, value in environment.settings.items()}, **flags}
