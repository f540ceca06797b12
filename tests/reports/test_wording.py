from jaxdoctor.facts.finding import Reused
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.wording import summary
from tests.builders import checkpoint


def test_what_is_unchanged_is_counted_as_the_subjects_that_it_is():
    saves = (checkpoint(path="runs/1"), checkpoint(path="runs/2"))
    again = Reused(subject="runs", when="2026-03-01 12:30")
    report = Report(command="preflight", subject="", examined=2, checkpoints=saves, reused=(again,))

    assert summary(report) == "no findings, 2 checkpoints examined (1 subject earlier and unchanged)"
