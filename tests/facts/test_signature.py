"""The fact about an update: changes, verdicts, times."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.signature import Change, spoken
from tests.signatures import counter, leaf, signature


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("float32", "float32", None),
        ("bfloat16", "float32", Change.WIDENS),
        ("float64", "float32", Change.NARROWS),
        ("bfloat16", "float16", Change.CONVERTS),
        ("int32", "float32", Change.CONVERTS),
        ("~int32", "int32", Change.HARDENS),
        ("int32", "~int32", Change.WEAKENS),
        (None, "int32", Change.APPEARS),
        ("int32", None, Change.VANISHES),
    ],
)
def test_the_gravest_change_of_a_leaf_is_told(before, after, change):
    assert leaf("x", before, after).change is change


def test_a_leaf_reads_as_jax_writes_it():
    shown = leaf("x", "~int32", None, shape_in=(2, 3))

    assert (shown.before, shown.after) == ("~int32[2,3]", "absent")


@pytest.mark.parametrize(
    ("fact", "verdict"),
    [
        (signature(leaf("x", "int32", "int32")), "stable"),
        (signature(leaf("x", "~int32", "int32"), rounds=1), "weak type drifts"),
        (signature(leaf("x", "int32", "float32"), rounds=1), "dtype drifts"),
        (signature(leaf("x", "int32", "float32"), rounds=None), "never settles"),
        (signature(leaf("x", None, "float32"), rounds=1), "tree changes"),
        (signature(results=(leaf("w", "bfloat16", "float32"),)), "updates widen"),
        (signature(rounds=None, refused="it raises"), "refuses"),
    ],
)
def test_the_verdict_is_one_phrase(fact, verdict):
    assert fact.verdict == verdict


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "less than a second"),
        (90, "90 seconds"),
        (2148, "36 minutes"),
        (21475, "6 hours"),
        (1e9, "32 years"),
        (1e12, "over 1,000 years"),
    ],
)
def test_times_are_said_in_the_unit_that_people_use(seconds, words):
    assert spoken(seconds) == words


def test_2_to_the_31_steps_at_a_million_a_second_are_36_minutes():
    one_by_one = counter(increment=1, calls=2**31)

    assert one_by_one.when(1e6) == ", after 36 minutes"
    assert one_by_one.urgency(1e6) is Severity.ERROR
