"""How a report's values read in a sentence or a table cell, the same in every format for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Finding, Location
from jaxdoctor.facts.node_test import NodeTest
from jaxdoctor.facts.outcome import BEYOND_BITS, Outcome, Verdict
from jaxdoctor.facts.precision import F32, F64
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import counted
from jaxdoctor.facts.trial import Kind, Trial, native_x64

KIB = 1024
DASH = "-"


MEANINGS: Mapping[Verdict, str] = {
    Verdict.HEALTHY: "finite{lasting} at the precision that {by} gives",
    Verdict.PRECISION: "fails at the precision that {by} gives; finite at a higher one",
    Verdict.ENGINE: "fails at x64 too, in a step that MuJoCo in C takes: the fault is MJX's, not the model's",
    Verdict.MODEL: "fails at x64 and in MuJoCo in C too: the physics, not the precision",
    Verdict.UNKNOWN: "{reason}",
}

WORST_FIRST = (Verdict.PRECISION, Verdict.ENGINE, Verdict.MODEL, Verdict.UNKNOWN, Verdict.HEALTHY)
"""What a report over several rollouts leads with: first what a setting can cure."""


def worst_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The order of findings in every format: by severity, then those of one rule together.

    Rules, and findings within each, stay in the order in which they came.
    """
    first: dict[str, int] = {}
    for index, finding in enumerate(findings):
        first.setdefault(finding.code, index)
    return tuple(sorted(findings, key=lambda finding: (-finding.severity, first[finding.code])))


def statistics(findings: Iterable[Finding]) -> list[tuple[Finding, int]]:
    """How many findings each rule has, with one of them: the most frequent first."""
    counts: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        counts.setdefault((finding.code, finding.severity.word), []).append(finding)
    rows = [(found[0], len(found)) for found in counts.values()]
    return sorted(rows, key=lambda row: (-row[1], -row[0].severity, row[0].code))


def test_line(test: NodeTest) -> str:
    """A test of a node in a line: "PASS devices: JAX computes on 8 x NVIDIA H100 (3.1 s)"."""
    took = f" ({in_seconds(test.seconds)})" if test.seconds is not None else ""
    return f"{test.word} {test.name}: {test.detail}{took}"


def inert(line: str) -> str:
    """A line that GitHub's runner and Azure's agent, which read logs for commands, take for text."""
    if line.lstrip().startswith("::"):
        line = f"\\{line}"
    return line.replace("##[", "##\\[").replace("##vso[", "##vso\\[")


def place(location: Location) -> str:
    """Where a finding points: "run/100:12 opt_state/0/nu/w, step 7,000"."""
    path = location.path or ""
    if location.line is not None:
        path += f":{location.line}"
    # The name of a checkpoint mostly tells its step.
    told = location.step is None or str(location.step) in path.rpartition("/")[2]
    step = None if told else f"step {location.step:,}"
    named = " ".join(part for part in (path, location.leaf) if part)
    return ", ".join(part for part in (named, step) if part)


def headline(finding: Finding) -> str:
    """The line that a finding is known by: "JD301 error nonfinite-values: 2 of 3 values are not finite"."""
    return f"{finding.code} {finding.severity.word} {finding.name}: {finding.message}"


def tally(findings: Sequence[Finding]) -> str:
    """How many findings of each severity: "2 errors, 1 note"; "no findings"."""
    words = ("error", "warning", "note")
    numbers = {word: sum(finding.severity.word == word for finding in findings) for word in words}
    return ", ".join(counted(number, word) for word, number in numbers.items() if number) or "no findings"


def replayable(report: Report) -> str | None:
    """The line that says which command replays the policies in it; None: there are none.

    Of several the last one stands for all.
    """
    found = [saved.replay for saved in report.checkpoints if saved.replay is not None]
    if not found:
        return None
    what = "it is a policy" if len(found) == 1 else f"{len(found):,} of them are policies, as the last one"
    return f"{what}: replay it with {found[-1]}"


