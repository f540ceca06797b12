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
