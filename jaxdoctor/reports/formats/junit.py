"""For test tabs: JUnit XML, one case for each finding and one for each subject that is well."""

from __future__ import annotations

from typing import TextIO
from xml.etree import ElementTree as ET

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.wording import evidence, headline, place, replayable, summary, test_line


def _write(report: Report, out: TextIO) -> None:
    suite = ET.Element("testsuite", name=clean(f"jaxdoctor {report.command}"))
    failures = 0
    for finding in report.findings:
        failures += _finding(finding, report, suite)
    for test in report.tests:
        case = ET.SubElement(suite, "testcase", classname=clean(report.subject), name=clean(test.name))
        if test.seconds is not None:
            case.set("time", f"{test.seconds:.3f}")
        if test.passed is False:
            failures += 1
            ET.SubElement(case, "failure", message=clean(test.detail))
        else:
            ET.SubElement(case, "system-out").text = clean(test_line(test))
    for ignored in report.ignored:
        case = _case(ignored.finding, report, suite)
        ET.SubElement(case, "skipped", message=clean(f"ignored: {ignored.reason}"))
    unjudged = set(report.unjudged)
    for skipped in report.unexamined:
        case = ET.SubElement(suite, "testcase", classname=clean(skipped.subject), name="examined")
        kind = "error" if skipped in unjudged else "skipped"
        ET.SubElement(case, kind, message=clean(f"not examined: {skipped.reason}"))
    for subject in _well(report):
        ET.SubElement(suite, "testcase", classname=clean(subject), name="examined")
    cases = len(suite)
    left_out = len(report.ignored) + len(report.unexamined) - len(unjudged)
    numbers = {
        "tests": str(cases),
        "failures": str(failures),
        "errors": str(len(unjudged)),
        "skipped": str(left_out),
    }
    root = ET.Element("testsuites", name="jaxdoctor")
    root.append(suite)
    for name, value in numbers.items():
        root.set(name, value)
        suite.set(name, value)
    said = [line for line in (replayable(report), summary(report)) if line is not None]
    ET.SubElement(suite, "system-out").text = "\n".join(map(clean, said))
    ET.indent(root)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(ET.tostring(root, encoding="unicode") + "\n")


def _finding(finding: Finding, report: Report, suite: ET.Element) -> bool:
    """A case that fails from `--fail-on` up, and passes with its message below that."""
    case = _case(finding, report, suite)
    text = "\n".join(line for line in _lines(finding) if line)
    fails = report.fail_on is not None and finding.severity >= report.fail_on
    if fails:
        failure = ET.SubElement(case, "failure", message=clean(finding.message), type=finding.severity.word)
        failure.text = text
    else:
        ET.SubElement(case, "system-out").text = text
    return fails


def _lines(finding: Finding) -> tuple[str, ...]:
    where, seen = clean(place(finding.location)), clean(evidence(finding.evidence))
    return (
        clean(headline(finding)),
        f"at {where}" if where else "",
        f"fix: {clean(finding.fix)}" if finding.fix else "",
        f"evidence: {seen}" if seen else "",
    )


def _case(finding: Finding, report: Report, suite: ET.Element) -> ET.Element:
    leaf = f" {finding.location.leaf}" if finding.location.leaf else ""
    return ET.SubElement(
        suite,
        "testcase",
        classname=clean(finding.location.path or report.subject),
        name=clean(f"{finding.code} {finding.name}{leaf}"),
    )


def _well(report: Report) -> list[str]:
    """Subjects with a result of their own and no finding."""
    ill = {finding.location.path for finding in report.findings}
    ill |= {one.subject for one in report.unexamined}
    subjects = [
        *(outcome.subject for outcome in report.outcomes),
        *(checkpoint.path for checkpoint in report.checkpoints),
        *(signature.target for signature in report.signatures),
    ]
    return [subject for subject in dict.fromkeys(subjects) if subject not in ill]


FORMAT = Format(write=_write, suffixes=(".xml",))
