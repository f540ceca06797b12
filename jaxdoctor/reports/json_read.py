"""Reports read back from `jaxdoctor.report/1`, as far as merging and comparing needs them.

Leaves of checkpoints are not in the file, so checkpoints and series are not read back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.finding import Finding, Ignored, Location, Severity, Skipped
from jaxdoctor.facts.outcome import Outcome, RolledInC, Verdict
from jaxdoctor.facts.precision import Precision, Rounding
from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.signature import LeafSignature, Signature
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.reports.json_written import SCHEMA

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
    """The report that a document tells of."""
    prescription = document.get("prescription")
    return Report(
        command=document["command"],
        subject=document["subject"],
        examined=0 if document["exit_code"] == 3 else 1,  # noqa: PLR2004 (nothing was examined)
        findings=tuple(map(_finding, document["findings"])),
        ignored=tuple(Ignored(_finding(entry), entry["reason"]) for entry in document.get("ignored", ())),
        outcomes=tuple(_outcomes(document)),
        signatures=tuple(map(_signature, document.get("signatures", ()))),
        prescription=None if prescription is None else _prescription(prescription),
        skipped=tuple(Skipped(**entry) for entry in document.get("skipped", ())),
        partial=document.get("partial", False),
    )


def _finding(entry: Mapping[str, Any]) -> Finding:
    return Finding(
        code=entry["code"],
        name=entry["name"],
        severity=Severity[entry["severity"].upper()],
        location=Location(**entry["location"]),
        message=entry["message"],
        evidence=entry["evidence"],
        fix=entry["fix"],
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
        in_c=RolledInC(warnings=entry.get("warnings", {})),
        culprits=tuple(entry.get("culprits", ())),
        own_precision=tuple(entry.get("own_precision", ())),
        expected=None if expected is None else Verdict(expected),
    )


def _trial(entry: Mapping[str, Any]) -> Trial:
    precision = {**entry["precision"], "rounding": Rounding(entry["precision"]["rounding"])}
    fields = {name: value for name, value in entry.items() if name not in {"precision", "kind", "interval"}}
    error = fields["one_step_error"]
    return Trial(
        **{**fields, "one_step_error": None if error is None else float(error)},
        precision=Precision(**precision),
        kind=Kind(entry["kind"]),
    )


def _signature(entry: Mapping[str, Any]) -> Signature:
    leaves = tuple(LeafSignature(**{**leaf, **_shapes(leaf)}) for leaf in entry["leaves"])
    return Signature(target=entry["target"], rounds=entry["rounds"], leaves=leaves)


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
            )
            for setting in entry["settings"]
        ),
        reach=tuple(entry["reach"]),
        conflicts=tuple(entry.get("conflicts", ())),
        removals=tuple(entry.get("removals", ())),
    )
