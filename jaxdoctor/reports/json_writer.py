"""Reports as `jaxdoctor.report/1`: a mapping of its own, written here and read back here.

Users and their scripts rely on these keys, so no inner type is ever dumped: renaming a field of ours
changes nothing in what is written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from jaxdoctor import __version__
from jaxdoctor.facts.attribution import Around, Attribution
from jaxdoctor.facts.bundle_replay import BundleReplay
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.closed_loop import ClosedLoop, Episodes, Mean
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.delivery import Delivery
from jaxdoctor.facts.environment import Accelerator, Environment
from jaxdoctor.facts.finding import Finding, Ignored, Location, Skipped
from jaxdoctor.facts.histories import histories
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.outcome import Compiled, Growth, Outcome, Parting, RolledInC, SolverEffort, StepInC
from jaxdoctor.facts.prescription import Prescription, Setting
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.run import Run
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.signature import LaterError, Recorded, Signature
from jaxdoctor.facts.trial import Trial
from jaxdoctor.reports.wording import statistics, worst

SCHEMA = "jaxdoctor.report/1"


def written(report: Report) -> dict[str, Any]:
    """The report as JSON-ready values. A key that the command does not fill is absent."""
    lead = worst(report.outcomes)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "jaxdoctor", "version": __version__},
        "command": report.command,
        "subject": report.subject,
        "run": None if report.run is None else _run(report.run),
        "partial": True if report.partial else None,
        "environment": None if report.environment is None else written_environment(report.environment),
        "findings": [_finding(finding) for finding in report.findings],
        "tests": [
            {"name": test.name, "result": test.word.lower(), "detail": test.detail, "seconds": test.seconds}
            for test in report.tests
        ],
        "statistics": [
            {"code": one.code, "name": one.name, "severity": one.severity.word, "count": number}
            for one, number in (statistics(report.findings) if report.statistics else ())
        ],
        "standing": [_finding(finding) for finding in report.standing],
        "ignored": [_ignored(ignored) for ignored in report.ignored],
        "deliveries": [_delivery(delivery) for delivery in report.deliveries],
        "trials": [_trial(trial) for outcome in report.outcomes for trial in outcome.trials],
        **({} if lead is None else _bits(lead)),
        "rollouts": [_rollout(outcome) for outcome in report.outcomes],
        "bundles": [_bundle(bundle) for bundle in report.bundles],
        "checkpoints": [
            _checkpoint(checkpoint, with_leaves=report.with_leaves) for checkpoint in report.checkpoints
        ],
        "coverage": None if report.coverage is None else asdict(report.coverage),
        "series": [_series(series) for series in report.series],
        "signatures": [_signature(signature) for signature in report.signatures],
        "prescription": None if report.prescription is None else _prescription(report.prescription),
        "skipped": [_skipped(skipped, report) for skipped in report.skipped],
        "not_examined": len(report.unexamined) or None,
        "reused": [{"subject": reused.subject, "when": reused.when} for reused in report.reused],
        "allowed": dict(report.allowed) or None,
        "idle_ignores": list(report.idle_ignores) or None,
        "idle_allowances": list(report.idle_allowances) or None,
        "selected": list(report.selected) or None,
        "strict": True if report.strict else None,
        "examined": report.examined,
        "configured": report.configured,
        "configuration_file": report.configuration_file,
        "root": report.root,
        "fail_on": "never" if report.fail_on is None else report.fail_on.word,
        "exit_code": report.exit_code(report.fail_on),
    }
    always = {"findings", "exit_code", "verdict", "required_bits", "delivered_bits", "margin_bits"}
    return {
        name: plain(value)
        for name, value in document.items()
        if name in always or (value is not None and value != [])
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "began": run.began,
        "seconds": run.seconds,
        "host": run.host,
        "command": run.command,
        "versions": dict(run.versions),
    }


def plain(value: Any) -> Any:
    """The value as JSON has it: NaN and infinity become words, whatever JSON does not know its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return _unmarked(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy scalar
        return plain(value.item())
    return str(value)


def _unmarked(value: Any) -> Any:
    """An enumeration's plain value."""
    for kind in (bool, int, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _attribution(found: Attribution) -> dict[str, Any]:
    return {
        "needs": [
            {
                "place": need.place,
                "bits": need.bits,
                "explicit": need.explicit,
                "at_batch_one": need.at_batch_one,
                "share": need.share,
            }
            for need in found.needs
        ],
        "others": [list(each) for each in found.others],
        "unique": found.unique,
        "replays": found.replays,
        "hypotheses": found.hypotheses,
        "products": found.products,
        "undecided": found.undecided,
        "bound": found.bound,
        "cured": found.cured,
        "around": None if found.around is None else _around(found.around),
    }


def _around(around: Around) -> dict[str, Any]:
    return {
        "functions": list(around.functions),
        "beyond": list(around.beyond),
        "share": around.share,
        "finite": around.finite,
    }


def written_environment(environment: Environment) -> dict[str, Any]:
    """The environment with the keys that it has in a report."""
    return {
        "accelerator": _accelerator(environment.accelerator),
        "here": None if environment.here is None else _accelerator(environment.here),
        "idle_gpus": list(environment.idle_gpus),
        "cpu_cores": environment.cpu_cores,
        "cpu_threads": environment.cpu_threads,
        "platform": environment.platform,
        "versions": dict(environment.versions),
        "settings": dict(environment.settings),
        "refused_settings": dict(environment.refused_settings),
        "xla_flags": dict(environment.xla_flags),
        "unknown_xla_flags": list(environment.unknown_xla_flags),
        "refused_xla_flags": dict(environment.refused_xla_flags),
        "unread_xla_flags": environment.unread_xla_flags,
        "unread_settings": dict(environment.unread_settings),
        "x64": environment.x64,
        "examined": environment.examined,
        "assumed": environment.assumed,
    }


def _accelerator(chip: Accelerator) -> dict[str, Any]:
    return {
        "name": chip.name,
        "platform": chip.platform,
        "card": chip.card,
        "compute_capability": chip.compute_capability,
        "market": chip.market,
        "memory_bytes": chip.memory_bytes,
        "fp64_ratio": chip.fp64_ratio,
        "tf32": chip.tf32,
        "bf16": chip.bf16,
        "ecc": chip.ecc,
        "driver": chip.driver,
        "count": chip.count,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.word,
        "location": _location(finding.location),
        "message": finding.message,
        "evidence": finding.evidence,
        "fix": finding.fix,
        **({} if finding.fingerprint is None else {"fingerprint": finding.fingerprint}),
        **({} if finding.content is None else {"content_fingerprint": finding.content}),
    }


def _ignored(ignored: Ignored) -> dict[str, Any]:
    return {**_finding(ignored.finding), "reason": ignored.reason}


def _location(location: Location) -> dict[str, Any]:
    return {
        "path": location.path,
        "leaf": location.leaf,
        "step": location.step,
        "line": location.line,
        **({} if location.source is None else {"source": location.source}),
        **({} if location.file is None else {"file": location.file}),
    }


def _skipped(skipped: Skipped, report: Report) -> dict[str, Any]:
    allowed = report.allowed.get(skipped.subject)
    return {
        "subject": skipped.subject,
        "reason": skipped.reason,
        "asked": skipped.asked,
        **({"misuse": True} if skipped.misuse else {}),
        **({} if allowed is None else {"allowed": allowed}),
    }


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "setting": delivery.setting,
        "op": delivery.op,
        "shape": delivery.shape,
        "batched": delivery.batched,
        "side": delivery.side,
        "arithmetic": delivery.arithmetic.value,
        "mantissa_bits": delivery.mantissa_bits,
        "max_relative_error": delivery.max_relative_error,
        "milliseconds": delivery.milliseconds,
        "source": delivery.source,
    }


def _trial(trial: Trial) -> dict[str, Any]:
    precision = trial.precision
    return {
        "source": trial.source,
        "precision": {
            "name": precision.name,
            "mantissa_bits": precision.mantissa_bits,
            "jax_setting": precision.jax_setting,
            "x64": precision.x64,
            "rounding": precision.rounding.value,
        },
        "kind": trial.kind.value,
        "batch": trial.batch,
        "replays": trial.replays,
        "steps": trial.steps,
        "failed": trial.failed,
        "hidden": trial.hidden,
        "interval": [trial.interval.low, trial.interval.high],
        "first_bad_step": trial.first_bad_step,
        "first_bad_field": trial.first_bad_field,
        "first_bad_replay": trial.first_bad_replay,
        "horizon": trial.horizon,
        "shadow_horizon": trial.shadow_horizon,
        "one_step_error": trial.one_step_error,
        "seconds_per_step": trial.seconds_per_step,
        "compile_seconds": trial.compile_seconds,
        "peak_bytes": trial.peak_bytes,
        **({} if trial.episodes is None else {"episodes": _episodes(trial.episodes)}),
    }


def _episodes(episodes: Episodes) -> dict[str, Any]:
    return {
        "ended": episodes.ended,
        "longest": episodes.longest,
        "returns": _mean(episodes.returns),
        "change": _mean(episodes.change),
        "masked": episodes.masked,
        "surviving": episodes.surviving,
        "entering": episodes.entering,
        "part": episodes.part,
        "magnitude": episodes.magnitude,
        "deviations": episodes.deviations,
        "farthest": episodes.farthest,
    }


def _mean(mean: Mean | None) -> list[float] | None:
    return None if mean is None else [mean.value, mean.low, mean.high]


def _loop(loop: ClosedLoop) -> dict[str, Any]:
    return {
        "engine": loop.engine,
        "policy": loop.policy,
        "trained": loop.trained,
        "normalises": loop.normalises,
        "scales": loop.scales,
        "only_batched": loop.only_batched,
        "only_alone": loop.only_alone,
        "policy_bits": loop.policy_bits,
        "physics_bits": loop.physics_bits,
        "auto_reset": None if loop.auto_reset is None else asdict(loop.auto_reset),
        "open_loop": [asdict(one) for one in loop.open_loop],
    }


def _bits(outcome: Outcome) -> dict[str, Any]:
    return {
        "required_bits": outcome.required_bits,
        "delivered_bits": outcome.delivered_bits,
        "margin_bits": outcome.margin_bits,
        "verdict": outcome.verdict.value,
    }


def _rollout(outcome: Outcome) -> dict[str, Any]:
    return {
        "subject": outcome.subject,
        **_bits(outcome),
        "delivered_by": outcome.delivered_by,
        "reason": outcome.reason,
        "controls": outcome.controls,
        "warnings": outcome.in_c.warnings,
        "in_c": _in_c(outcome.in_c),
        "steps_in_c": None if outcome.steps_in_c is None else [_step_in_c(one) for one in outcome.steps_in_c],
        "timestep": outcome.timestep,
        "parting": None if outcome.parting is None else _parting(outcome.parting),
        "cures": [_cure(cure) for cure in outcome.cures],
        "warp": None if outcome.warp is None else _trial(outcome.warp),
        **({} if outcome.loop is None else {"loop": _loop(outcome.loop)}),
        "xla_flags": outcome.xla_flags,
        "compiled": [_compiled(run) for run in outcome.compiled],
        "behaviour_bits": outcome.behaviour_bits,
        "rounded": outcome.rounded,
        "memory": None if outcome.memory is None else asdict(outcome.memory),
        "timed_on": outcome.timed_on,
        "float64_rate": outcome.float64_rate,
        "culprits": outcome.culprits,
        "attribution": None if outcome.attribution is None else _attribution(outcome.attribution),
        "error_attribution": (
            None if outcome.error_attribution is None else _attribution(outcome.error_attribution)
        ),
        "own_precision": outcome.own_precision,
        "expected": None if outcome.expected is None else outcome.expected.value,
        **({} if outcome.bundle is None else {"bundle": asdict(outcome.bundle)}),
    }


def _bundle(bundle: BundleReplay) -> dict[str, Any]:
    return {
        "bundle": bundle.bundle,
        "subject": bundle.subject,
        "written_by": bundle.written_by,
        "precision": bundle.precision,
        "replay": bundle.replay,
        "step": bundle.step,
        "field": bundle.field,
        "steps": bundle.steps,
        "viewer": bundle.viewer,
        "differences": {name: list(pair) for name, pair in bundle.differences.items()},
        "replays": [
            {
                "how": run.how,
                "first_bad_step": run.first_bad_step,
                "first_bad_field": run.first_bad_field,
                "as_recorded": bundle.repeats(run),
                "left_at": run.left_at,
                "difference": run.difference,
            }
            for run in bundle.runs
        ],
    }


def _in_c(in_c: RolledInC) -> dict[str, Any]:
    return {
        "replays": in_c.replays,
        "nonfinite": in_c.nonfinite,
        "unusable": in_c.unusable,
        "first_unusable_step": in_c.first_unusable_step,
        "solver": None if in_c.solver is None else _solver(in_c.solver),
        "growth": None if in_c.growth is None else _growth(in_c.growth),
    }


def _solver(solver: SolverEffort) -> dict[str, Any]:
    return {
        "steps": solver.steps,
        "mean": solver.mean,
        "largest": solver.largest,
        "at_limit": solver.at_limit,
        "limit": solver.limit,
        "tolerance": solver.tolerance,
    }


def _growth(growth: Growth) -> dict[str, Any]:
    return {
        "growing": growth.growing,
        "replays": growth.replays,
        "speeds": list(growth.speeds),
        "energies": list(growth.energies),
    }


def _parting(parting: Parting) -> dict[str, Any]:
    return {
        "steps": parting.steps,
        "parted": parting.parted,
        "error": parting.error,
        "tolerance": parting.tolerance,
        "horizon": parting.horizon,
        "field": parting.field,
        "field_error": parting.field_error,
        "worst": [list(at) for at in parting.worst],
    }


def _compiled(run: Compiled) -> dict[str, Any]:
    return {
        "flags": run.flags,
        "failed": run.failed,
        "replays": run.replays,
        "first_bad_step": run.first_bad_step,
        "first_bad_field": run.first_bad_field,
    }


def _cure(cure: Cure) -> dict[str, Any]:
    return {
        "change": cure.change,
        "failed": cure.failed,
        "replays": cure.replays,
        "instead_of": cure.instead_of,
        "where": cure.where,
    }


def _step_in_c(step: StepInC) -> dict[str, Any]:
    return {"step": step.step, "replay": step.replay, "holds": step.holds, "warnings": list(step.warnings)}


def _leaf(leaf: Leaf) -> dict[str, Any]:
    seen = leaf.statistics
    return {
        "path": leaf.path,
        "dtype": leaf.dtype,
        "shape": list(leaf.shape),
        "role": leaf.role.value,
        "minimum": None if seen is None else seen.minimum,
        "maximum": None if seen is None else seen.maximum,
        "zeros": None if seen is None else seen.zeros,
        "counted": 0 if seen is None else seen.sampled,
        "nonfinite": None if seen is None else seen.nonfinite,
        "seen": 0 if seen is None else seen.seen,
    }


def _checkpoint(checkpoint: Checkpoint, *, with_leaves: bool) -> dict[str, Any]:
    detail = {"leaves_detail": [_leaf(leaf) for leaf in checkpoint.leaves]} if with_leaves else {}
    return {
        **detail,
        "path": checkpoint.path,
        "format": checkpoint.format,
        "step": checkpoint.step,
        "leaves": len(checkpoint.leaves),
        "bytes_total": checkpoint.bytes_total,
        "bytes_read": checkpoint.bytes_read,
        "dtypes": checkpoint.dtypes_by_role,
        "finished": checkpoint.finished,
        **({} if checkpoint.replay is None else {"replay": checkpoint.replay}),
        **_wanted_calls(checkpoint),
    }


def _wanted_calls(checkpoint: Checkpoint) -> dict[str, Any]:
    calls = checkpoint.metadata.get("wanted_calls")
    return {"wanted_calls": list(calls)} if calls else {}


def _series(series: Series) -> dict[str, Any]:
    return {
        "path": series.path,
        "checkpoints": [checkpoint.path for checkpoint in series.checkpoints],
        "steps": [checkpoint.step for checkpoint in series.checkpoints],
        "counters": [
            {
                "leaf": history.leaf,
                "dtype": history.dtype,
                "limit": history.limit,
                "values": list(history.values),
            }
            for history in histories(series)
        ],
    }


def _signature(signature: Signature) -> dict[str, Any]:
    return {
        "target": signature.target,
        "x64": signature.x64,
        "params_dtype": signature.params_dtype,
        "verdict": signature.verdict,
        "refused": signature.refused,
        "rounds": signature.rounds,
        "state_parts": signature.state_parts,
        "state_seen": signature.state_seen,
        "data": signature.data,
        "notes": signature.notes,
        "call": _recorded(signature.call),
        "raises": _later_error(signature.raises),
        "loop_error": signature.loop_error,
        "compilations": signature.compilations,
        "counters": [
            {
                "leaf": counter.leaf,
                "dtype": counter.dtype,
                "fate": counter.fate.value,
                "increment": counter.increment,
                "conditional": counter.conditional,
                "start": counter.start,
                "limit": counter.limit,
                "calls": counter.calls,
                "inexact_after": counter.inexact_after,
                "seconds": counter.seconds(signature.calls_per_second),
            }
            for counter in signature.counters
        ],
        "leaves": [
            {
                "path": leaf.path,
                "dtype_in": leaf.dtype_in,
                "dtype_out": leaf.dtype_out,
                "shape_in": leaf.shape_in,
                "shape_out": leaf.shape_out,
                "weak_in": leaf.weak_in,
                "weak_out": leaf.weak_out,
            }
            for leaf in signature.leaves
        ],
    }


def _recorded(call: Recorded | None) -> dict[str, Any] | None:
    if call is None:
        return None
    return {
        "name": call.name,
        "file": call.file,
        "line": call.line,
        "kind": call.kind,
        "calls": call.calls,
        "others": call.others,
        "missed": call.missed,
        "compiled": call.compiled,
    }


def _later_error(error: LaterError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {"call": error.call, "message": error.message, "file": error.file, "line": error.line}


def _setting(setting: Setting) -> dict[str, Any]:
    return {
        "means": setting.means.value,
        "key": setting.key,
        "value": setting.value,
        "because": setting.because,
        "reason": setting.reason,
        "price": setting.price,
        **({"this_machine": True} if setting.this_machine else {}),
    }


def _prescription(prescription: Prescription) -> dict[str, Any]:
    return {
        "settings": [_setting(setting) for setting in prescription.settings],
        "reach": prescription.reach,
        "conflicts": prescription.conflicts,
        "removals": prescription.removals,
        **({"instead": prescription.instead} if prescription.instead else {}),
        **({"unjudged": prescription.unjudged} if prescription.unjudged else {}),
    }
