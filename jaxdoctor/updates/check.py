"""`check-update`: traces an update function in workers and judges what was seen."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.discover import recognized
from jaxdoctor.checkpoints.reader import READERS, describe
from jaxdoctor.checkpoints.roles import role_of
from jaxdoctor.errors import NothingExaminedError, UsageError, WorkerError
from jaxdoctor.facts.environment import Accelerator, Environment, Software
from jaxdoctor.facts.finding import Finding, Skipped
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.parameters import Parameter, is_spec, parse
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.signature import Fate, Signature
from jaxdoctor.machine.installed import versions_examined
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.rules.rule import find_rule
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.updates.script_plan import ScriptPlan
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import WorkerTimeoutError, run

SWEEP = "optax"
"""The target that stands for every transform which the installed optax exports."""

TRACE: Task[[str, str | Sequence[Parameter] | None, Sequence[str | None]], list[Signature]] = Task(
    "jaxdoctor.updates.trace.run:trace_target", users_code=True
)
"""Traces a target with these parameters at each dtype."""

RUN_SCRIPT: Task[[ScriptPlan], list[Signature]] = Task(
    "jaxdoctor.updates.trace.script:run_script", users_code=True
)
"""Runs a training script and judges its step."""

SHARE_OF_SCRIPT = 0.7
"""Of the time limit, for the script itself; the rest is for judging what it called."""

TRACE_OPTAX: Task[[Sequence[str]], list[Signature]] = Task("jaxdoctor.updates.trace.sweep:sweep")
"""Traces every transform that optax exports, for parameters of these dtypes."""

X64_SETTINGS: Mapping[str, tuple[bool | None, ...]] = {
    "as-set": (None,),
    "off": (False,),
    "on": (True,),
    "both": (False, True),
}
"""What `--x64` may say. As set: by the environment, or by the target itself."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the user asked for."""

    target: str = ""
    params: str | None = None
    """A specification, a checkpoint, or `module:object`."""

    params_dtypes: tuple[str, ...] = ()
    x64: tuple[bool | None, ...] = (None,)
    """With `jax_enable_x64` off and on; None leaves it as the environment has it."""

    calls_per_second: float | None = None
    time_limit: float = 120.0
    script: ScriptPlan | None = None
    """A training script to run, instead of a target."""

    @property
    def named(self) -> str:
        """What messages call it: the target, or the script."""
        return self.target if self.script is None else self.script.subject


def check_update(wish: Wish, *, progress: Progress = SILENT) -> Report:
    """Every signature asked for, and what is wrong with each.

    Raises:
        JaxdoctorError: the target cannot be imported, called or traced, or did not end in time.
    """
    if wish.target == SWEEP and wish.params:
        raise UsageError("the sweep over optax has parameters of its own", hint="leave --params out")
    params = _params(wish.params)
    if wish.params_dtypes and params is None and wish.target != SWEEP:
        raise UsageError(
            "--params-dtype is for the parameters in --params", hint="give --params, or leave it out"
        )
    signatures: list[Signature] = []
    skipped: list[Skipped] = []
    for x64 in wish.x64:
        try:
            found = _ask(wish, params, x64=x64, progress=progress)
        except NothingExaminedError as error:
            if NEEDED_BY_BRAX not in str(error):
                raise
            return _brax_cannot_start(wish, error)
        signatures += [replace(each, calls_per_second=wish.calls_per_second) for each in found]
    skipped += [
        # Of a sweep nobody named the single transform.
        Skipped(subject=_subject(each), reason=each.refused, asked=wish.target != SWEEP)
        for each in signatures
        if each.refused is not None
    ]
    skipped += [
        Skipped(subject=f"{each.target}: {counter.leaf}", reason="what a call adds to it depends on data")
        for each in signatures
        for counter in each.counters
        if counter.fate is Fate.UNKNOWN
    ]
    traced = tuple(each for each in signatures if each.refused is None)
    return Report(
        command="check-update",
        subject=f"{wish.named}, whose code was executed",
        examined=len(traced),
        findings=tuple(merged(diagnose([*traced, Software(versions={"jax": versions_examined()["jax"]})]))),
        signatures=tuple(signatures),
        skipped=tuple(dict.fromkeys(skipped)),
    )