def summary(report: Report) -> str:
    """The line that every format ends with: "1 error, 3 checkpoints examined, 2 not examined, 1 ignored"."""
    parts = [f"{_news(report)}{stands(report.standing)}", f"{examined(report)} examined"]
    if report.reused:
        parts[-1] += f" ({counted(len(report.reused), 'subject')} earlier and unchanged)"
    left_out = ((len(report.unexamined), "not examined"), (len(report.ignored), "ignored"))
    parts += [f"{number:,} {what}" for number, what in left_out if number]
    took = "" if report.run is None else f" ({in_seconds(report.run.seconds)})"
    if report.tests:
        failed = sum(test.passed is False for test in report.tests)
        parts[0] = f"{failed} of {counted(len(report.tests), 'test')} failed"
        parts.pop(1)
    if report.configured is not None:
        parts.insert(1, f"configured by {report.configured}")
    if report.selected:
        parts[0] += f" ({' '.join(report.selected)} selected)"
    words = ", ".join(parts) + coverage(report) + took
    return f"{words}; interrupted: partial report" if report.partial else words


def examined(report: Report) -> str:
    """What was examined, by kind: "2 checkpoints, 1 update and 1 machine"; "nothing"."""
    if not report.examined:
        return "nothing"
    judged = [outcome for outcome in report.outcomes if outcome.verdict is not Verdict.UNKNOWN]
    kinds = {
        "checkpoint": len(report.checkpoints),
        "update": len(report.signatures),
        "rollout": len(judged),
        "recorded failure": len(report.bundles),
    }
    rest = report.examined - sum(kinds.values())
    if rest and (rest < 0 or report.environment is None):
        return counted(report.examined, "subject")  # of an earlier version's report, or of one in parts
    words = [counted(number, kind) for kind, number in [*kinds.items(), ("machine", rest)] if number]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _news(report: Report) -> str:
    news = "nothing new" if report.standing and not report.findings else tally(report.findings)
    covered = report.coverage
    if report.findings or covered is None or covered.whole:
        return news
    return (
        f"{news} in the {percent(covered.share)} that was read"
        if covered.seen_bytes
        else f"{news} in metadata"
    )


def coverage(report: Report) -> str:
    """What was not read, and how it would be: "; 3 leaves were sampled, --deep reads all"."""
    covered = report.coverage
    if covered is None or covered.whole:
        return ""
    parts = []
    if covered.sampled:
        verb = "was" if covered.sampled == 1 else "were"
        share = f" ({percent(covered.share)} was read)" if report.findings else ""
        parts.append(f"{counted(covered.sampled, 'leaf', 'leaves')} {verb} sampled{share}, --deep reads all")
    if covered.unread:
        of_all = (
            "no" if covered.unread == covered.leaves else f"of {counted(covered.unread, 'leaf', 'leaves')} no"
        )
        parts.append(f"{of_all} value was read")
    return "; " + "; ".join(parts)


def stands(findings: Sequence[Finding]) -> str:
    """What earlier reports on a job found and still holds: "; 1 error stands since step_300 (JD301)"."""
    if not findings:
        return ""
    codes = ", ".join(dict.fromkeys(finding.code for finding in findings))
    paths = [finding.location.path for finding in findings if finding.location.path is not None]
    since = f" since {paths[0].rstrip('/').rpartition('/')[2].partition('.')[0]}" if paths else ""
    verb = "stands" if len(findings) == 1 else "stand"
    return f"; {tally(findings)} {verb}{since} ({codes})"


def in_bytes(size: int) -> str:
    """A size as people read it: "1.5 GiB"."""
    if size < KIB:
        return f"{size} B"
    amount = size / KIB
    for unit in ("KiB", "MiB", "GiB"):
        if amount < KIB:
            return f"{amount:.1f} {unit}"
        amount /= KIB
    return f"{amount:,.1f} TiB"


