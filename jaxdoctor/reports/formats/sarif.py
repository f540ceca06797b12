"""For code scanning: SARIF 2.1.0, https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from jaxdoctor import __version__
from jaxdoctor.facts.finding import Finding, Ignored, Severity, Skipped
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean
from jaxdoctor.reports.fingerprint import fingerprint
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.json_writer import plain
from jaxdoctor.reports.wording import replayable, summary, test_line
from jaxdoctor.rules.pages import rules_of, url
from jaxdoctor.rules.rule import Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
SOURCE_ROOT = "%SRCROOT%"


def _write(report: Report, out: TextIO) -> None:
    everything = [*report.findings, *(ignored.finding for ignored in report.ignored)]
    rules = [_rule(finding, rules_of([finding])) for finding in _firsts(everything)]
    order = {rule["id"]: index for index, rule in enumerate(rules)}
    run = {
        "tool": {"driver": _driver(rules)},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {SOURCE_ROOT: _root(report)},
        "columnKind": "unicodeCodePoints",
        "results": [
            *(_result(finding, report, order) for finding in report.findings),
            *(_suppressed(ignored, report, order) for ignored in report.ignored),
        ],
    }
    json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, out, indent=2, allow_nan=False)
    out.write("\n")


def _root(report: Report) -> dict[str, Any]:
    """What the files' names start from."""
    described: dict[str, Any] = {"description": {"text": "the root of the repository"}}
    if report.root is not None:
        described["uri"] = f"{Path(report.root).as_uri().rstrip('/')}/"
    return described


def _firsts(findings: list[Finding]) -> list[Finding]:
    """One finding of each code, in the order of the codes."""
    return list({finding.code: finding for finding in sorted(findings, key=lambda one: one.code)}.values())


def _driver(rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": "jaxdoctor",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": "https://github.com/jaxdoctor/jaxdoctor",
        "rules": rules,
    }


def _rule(finding: Finding, known: dict[str, Rule]) -> dict[str, Any]:
    """The rule as viewers show it. Of one that this version does not have, only its name is known."""
    described: dict[str, Any] = {"id": finding.code, "name": finding.name}
    rule = known.get(finding.code)
    if rule is None:
        return described
    return {
        **described,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "helpUri": url(rule),
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _invocation(report: Report) -> dict[str, Any]:
    return {
        "executionSuccessful": not report.partial and not report.unjudged and report.examined > 0,
        "exitCode": report.exit_code(report.fail_on),
        "toolExecutionNotifications": [
            *(_notification(skipped, report) for skipped in report.unexamined),
            *(
                {"level": "note" if test.passed else "error", "message": {"text": clean(test_line(test))}}
                for test in report.tests
            ),
            *({"level": "note", "message": {"text": clean(line)}} for line in [replayable(report)] if line),
            {"level": "note", "message": {"text": clean(summary(report))}},
        ],
    }


def _notification(skipped: Skipped, report: Report) -> dict[str, Any]:
    return {
        "level": "error" if skipped in report.unjudged else "warning",
        "message": {"text": clean(f"{skipped.subject} was not examined: {skipped.reason}")},
    }


def _result(finding: Finding, report: Report, order: dict[str, int]) -> dict[str, Any]:
    text = f"{finding.message}. {finding.fix}" if finding.fix else finding.message
    return {
        "ruleId": finding.code,
        "ruleIndex": order[finding.code],
        "level": LEVELS[finding.severity],
        "message": {"text": clean(text)},
        "locations": [_location(finding, report)],
        "partialFingerprints": {
            "jaxdoctor/v2": fingerprint(finding),
            **({} if finding.content is None else {"jaxdoctorContent/v1": finding.content}),
        },
        "properties": {"evidence": plain(finding.evidence), "step": finding.location.step},
    }


def _suppressed(ignored: Ignored, report: Report, order: dict[str, int]) -> dict[str, Any]:
    suppression = {"kind": "external", "status": "accepted", "justification": clean(ignored.reason)}
    return {**_result(ignored.finding, report, order), "suppressions": [suppression]}


def _location(finding: Finding, report: Report) -> dict[str, Any]:
    """GitHub refuses a result without a file: for a machine the configuration stands, or the root."""
    where = finding.location
    file = where.file or report.configuration_file or "."
    line = where.line if where.file is not None else None
    region: dict[str, Any] = {"startLine": line or 1}
    if line is not None and where.source is not None:
        region["snippet"] = {"text": clean(where.source)}
    described: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(file), "region": region}}
    names = [(where.leaf, "member")] if where.leaf is not None else []
    if where.file is None and where.path is not None:
        names.append((where.path, "resource"))
    if names:
        described["logicalLocations"] = [
            {
                "name": clean(name).rpartition("/")[2] or clean(name),
                "fullyQualifiedName": clean(name),
                "kind": kind,
            }
            for name, kind in names
        ]
    return described


def _artifact(path: str) -> dict[str, Any]:
    encoded = quote(path.encode("utf-8", errors="surrogatepass"), safe="/")
    if Path(path).is_absolute():
        return {"uri": f"file://{encoded}"}
    # A colon in the first segment would read as a scheme, so `quote` escapes it.
    return {"uri": encoded, "uriBaseId": SOURCE_ROOT}


FORMAT = Format(write=_write, suffixes=(".sarif", ".sarif.json"), accepts=(".json",))
