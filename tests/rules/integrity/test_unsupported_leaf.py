"""Leaves that were not judged."""

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.integrity.unsupported_leaf import unsupported_leaf
from tests.builders import checkpoint, judged, leaf


def test_a_leaf_that_cannot_be_read_is_said_once():
    fault = Fault(kind="unsupported-leaf", message="blosc2 is not read", leaf="w")
    saved = checkpoint(leaf("w", unsupported="blosc2 is not read"), leaf("b"), faults=(fault,))

    (finding,) = judged(unsupported_leaf, saved)

    assert (finding.severity, finding.location.leaf) == (Severity.NOTE, "w")


def test_a_leaf_says_so_itself():
    (finding,) = judged(unsupported_leaf, checkpoint(leaf("w", "unknown", unsupported="an object array")))

    assert finding.message == "an object array"


def test_leaves_that_were_read_are_not_mentioned():
    assert not judged(unsupported_leaf, checkpoint(leaf("w"), leaf("b")))


def test_leaves_of_one_reason_are_one_note():
    leaves = [leaf(f"dct_{index}", "unknown", unsupported="its elements are <f16") for index in range(5)]

    (finding,) = judged(unsupported_leaf, checkpoint(*leaves))

    assert finding.message == "its elements are <f16; so it is with 4 other leaves"


def test_a_leaf_that_another_fault_names_is_not_told_twice():
    fault = Fault(kind="missing-file", message="the array is named and not stored", leaf="w")
    saved = checkpoint(leaf("w", unsupported="the array is named and not stored"), faults=(fault,))

    assert not judged(unsupported_leaf, saved)


def test_types_without_numbers_are_one_note():
    """Text, dates and records of one file, however many types they have."""
    types = ("<U2", "<M8[D]", "<U7", "<U2")
    leaves = [
        leaf(f"column_{n}", "unknown", unsupported=f"its elements are {t}") for n, t in enumerate(types)
    ]

    (finding,) = judged(unsupported_leaf, checkpoint(*leaves))

    assert finding.message == "its elements are <U2; 3 other leaves hold no numbers either"
    assert finding.evidence["count"] == 4