def in_seconds(seconds: float) -> str:
    """A duration as people read it: "3.1 ms"."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def machine(environment: Environment) -> tuple[str, str, str]:
    """The machine in three lines: what multiplies, the versions, and the settings that change numerics."""
    return _accelerator(environment), _versions(environment), _settings(environment)


def _accelerator(environment: Environment) -> str:
    chip = environment.accelerator
    ratio = f"float64 at 1/{round(1 / chip.fp64_ratio)}" if chip.fp64_ratio else None
    memory = in_bytes(chip.memory_bytes) if chip.memory_bytes else None
    capability = f"compute capability {chip.compute_capability}" if chip.compute_capability else None
    driver = f"driver {chip.driver}" if chip.driver else None
    tf32 = None if chip.tf32 is None else "TF32" if chip.tf32 else "no TF32"
    several = f"{chip.count} x " if chip.count > 1 else ""
    parts = (capability, chip.market, tf32, memory, ratio, driver, counted(environment.cpu_cores, "CPU core"))
    text = f"{several}{chip.name}, " + ", ".join(part for part in parts if part)
    return f"{text}; {environment.assumed}" if environment.assumed else text


def _versions(environment: Environment) -> str:
    known = [f"{name} {version}" for name, version in environment.versions.items() if version]
    text = ", ".join([*known, environment.platform])
    return f"{text}; {environment.examined}" if environment.examined else text


def _settings(environment: Environment) -> str:
    stated = [f"{name}={value}" for name, value in environment.settings.items()]
    stated += [f"--{name}={value}" for name, value in environment.xla_flags.items()]
    stated += [f"--{name} (unknown)" for name in environment.unknown_xla_flags]
    stated += [f"{name} (refused)" for name in environment.refused_settings]
    x64 = "x64 on" if environment.x64 else "x64 off"
    return ", ".join([*stated, x64]) if stated else f"nothing set that changes numerics, {x64}"


def meaning(outcome: Outcome) -> str:
    """A verdict and what it says: "healthy: finite for 1 s in 48 of 48 replays at what h100 delivers"."""
    by = "this machine" if outcome.delivered_by == "here" else outcome.delivered_by
    reason = outcome.reason or "no reason was given"
    sentence = (_special(outcome) or MEANINGS[outcome.verdict]).format(
        by=by, reason=reason, lasting=_lasting(outcome)
    )
    return f"{outcome.verdict}{_at_most(outcome)}: {sentence}"


ENOUGH_SECONDS, ENOUGH_STEPS = 1.0, 500
"""A rollout that lasts less than both is not called healthy without its length."""


def _seconds(outcome: Outcome) -> float | None:
    """How much simulated time the replays that decide lasted."""
    decides = outcome.as_delivered
    steps = outcome.steps if decides is None else decides.steps
    return None if outcome.timestep is None or steps is None else steps * outcome.timestep


def _at_most(outcome: Outcome) -> str:
    """The length of a healthy rollout that is short: " for 0.2 s"."""
    seconds, decides = _seconds(outcome), outcome.as_delivered
    if outcome.verdict is not Verdict.HEALTHY or seconds is None or decides is None:
        return ""
    if _all_ended(decides):
        return ""
    enough = seconds >= ENOUGH_SECONDS * (1 - 1e-9) or decides.steps >= ENOUGH_STEPS
    return "" if enough else f" for {seconds:.2g} s"


def _all_ended(trial: Trial) -> int | None:
    """The steps of the longest episode, where every replay's ended: nothing was replayed after it."""
    episodes = trial.episodes
    return None if episodes is None or episodes.ended < trial.replays else episodes.longest


def _lasting(outcome: Outcome) -> str:
    """How long and how often it stayed finite: " for 1 s in 48 of 48 replays"."""
    seconds, decides = _seconds(outcome), outcome.as_delivered
    if decides is None:
        return ""
    if (longest := _all_ended(decides)) is not None:
        share = 1 if decides.steps == 0 else longest / decides.steps
        lasted = counted(longest, "step") if seconds is None else f"{seconds * share:.3g} s"
        length = f" to the end of its episode, at most {lasted},"
    else:
        length = f" for {seconds:.3g} s" if seconds is not None else f" for {counted(decides.steps, 'step')}"
    often = f"in {decides.replays - decides.failed} of {decides.replays} {outcome.replay_word}s"
    return f" {often}" if outcome.is_call else f"{length} {often}"


