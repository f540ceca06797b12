"""Files that could not be examined."""

import pytest

from jaxdoctor.facts.fault import FAULTS, Fault
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.integrity.unreadable_file import unreadable_file
from jaxdoctor.rules.rule import RULES
from tests.builders import checkpoint, judged


@pytest.mark.parametrize("kind", ["unreadable-file", "something-new"])
def test_a_fault_without_a_rule_of_its_own_is_told(kind):
    """A kind of fault that nobody made a rule for is not lost."""
    (finding,) = judged(unreadable_file, checkpoint(faults=(Fault(kind=kind, message="a FIFO"),)))

    assert (finding.severity, finding.message) == (Severity.ERROR, "a FIFO")


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_every_other_kind_has_a_rule(kind):
    assert kind in RULES.names()
    assert not judged(unreadable_file, checkpoint(faults=(Fault(kind=kind, message="x"),)))
