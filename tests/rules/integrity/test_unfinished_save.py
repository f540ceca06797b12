"""Saves that nobody finished."""

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.integrity.unfinished_save import unfinished_save
from tests.builders import checkpoint, judged


def test_an_unfinished_save_is_told():
    (finding,) = judged(unfinished_save, checkpoint(finished=False, step=3000))

    assert finding.severity is Severity.WARNING
    assert finding.message == "the save is not finished"
    # It may be alone, or the first of its run.
    assert finding.fix == "resume from another step, if there is one"


def test_what_the_reader_saw_is_said_instead():
    fault = Fault(kind="unfinished-save", message="no manifest")

    (finding,) = judged(unfinished_save, checkpoint(finished=False, faults=(fault,)))

    assert finding.message == "no manifest"


def test_a_finished_save_is_healthy():
    assert not judged(unfinished_save, checkpoint(step=3000))
