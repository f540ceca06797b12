"""Reports read back from `jaxdoctor.report/1`: what is written again is the same, in every format."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from jaxdoctor.errors import NOTHING_EXAMINED, UnreadableError
from jaxdoctor.facts.attribution import Around, Attribution, Need
from jaxdoctor.facts.bundle_replay import BundleReplay, BundleRun
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.closed_loop import AutoReset, ClosedLoop, Episodes, Mean, OpenLoop, Part
from jaxdoctor.facts.coverage import Coverage
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.delivery import Arithmetic, Delivery
from jaxdoctor.facts.environment import Accelerator, Environment
from jaxdoctor.facts.finding import Finding, Ignored, Location, Reused, Severity, Skipped
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.memory import Memory
from jaxdoctor.facts.node_test import NodeTest
from jaxdoctor.facts.outcome import (
    Compiled,
    Growth,
    Outcome,
    Parting,
    RolledInC,
    SolverEffort,
    StepInC,
    Verdict,
)
from jaxdoctor.facts.precision import Precision, Rounding
from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.facts.recorded import RecordedFailure
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.run import Run
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.signature import Fate, LeafSignature, Signature, UpdateCounter
from jaxdoctor.facts.statistics import Statistics
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.reports.json_writer import SCHEMA

AGAIN = "write it with --format json --output FILE by this version of jaxdoctor"


def read(path: Path) -> Report:
    """The report in a file.

    Raises:
        UnreadableError: it is no report of this schema.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}", hint=AGAIN) from error
    except ValueError as error:
        raise UnreadableError(f"{path} is no JSON report: {error}", hint=AGAIN) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise UnreadableError(f"{path} has the schema {schema!r}, not {SCHEMA!r}", hint=AGAIN)
    try:
        return received(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableError(f"{path} does not fit its schema: {error!r}", hint=AGAIN) from error


def received(document: Mapping[str, Any]) -> Report:
    """The report that a document holds."""
    prescription = document.get("prescription")
    fail_on = document.get("fail_on", "error")
    exit_code = document["exit_code"]
    checkpoints = tuple(map(_checkpoint, document.get("checkpoints", ())))
    return Report(
        command=document["command"],
        subject=document["subject"],
        run=Run(**_known(Run, document["run"])) if "run" in document else None,
        # A report of a version that did not write how many: nothing was examined only where it exits so.
        examined=document.get("examined", 0 if exit_code == NOTHING_EXAMINED else 1),
        environment=_environment(document["environment"]) if "environment" in document else None,
        findings=tuple(map(_finding, document["findings"])),
        tests=tuple(map(_test, document.get("tests", ()))),
        bundles=tuple(map(_bundle, document.get("bundles", ()))),
        standing=tuple(map(_finding, document.get("standing", ()))),
        ignored=tuple(Ignored(_finding(entry), entry["reason"]) for entry in document.get("ignored", ())),
        deliveries=tuple(map(_delivery, document.get("deliveries", ()))),
        outcomes=tuple(_outcomes(document)),
        checkpoints=checkpoints,
        coverage=Coverage(**document["coverage"]) if "coverage" in document else None,
        with_leaves=any("leaves_detail" in entry for entry in document.get("checkpoints", ())),
        series=tuple(_series(entry, checkpoints) for entry in document.get("series", ())),
        signatures=tuple(map(_signature, document.get("signatures", ()))),
        prescription=None if prescription is None else _prescription(prescription),
        skipped=tuple(map(_skipped, document.get("skipped", ()))),
        reused=tuple(Reused(**entry) for entry in document.get("reused", ())),
        allowed=document.get("allowed", {}),
        idle_ignores=tuple(document.get("idle_ignores", ())),
        idle_allowances=tuple(document.get("idle_allowances", ())),
        selected=tuple(document.get("selected", ())),
        strict=document.get("strict", False),
        configured=document.get("configured"),
        configuration_file=document.get("configuration_file"),
        root=document.get("root"),
        partial=document.get("partial", False),
        ended_with=exit_code if document.get("partial") else None,
        fail_on=None if fail_on == "never" else Severity[fail_on.upper()],
    )


def _test(entry: Mapping[str, Any]) -> NodeTest:
    passed = {"pass": True, "fail": False, "unknown": None}[entry["result"]]
    return NodeTest(name=entry["name"], passed=passed, detail=entry["detail"], seconds=entry["seconds"])


def _skipped(entry: Mapping[str, Any]) -> Skipped:
    return Skipped(**{name: value for name, value in entry.items() if name != "allowed"})


def _known(kind: type[Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of an entry that are fields of the type, lists as tuples: a newer version may write more."""
    names = {field.name for field in fields(kind)}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in entry.items()
        if name in names
    }


def _environment(entry: Mapping[str, Any]) -> Environment:
    here = entry.get("here")
    values = {
        **_known(Environment, entry),
        "accelerator": Accelerator(**_known(Accelerator, entry["accelerator"])),
        "here": None if here is None else Accelerator(**_known(Accelerator, here)),
    }
    return Environment(**values)


def _delivery(entry: Mapping[str, Any]) -> Delivery:
    numbers = {
        name: None if entry[name] is None else float(entry[name])
        for name in ("max_relative_error", "milliseconds")
    }
    return Delivery(**{**_known(Delivery, entry), **numbers, "arithmetic": Arithmetic(entry["arithmetic"])})


def _detailed(entry: Mapping[str, Any]) -> Leaf:
    shape = tuple(entry["shape"])
    seen = None
    if entry["nonfinite"] is not None:
        seen = Statistics(
            size=math.prod(shape),
            seen=entry["seen"],
            nan=entry["nonfinite"],
            sampled=entry["counted"],
            zeros=entry["zeros"],
            minimum=entry["minimum"],
            maximum=entry["maximum"],
        )
    return Leaf(
        path=entry["path"], dtype=entry["dtype"], shape=shape, role=Role(entry["role"]), statistics=seen
    )


def _checkpoint(entry: Mapping[str, Any]) -> Checkpoint:
    """Its leaves have a role and a dtype, as many as there were: the file does not say more of them."""
    if "leaves_detail" in entry:
        detailed = tuple(map(_detailed, entry["leaves_detail"]))
        return Checkpoint(**{**_known(Checkpoint, entry), "leaves": detailed})
    leaves = tuple(
        Leaf(path="", dtype=dtype, shape=(), role=Role(role))
        for role, dtypes in entry["dtypes"].items()
        for dtype, number in dtypes.items()
        for _ in range(number)
    )
    calls = {"metadata": {"wanted_calls": entry["wanted_calls"]}} if "wanted_calls" in entry else {}
    return Checkpoint(**{**_known(Checkpoint, entry), **calls, "leaves": leaves})


def _series(entry: Mapping[str, Any], checkpoints: Sequence[Checkpoint]) -> Series:
    """Its checkpoints hold the counters, with the values that the file has."""
    known = {saved.path: saved for saved in checkpoints}
    members = []
    for index, (path, step) in enumerate(zip(entry["checkpoints"], entry["steps"], strict=True)):
        counters = tuple(
            Leaf(
                path=one["leaf"], dtype=one["dtype"], shape=(), role=Role.COUNTER, value=one["values"][index]
            )
            for one in entry["counters"]
            if one["values"][index] is not None
        )
        saved = known.get(path) or Checkpoint(path=path, format="", leaves=())
        members.append(replace(saved, leaves=counters, step=step))
    return Series(path=entry["path"], checkpoints=tuple(members))


def _finding(entry: Mapping[str, Any]) -> Finding:
    return Finding(
        code=entry["code"],
        name=entry["name"],
        severity=Severity[entry["severity"].upper()],
        location=Location(**entry["location"]),
        message=entry["message"],
        evidence=entry["evidence"],
        fix=entry["fix"],
        fingerprint=entry.get("fingerprint"),
        content=entry.get("content_fingerprint"),
    )


def _bundle(entry: Mapping[str, Any]) -> BundleReplay:
    return BundleReplay(
        bundle=entry["bundle"],
        subject=entry["subject"],
        written_by=entry["written_by"],
        precision=entry["precision"],
        replay=entry["replay"],
        step=entry["step"],
        field=entry["field"],
        steps=entry["steps"],
        viewer=entry["viewer"],
        differences={name: (then, here) for name, (then, here) in entry["differences"].items()},
        runs=tuple(
            BundleRun(
                how=run["how"],
                first_bad_step=run["first_bad_step"],
                first_bad_field=run["first_bad_field"],
                left_at=run["left_at"],
                difference=None if run["difference"] is None else float(run["difference"]),
            )
            for run in entry["replays"]
        ),
    )


def _outcomes(document: Mapping[str, Any]) -> list[Outcome]:
    if "verdict" not in document:
        return []
    trials = [_trial(entry) for entry in document.get("trials", ())]
    return [_outcome(entry, trials) for entry in document["rollouts"]]


def _outcome(entry: Mapping[str, Any], trials: Sequence[Trial]) -> Outcome:
    expected = entry.get("expected")
    return Outcome(
        subject=entry["subject"],
        trials=tuple(trial for trial in trials if trial.source == entry["subject"]),
        verdict=Verdict(entry["verdict"]),
        required_bits=entry["required_bits"],
        delivered_bits=entry["delivered_bits"],
        delivered_by=entry.get("delivered_by", "here"),
        reason=entry.get("reason"),
        controls=entry.get("controls"),
        in_c=_in_c(entry),
        steps_in_c=_steps_in_c(entry.get("steps_in_c")),
        timestep=entry.get("timestep"),
        parting=_parting(entry.get("parting")),
        cures=tuple(Cure(**cure) for cure in entry.get("cures", ())),
        warp=None if entry.get("warp") is None else _trial(entry["warp"]),
        xla_flags=entry.get("xla_flags", ""),
        compiled=tuple(Compiled(**run) for run in entry.get("compiled", ())),
        behaviour_bits=entry.get("behaviour_bits"),
        rounded=entry.get("rounded"),
        memory=None if entry.get("memory") is None else Memory(**entry["memory"]),
        timed_on=entry.get("timed_on"),
        float64_rate=entry.get("float64_rate"),
        culprits=tuple(entry.get("culprits", ())),
        attribution=_attribution(entry["attribution"]) if entry.get("attribution") else None,
        error_attribution=(
            _attribution(entry["error_attribution"]) if entry.get("error_attribution") else None
        ),
        own_precision=tuple(entry.get("own_precision", ())),
        expected=None if expected is None else Verdict(expected),
        loop=_loop(entry.get("loop")),
        bundle=RecordedFailure(**entry["bundle"]) if entry.get("bundle") else None,
    )


def _loop(entry: Mapping[str, Any] | None) -> ClosedLoop | None:
    if entry is None:
        return None
    auto = entry.get("auto_reset")
    return ClosedLoop(
        **{
            **_known(ClosedLoop, entry),
            "auto_reset": None if auto is None else AutoReset(**_known(AutoReset, auto)),
            "open_loop": tuple(OpenLoop(**_known(OpenLoop, one)) for one in entry.get("open_loop", ())),
        }
    )


def _episodes(entry: Mapping[str, Any] | None) -> Episodes | None:
    if entry is None:
        return None
    numbers = ("magnitude", "deviations", "farthest")
    return Episodes(
        **{
            **_known(Episodes, entry),
            **{name: _mean(entry[name]) for name in ("returns", "change")},
            **{name: None if entry[name] is None else float(entry[name]) for name in numbers},
            "part": None if entry["part"] is None else Part(entry["part"]),
        }
    )


def _mean(numbers: Sequence[float] | None) -> Mean | None:
    return None if numbers is None else Mean(*map(float, numbers))


def _in_c(entry: Mapping[str, Any]) -> RolledInC:
    written = entry.get("in_c", {})
    solver, growth = written.get("solver"), written.get("growth")
    return RolledInC(
        **{name: value for name, value in written.items() if name not in {"solver", "growth"}},
        warnings=entry.get("warnings", {}),
        solver=None if solver is None else SolverEffort(**solver),
        growth=None if growth is None else Growth(**{**growth, **_pairs(growth, "speeds", "energies")}),
    )


def _pairs(entry: Mapping[str, Any], *names: str) -> dict[str, tuple[float, float]]:
    """Numbers that may be written as "inf"."""
    return {name: (float(entry[name][0]), float(entry[name][1])) for name in names}


def _parting(entry: Mapping[str, Any] | None) -> Parting | None:
    if entry is None:
        return None
    worst = tuple((int(step), int(replay)) for step, replay in entry["worst"])
    return Parting(**{**entry, "worst": worst, "error": float(entry["error"])})


def _steps_in_c(entries: Sequence[Mapping[str, Any]] | None) -> tuple[StepInC, ...] | None:
    if entries is None:
        return None
    return tuple(StepInC(**{**entry, "warnings": tuple(entry["warnings"])}) for entry in entries)


def _trial(entry: Mapping[str, Any]) -> Trial:
    precision = {**entry["precision"], "rounding": Rounding(entry["precision"]["rounding"])}
    fields = {name: value for name, value in entry.items() if name not in {"precision", "kind", "interval"}}
    error, episodes = fields["one_step_error"], fields.pop("episodes", None)
    return Trial(
        **{**fields, "one_step_error": None if error is None else float(error)},
        precision=Precision(**precision),
        episodes=_episodes(episodes),
        kind=Kind(entry["kind"]),
    )


def _signature(entry: Mapping[str, Any]) -> Signature:
    values = {
        **_known(Signature, entry),
        "leaves": tuple(LeafSignature(**{**leaf, **_shapes(leaf)}) for leaf in entry["leaves"]),
        "counters": tuple(map(_counter, entry.get("counters", ()))),
    }
    seconds = [
        counter["calls"] / counter["seconds"]
        for counter in entry.get("counters", ())
        if counter.get("calls") and counter.get("seconds")
    ]
    return Signature(**{**values, "calls_per_second": seconds[0] if seconds else None})


def _counter(entry: Mapping[str, Any]) -> UpdateCounter:
    return UpdateCounter(**{**_known(UpdateCounter, entry), "fate": Fate(entry["fate"])})


def _shapes(leaf: Mapping[str, Any]) -> dict[str, tuple[int, ...] | None]:
    sides = ("shape_in", "shape_out")
    return {side: None if leaf[side] is None else tuple(leaf[side]) for side in sides}


def _prescription(entry: Mapping[str, Any]) -> Prescription:
    return Prescription(
        settings=tuple(
            Setting(
                means=Means(setting["means"]),
                key=str(setting["key"]),
                value=setting["value"],
                because=tuple(setting["because"]),
                reason=str(setting["reason"]),
                price=setting["price"],
                this_machine=setting.get("this_machine", False),
            )
            for setting in entry["settings"]
        ),
        reach=tuple(entry["reach"]),
        conflicts=tuple(entry.get("conflicts", ())),
        removals=tuple(entry.get("removals", ())),
        instead=tuple(entry.get("instead", ())),
        unjudged=tuple(entry.get("unjudged", ())),
    )


def _attribution(entry: Mapping[str, Any]) -> Attribution:
    return Attribution(
        needs=tuple(Need(**need) for need in entry["needs"]),
        others=tuple(tuple(each) for each in entry["others"]),
        unique=entry["unique"],
        replays=entry["replays"],
        hypotheses=entry["hypotheses"],
        products=entry["products"],
        undecided=entry.get("undecided"),
        bound=entry.get("bound"),
        cured=entry.get("cured"),
        around=_around(entry["around"]) if entry.get("around") else None,
    )


def _around(entry: Mapping[str, Any]) -> Around:
    return Around(
        functions=tuple(entry["functions"]),
        beyond=tuple(entry["beyond"]),
        share=entry["share"],
        finite=entry["finite"],
    )
