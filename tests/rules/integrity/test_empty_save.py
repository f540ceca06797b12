"""Folders of saves in which nothing is."""

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.integrity.empty_save import empty_save
from tests.builders import checkpoint, judged


def test_the_fault_is_a_finding_with_what_mends_it():
    """The reader's own advice comes before the rule's."""
    plain, advised = (
        Fault(kind="empty-save", message="it is so"),
        Fault(kind="empty-save", message="x", fix="do that"),
    )

    first, second = judged(empty_save, checkpoint(step=3, faults=(plain, advised)))

    assert (first.severity, first.message, first.location.step) == (Severity.ERROR, "it is so", 3)
    assert first.fix == "delete it, and resume from another step"
    assert second.fix == "do that"


def test_other_faults_are_those_of_other_rules():
    assert not judged(empty_save, checkpoint(faults=(Fault(kind="corrupt-data", message="x"),)))
