"""Pointers in place of weights."""

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.integrity.pointer_not_data import pointer_not_data
from tests.builders import checkpoint, judged


def test_the_fault_is_told_where_it_is():
    fault = Fault(
        kind="pointer-not-data",
        message="cut",
        path="run/1/part",
        leaf="w",
        evidence={"at": 3},
    )

    (finding,) = judged(pointer_not_data, checkpoint(faults=(fault,), step=1))

    assert finding.severity is Severity.ERROR
    assert (finding.location.path, finding.location.leaf) == ("run/1/part", "w")
    assert (finding.message, finding.evidence) == ("cut", {"at": 3})


def test_other_faults_are_left_to_their_rules():
    assert not judged(pointer_not_data, checkpoint(faults=(Fault(kind="unsupported-leaf", message="other"),)))