def _special(outcome: Outcome) -> str | None:
    """What a verdict says in cases of its own."""
    x64 = native_x64(outcome.trials)
    match outcome.verdict:
        case Verdict.PRECISION if needs_x64(outcome):
            return "float32 is not enough on any card, x64 is"
        case Verdict.MODEL if outcome.reason is not None:
            return "{reason}"
        case Verdict.MODEL if outcome.in_c.unusable and not (x64 and x64.failed):
            return "passes MuJoCo's own limits in C and float64: the physics, not the precision"
        case Verdict.MODEL if outcome.in_c.growth is not None and not (x64 and x64.failed):
            return "gains speed without bound in C and float64: the physics, not the precision"
    return None


def needs_x64(outcome: Outcome) -> bool:
    """Whether no width of float32 is enough, so that what a card delivers plays no part."""
    return outcome.required_bits is not None and outcome.required_bits > F32.mantissa_bits


def beyond_bits(outcome: Outcome) -> bool:
    """Whether the card's bits play no part: more of them mend nothing, or none of its products loses any."""
    return outcome.verdict in BEYOND_BITS or needs_x64(outcome) or outcome.rounded == 0


def signed(outcome: Outcome) -> str:
    """The margin with its sign; "unknown" when it is, "none" where bits are not the question."""
    bits = outcome.margin_bits
    if beyond_bits(outcome):
        return "none"
    if bits is None:
        return "unknown"
    return f"{bits:+d} {'bit' if abs(bits) == 1 else 'bits'}"


def needs(outcome: Outcome) -> str:
    """Required against delivered bits, in words."""
    required, delivered = outcome.required_bits, outcome.delivered_bits
    if needs_x64(outcome):
        return f"requires more than the {F32.mantissa_bits} bits of float32, which no card exceeds"
    if outcome.rounded == 0 and outcome.verdict not in BEYOND_BITS:
        return "no product of it runs on matrix units, so every card computes it in float32"
    most = "at most " if outcome.fewer_untried else ""
    wants = "requires unknown" if required is None else f"requires {most}{required}"
    wants = "no number of bits mends it" if outcome.verdict in BEYOND_BITS else wants
    by = "this machine" if outcome.delivered_by == "here" else outcome.delivered_by
    return f"{wants}, {by} delivers {'unknown' if delivered is None else delivered}"


def scale(outcome: Outcome) -> int:
    """The width that a bar of bits is drawn over."""
    most = max(outcome.required_bits or 0, outcome.delivered_bits or 0)
    return F32.mantissa_bits if most <= F32.mantissa_bits else F64.mantissa_bits


def worst(outcomes: Iterable[Outcome]) -> Outcome | None:
    """The rollout that a report over several leads with."""

    def rank(outcome: Outcome) -> tuple[int, float]:
        margin = outcome.margin_bits
        return WORST_FIRST.index(outcome.verdict), float("inf") if margin is None else margin

    return min(outcomes, key=rank, default=None)


def interval(trial: Trial) -> str:
    """The Wilson interval of the failed share, in percent."""
    return f"{_percent(trial.interval.low)}-{_percent(trial.interval.high)} %"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}" if share < 1 else "100"


def precision(trial: Trial) -> str:
    """The precision's name, with the batch where that is another than the rest had."""
    return trial.precision.name if trial.batch is None else f"{trial.precision.name}, batch {trial.batch}"


def driven(outcome: Outcome) -> str:
    """What drove the rollout, and what MuJoCo itself warned of; empty when neither is known.

    Of a call: its arguments.
    """
    if outcome.is_call:
        return outcome.start or ""
    warned = ", ".join(f"{name} {times} x" for name, times in outcome.in_c.warnings.items())
    parts = [outcome.controls or "", f"MuJoCo in float64 warned: {warned}" if warned else ""]
    return "; ".join(part for part in parts if part)


def recorded(outcome: Outcome) -> str:
    """The failure that was written into a bundle: "failure.zip holds the 64 steps before ..."; or nothing."""
    found = outcome.bundle
    if found is None:
        return ""
    words = (
        f"{found.path} holds {counted(found.steps, 'step')}, up to step {found.step} of replay "
        f"{found.replay} at {found.precision}, where {found.field} is not finite ({in_bytes(found.bytes)})"
    )
    if found.policy is None:
        return words
    if found.policy_left_out is None:
        return f"{words}, and the policy {found.policy}"
    return f"{words}, and of the policy {found.policy} only the name: {found.policy_left_out}"


