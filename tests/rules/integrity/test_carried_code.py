"""What a pickle names beside plain state."""

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.integrity.carried_code import carried_code
from tests.builders import checkpoint, judged


def test_the_fault_is_reported_where_it_is():
    fault = Fault(kind="carried-code", message="names", path="run/1/part", evidence={"names": {"a:B": 3}})

    (finding,) = judged(carried_code, checkpoint(faults=(fault,), step=1))

    assert finding.severity is Severity.WARNING
    assert finding.location.path == "run/1/part"
    assert (finding.message, finding.evidence) == ("names", {"names": {"a:B": 3}})


def test_other_faults_are_left_to_their_rules():
    assert not judged(carried_code, checkpoint(faults=(Fault(kind="hostile-content", message="other"),)))
