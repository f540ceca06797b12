"""NaN and infinity, and the infinities that are meant."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.values.nonfinite_values import nonfinite_values
from tests.builders import checkpoint, judged, leaf


def values(path="params/w", shape=(256,), role="parameter", **seen):
    return checkpoint(leaf(path, shape=shape, role=role, seen=seen), step=5)


def test_nan_is_counted_and_placed():
    (finding,) = judged(nonfinite_values, values(nan=1, positive_infinity=1, first_nonfinite=17))

    assert finding.severity is Severity.ERROR
    assert finding.message == "2 of 256 values are not finite: 1 NaN, 1 infinite, the first at index 17"
    assert (finding.location.leaf, finding.location.step) == ("params/w", 5)


def test_a_sample_is_said_to_be_one():
    (finding,) = judged(nonfinite_values, values(nan=3, seen=100))

    assert finding.message.endswith("3 NaN (a sample of 256)")


def test_finite_values_are_healthy():
    assert not judged(nonfinite_values, values(minimum=-1, maximum=1))


@pytest.mark.parametrize(
    ("path", "role", "shape", "seen"),
    [
        ("params/attention/mask", "parameter", (4, 4), {"negative_infinity": 6, "minimum": 0, "maximum": 0}),
        ("params/causal", "parameter", (4, 4), {"negative_infinity": 6, "minimum": 0, "maximum": 0}),
        ("best_loss", "other", (), {"positive_infinity": 1}),
        ("opt/2/3/1", "optimizer", (), {"positive_infinity": 1}),
        ("opt_state/1/info/decrease_error", "optimizer", (), {"positive_infinity": 1}),
        ("metrics/loss", "metric", (), {"positive_infinity": 1}),
    ],
)
def test_infinities_that_are_meant_are_notes(path, role, shape, seen):
    (finding,) = judged(nonfinite_values, values(path, shape, role, **seen))

    assert finding.severity is Severity.NOTE


def test_nan_in_a_mask_is_an_error_all_the_same():
    (finding,) = judged(nonfinite_values, values("params/mask", nan=1))

    assert finding.severity is Severity.ERROR


def test_infinity_in_a_kernel_is_an_error():
    (finding,) = judged(nonfinite_values, values(positive_infinity=1, minimum=-1, maximum=3))

    assert finding.severity is Severity.ERROR


def test_a_ruined_checkpoint_is_one_finding():
    """All arrays hold NaN: one line, with the numbers by role."""
    leaves = [leaf(f"params/w{index}", shape=(8,), role="parameter", seen={"nan": 8}) for index in range(3)]
    leaves += [leaf(f"opt/m{index}", shape=(8,), role="optimizer", seen={"nan": 2}) for index in range(2)]

    (finding,) = judged(nonfinite_values, checkpoint(*leaves, leaf("step", "int32", role="counter", value=1)))

    assert finding.message == (
        "5 of 5 arrays hold NaN (3 of 3 parameter, 2 of 2 optimizer); 3 of them hold nothing else"
    )
    assert finding.evidence["by_role"] == {"parameter": 3, "optimizer": 2}


def test_a_part_with_nan_is_told_array_by_array():
    leaves = [
        leaf(f"params/w{index}", shape=(8,), role="parameter", seen={"nan": index % 2}) for index in range(8)
    ]

    assert len(judged(nonfinite_values, checkpoint(*leaves))) == 4


def test_tables_hold_what_is_not_finite_on_purpose():
    """Reference values of a library, such as SciPy's: a note."""
    saved = checkpoint(leaf("expint", "float64", (8,), role="parameter", seen={"nan": 3}), layout="npz")

    (finding,) = judged(nonfinite_values, saved)

    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "path", ["observation_space/low", "data/action_space/high", "callbacks/Early{}/best"]
)
def test_bounds_and_the_bookkeeping_of_callbacks_are_not_mentioned(path):
    """Infinity is how a space without bounds is stored; NaN there is still told."""
    assert not judged(nonfinite_values, values(path, (4,), "other", positive_infinity=2))
    assert judged(nonfinite_values, values(path, (4,), "other", nan=1))
