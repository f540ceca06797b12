"""A leaf with two dtypes in one run."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.dtypes.dtype_changed import dtype_changed
from tests.builders import checkpoint, judged, leaf, series


def test_a_changed_dtype_is_told():
    run = series(
        checkpoint(leaf("params/w", "float32"), step=1000),
        checkpoint(leaf("params/w", "bfloat16"), step=2000),
    )

    (finding,) = judged(dtype_changed, run)

    assert finding.severity is Severity.WARNING
    assert finding.message == "float32 in run/1000 and bfloat16 in run/2000"


def test_the_same_dtype_is_healthy():
    run = series(*(checkpoint(leaf("params/w"), step=step) for step in (1, 2)))

    assert not judged(dtype_changed, run)


def test_a_python_step_may_become_an_array():
    """A Flax TrainState starts with Python's 0."""
    run = series(
        checkpoint(leaf("step", "int64", host_scalar=True), step=0), checkpoint(leaf("step", "int32"), step=1)
    )

    assert not judged(dtype_changed, run)


def test_leaves_of_one_role_that_changed_alike_are_one_finding():
    before = [leaf(f"layer_{k}/w", role="parameter") for k in range(30)]
    after = [leaf(f"layer_{k}/w", "float16", role="parameter") for k in range(30)]
    moment = [leaf("mu/w", dtype, role="optimizer") for dtype in ("float32", "float16")]
    run = series(checkpoint(*before, moment[0], step=1), checkpoint(*after, moment[1], step=2))

    weights, moments = judged(dtype_changed, run)

    assert weights.message == "float32 in run/1 and float16 in run/2, in 30 leaves"
    assert (weights.evidence["count"], moments.evidence["count"]) == (30, 1)