def first_bad(trial: Trial) -> str:
    """The first bad step and field, or a dash."""
    if trial.first_bad_step is None:
        return DASH
    if trial.steps == 1:
        return trial.first_bad_field or DASH
    return f"step {trial.first_bad_step:,} {trial.first_bad_field or ''}".rstrip()


def steps(horizon: float | None, most: int) -> str:
    """A horizon in steps; beyond the replay's end it is only known to be longer."""
    return f">{most:,}" if horizon is None else f"{horizon:,g}"


def horizons(trial: Trial) -> str:
    """Steps until a replay parts from x64, beside those of chaos alone; a dash when it was not measured."""
    measured = trial.horizon, trial.shadow_horizon, trial.one_step_error
    # One step is no horizon.
    if trial.steps == 1 or all(value is None for value in measured):
        return DASH
    return f"{steps(trial.horizon, trial.steps)} / {steps(trial.shadow_horizon, trial.steps)}"


def error(trial: Trial) -> str:
    """The one-step error, or a dash."""
    return DASH if trial.one_step_error is None else f"{trial.one_step_error:.1e}"


def price(trial: Trial, outcome: Outcome) -> str:
    """Time per step against the first native trial, and on what, where that is not the device judged.

    Of x64 on a card that is not here, its published rate; else a dash for what was not timed.
    """
    if trial.kind is not Kind.NATIVE or trial.seconds_per_step is None:
        return _rate(trial, outcome.float64_rate)
    native = [other for other in outcome.trials if other.kind is Kind.NATIVE and other.seconds_per_step]
    base = native[0].seconds_per_step if native else None
    times = f"{trial.seconds_per_step / base:.2f} x" if base else in_seconds(trial.seconds_per_step)
    return times if outcome.timed_on is None else f"{times} on {outcome.timed_on}"


def _rate(trial: Trial, rate: float | None) -> str:
    return f"1/{round(1 / rate)} rate" if rate and trial.precision.x64 else DASH


def memory(trial: Trial) -> str:
    """Peak memory of the replay as it was compiled; a dash where it is not known."""
    return DASH if trial.peak_bytes is None else in_bytes(trial.peak_bytes)


def number(value: float | None) -> str:
    """A counter's value: "16,777,216"; a dash when it is not known."""
    if value is None:
        return DASH
    whole = isinstance(value, int) or value.is_integer()
    return f"{int(value):,}" if whole else f"{value:,.6g}"


def extreme(value: float | str | None) -> str:
    """The smallest or the largest value of a leaf, in as many digits as distinguish it."""
    if value is None:
        return DASH
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def percent(share: float) -> str:
    """A share in percent; what is smaller than a tenth is only said to be."""
    return f"{100 * share:.3g} %" if share >= 0.001 or share == 0 else "<0.1 %"  # noqa: PLR2004 (that tenth)


def worth_showing(outcome: Outcome) -> list[Trial]:
    """Native and named trials, and of a sweep over bare widths only those beside the required one."""
    edge = outcome.required_bits
    near = set() if edge is None else {edge - 1, edge}
    shown = [
        trial
        for trial in outcome.trials
        if not trial.precision.name.isdecimal() or trial.precision.mantissa_bits in near
    ]
    return shown if outcome.warp is None else [*shown, outcome.warp]


def dtypes(checkpoint: Checkpoint) -> str:
    """The dtypes of each role in a line: "parameter float32, counter int32"."""
    return ", ".join(f"{role} {'+'.join(row)}" for role, row in checkpoint.dtypes_by_role.items())


def evidence(values: Mapping[str, Any]) -> str:
    """Evidence in words: "mantissa bits 10, failed: f32 0, tf32 23; source card"."""
    return "; ".join(_told(name.replace("_", " "), value) for name, value in values.items() if _known(value))


def _known(value: Any) -> bool:
    return value is not None and value not in ([], {}, (), "")


def _told(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{name}: {', '.join(_told(str(key), one) for key, one in value.items())}"
    return f"{name} {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, Mapping):
        return f"({', '.join(_told(str(key), one) for key, one in value.items())})"
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return str(value)
