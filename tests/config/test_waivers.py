"""What counts: select, severity and ignore."""

from dataclasses import replace
from pathlib import Path

import pytest

from jaxdoctor.config.settings import Allowance, Config, Waiver
from jaxdoctor.config.waivers import idle_allowances, weighed
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Finding, Location, Severity, Skipped
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.wording import summary


def finding(code="JD301", name="nonfinite-values", path="run/100", leaf="w", message="1 of 3", **rest):
    return Finding(
        code=code,
        name=name,
        severity=Severity.ERROR,
        location=Location(path=path, leaf=leaf),
        message=message,
        **rest,
    )


def report(*findings):
    return Report(command="preflight", subject="x", examined=1, findings=findings)


def codes(weighed_report):
    return [one.code for one in weighed_report.findings]


@pytest.mark.parametrize(
    ("select", "left"),
    [
        ((), ["JD301", "JD101"]),
        (("JD3",), ["JD301"]),
        (("jd101",), ["JD101"]),
        (("nonfinite_values",), ["JD301"]),
    ],
)
def test_only_what_is_selected_counts(select, left):
    both = report(finding(), finding(code="JD101", name="tf32-by-default"))

    assert codes(weighed(both, Config(select=select))) == left


def test_the_last_word_on_a_severity_wins():
    config = Config(severity={"JD3": "note", "JD301": "warning"})

    (weighted,) = weighed(report(finding()), config).findings

    assert weighted.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("waiver", "ignored"),
    [
        ({"rule": "JD301"}, True),
        ({"rule": "JD3", "path": "run/*"}, True),
        ({"rule": "JD301", "path": "other/*"}, False),
        ({"rule": "JD301", "leaf": "b*"}, False),
        ({"rule": "JD302"}, False),
    ],
)
def test_what_is_ignored_is_kept_with_its_reason(waiver, ignored):
    found = weighed(report(finding()), Config(ignore=(Waiver(reason="memory", **waiver),)))

    assert len(found.findings) == (not ignored)
    assert [one.reason for one in found.ignored] == ["memory"] * ignored
    assert found.exit_code(Severity.ERROR) == (not ignored)


def hostile(path="run/100"):
    return finding(code="JD336", name="hostile-content", path=path)


@pytest.mark.parametrize(
    "config",
    [
        Config(ignore=(Waiver(rule="JD3", reason="all of them"),)),
        Config(ignore=(Waiver(rule="JD336", path="*", reason="anywhere"),)),
        Config(select=("JD1",)),
        Config(severity={"JD336": "note"}),
    ],
    ids=["a wide rule", "a path that says nothing", "not selected", "made a note"],
)
def test_hostile_content_is_not_waved_through(config):
    (found,) = weighed(report(hostile()), config).findings

    assert found.severity is Severity.ERROR


def test_hostile_content_is_ignored_with_a_path_and_a_reason(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    waiver = Waiver(rule="JD336", path="run/*", reason="our own pickles, read in March")

    found = weighed(report(hostile(), hostile("other/100")), Config(ignore=(waiver,)))

    assert [one.location.path for one in found.findings] == ["other/100"]
    assert [one.reason for one in found.ignored] == ["our own pickles, read in March"]


def test_a_path_starts_from_the_configuration_whatever_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "sub" / "runs").mkdir(parents=True)
    (tmp_path / "sub" / "runs" / "x.npz").touch()
    config = Config(
        path=tmp_path / "sub" / "jaxdoctor.yaml", ignore=(Waiver(rule="JD3", path="runs", reason="r"),)
    )

    for folder, seen in ((tmp_path, "sub/runs/x.npz"), (tmp_path / "sub", "runs/x.npz")):
        monkeypatch.chdir(folder)

        assert weighed(report(finding(path=seen)), config).findings == ()


def test_what_may_stay_unknown_is_named_with_its_reason():
    both = Report(
        command="preflight",
        subject="x",
        examined=0,
        skipped=(Skipped(subject="big.xml on a100", reason="hung", asked=True),),
        outcomes=(Outcome(subject="rope", trials=(), verdict=Verdict.UNKNOWN, reason="out of memory"),),
    )
    allow = (Allowance(subject="big.xml*", reason="too slow for CI"),)

    found = weighed(both, Config(allow_unknown=allow))

    assert found.allowed == {"big.xml on a100": "too slow for CI"}
    assert [one.subject for one in found.unjudged] == ["rope"]
    assert found.exit_code(Severity.ERROR) == 3
    assert (
        weighed(both, Config(allow_unknown=(*allow, Allowance(subject="rope", reason="r")))).exit_code(None)
        == 0
    )


def test_an_entry_that_no_finding_fits_is_said():
    """For a whole project: one command sees a part of it, and says nothing of a configuration."""
    fits, idle = Waiver(rule="JD301", reason="x"), Waiver(rule="JD304", path="runs/*", reason="y")
    config = Config(ignore=(fits, idle), path=Path("jaxdoctor.yaml"))

    assert weighed(report(finding()), config).idle_ignores == ("JD304:runs/*",)
    assert weighed(replace(report(finding()), command="scan-checkpoint"), config).idle_ignores == ()


def test_a_selection_about_something_else_is_no_success():
    """Rules about updates judge no checkpoint: the scan found nothing because nobody looked."""
    scanned = replace(report(), checkpoints=(Checkpoint(path="run/1", format="npz", leaves=()),))

    found = weighed(scanned, Config(select=("JD5",)))

    assert [one.subject for one in found.unjudged] == ["checkpoints"]
    assert found.exit_code(Severity.ERROR) == 3
    assert summary(found).startswith("no findings (JD5 selected), ")
    assert weighed(scanned, Config(select=("JD5", "JD301"))).exit_code(Severity.ERROR) == 0


def test_what_may_stay_unknown_and_is_not_there_is_said():
    entries = ("./runs/*", "runs/old/x", "big.xml", "bgi.xml", "runs2/x")
    config = Config(allow_unknown=tuple(Allowance(subject=one, reason="r") for one in entries))

    assert idle_allowances(config, ["runs", "runs/a", "big.xml"]) == ("bgi.xml", "runs2/x")
