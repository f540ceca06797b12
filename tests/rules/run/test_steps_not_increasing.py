"""Steps that go backwards in time."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.steps_not_increasing import steps_not_increasing
from tests.builders import checkpoint, judged, series


def log(*steps):
    return series(checkpoint(step=steps[-1], metadata={"logged_steps": list(steps)}))


def test_a_log_that_falls_is_told():
    (finding,) = judged(steps_not_increasing, log(500, 1000, 500, 1000))

    assert finding.severity is Severity.WARNING
    assert finding.message == "the log falls from step 1000 to step 500"


def test_two_entries_of_one_step_are_healthy():
    assert not judged(steps_not_increasing, log(500, 500, 1000, 1000))


def test_a_lower_step_saved_later_is_a_note():
    """A run that was resumed looks the same."""
    run = series(checkpoint(step=1000, saved_at=1.0), checkpoint(step=500, saved_at=2.0))

    (finding,) = judged(steps_not_increasing, run)

    assert finding.severity is Severity.NOTE
    assert finding.message == "step 500 was saved after step 1000"


def test_a_negative_step_is_left_to_the_rule_of_wraps():
    run = series(checkpoint(step=2000683008, saved_at=1.0), checkpoint(step=-1627389952, saved_at=2.0))

    assert not judged(steps_not_increasing, run)