NEEDED_BY_BRAX = "device_put_replicated"
"""What the trainers of brax 0.14 call, and jax 0.10 no longer has."""


def _brax_cannot_start(wish: Wish, error: NothingExaminedError) -> Report:
    """Of a script whose trainer this JAX cannot start: the rule that says so, and what was not judged."""
    here = Environment(
        accelerator=Accelerator(name="cpu", platform="cpu"),
        cpu_cores=1,
        platform="",
        versions=versions_examined(),
    )
    return Report(
        command="check-update",
        subject=f"{wish.named}, whose code was executed",
        examined=0,
        findings=tuple(find_rule("brax-needs-older-jax").judge(here)),
        skipped=(Skipped(subject=wish.named, reason=str(error), asked=True),),
    )


SETTING = re.compile(r" \((x32|x64)((?:, params \w+)?)\)$")
"""What a message ends with where one target was traced in several ways."""


def merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """What was found without x64 and with it once, and said so."""
    groups: dict[Any, list[Finding]] = {}
    for finding in findings:
        setting = SETTING.search(finding.message)
        said = SETTING.sub("", finding.message)
        key = (finding.code, finding.location, said, finding.fix, setting[2] if setting else "")
        groups.setdefault(key, []).append(finding)
    for (_, _, said, _, params), same in groups.items():
        both = {"(x64" in each.message for each in same} == {True, False}
        yield replace(same[0], message=f"{said} (x32 and x64{params})") if both else same[0]


def _subject(signature: Signature) -> str:
    return f"{signature.target} ({signature.setting})"


def _params(text: str | None) -> str | tuple[Parameter, ...] | None:
    if text is None or not text.strip():
        return None
    if Path(text).exists():
        return _from_checkpoint(Path(text))
    if is_spec(text):
        return parse(text)
    if ":" in text:
        return text
    raise UsageError(
        f"--params {text!r} is no checkpoint, no specification and no module:object",
        hint="write it as in w=float32[128,64],b=bfloat16[64]",
    )


def _from_checkpoint(path: Path) -> tuple[Parameter, ...]:
    reader = recognized(Candidate(path))
    if reader is None:
        known = ", ".join(READERS.names())
        raise UsageError(f"{path} is no checkpoint of a known format", hint=f"known are {known}")
    leaves = describe(reader, path, Budget()).leaves
    chosen = [leaf for leaf in leaves if role_of(leaf, ()) is Role.PARAMETER] or list(leaves)
    return tuple(Parameter(path=leaf.path, dtype=leaf.dtype, shape=leaf.shape) for leaf in chosen)


def _ask(
    wish: Wish, params: str | Sequence[Parameter] | None, *, x64: bool | None, progress: Progress
) -> list[Signature]:
    # Tracing needs no device, and a GPU's start would take longer than all of it.
    environment = {"JAX_PLATFORMS": "cpu"} | ({} if x64 is None else {"JAX_ENABLE_X64": str(int(x64))})
    dtypes = wish.params_dtypes or (None,)
    sweep = wish.target == SWEEP
    known: list[list[Signature]] = []
    if wish.script is not None:
        # A script may report to Weights & Biases; what it would upload stays on this machine.
        environment |= {"WANDB_MODE": os.environ.get("WANDB_MODE", "offline")}
        call = RUN_SCRIPT(replace(wish.script, seconds=wish.time_limit * SHARE_OF_SCRIPT))
    else:
        call = TRACE_OPTAX(wish.params_dtypes) if sweep else TRACE(wish.target, params, dtypes)
    try:
        return run(
            call,
            environment=environment,
            deadline=time.monotonic() + wish.time_limit,
            progress=progress,
            received=known.append,
            subject=wish.named,
        )
    except WorkerTimeoutError as error:
        if known:
            return known[-1]
        raise WorkerError(
            f"{wish.named} did not end within {wish.time_limit:.0f} s",
            hint="raise --time-limit, or look for a loop that never ends or a download",
        ) from error
