"""One tensor in two files."""

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.integrity.tensor_stored_twice import tensor_stored_twice
from tests.builders import checkpoint, judged


def test_the_fault_is_a_finding_with_what_mends_it():
    """The reader's own advice comes before the rule's."""
    plain, advised = (
        Fault(kind="tensor-stored-twice", message="it is so"),
        Fault(kind="tensor-stored-twice", message="x", fix="do that"),
    )

    first, second = judged(tensor_stored_twice, checkpoint(step=3, faults=(plain, advised)))

    assert (first.severity, first.message, first.location.step) == (Severity.WARNING, "it is so", 3)
    assert first.fix
    assert second.fix == "do that"


def test_other_faults_are_those_of_other_rules():
    assert not judged(tensor_stored_twice, checkpoint(faults=(Fault(kind="corrupt-data", message="x"),)))
