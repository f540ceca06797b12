"""Second moments in 16 bits."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.dtypes.optimizer_narrower import optimizer_narrower
from tests.builders import checkpoint, judged, leaf


def moments(first, second):
    return checkpoint(
        leaf("params/w", "bfloat16", (3,), role="parameter"),
        leaf("opt_state/0/mu/w", first, (3,), role="optimizer"),
        leaf("opt_state/0/nu/w", second, (3,), role="optimizer"),
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_second_moment_of_16_bits_is_told(dtype):
    (finding,) = judged(optimizer_narrower, moments(dtype, dtype))

    assert finding.severity is Severity.WARNING
    assert finding.message == f"1 second moment in {dtype}, the first is opt_state/0/nu/w"


@pytest.mark.parametrize("first", ["float32", "bfloat16"])
def test_float32_second_moments_are_healthy(first):
    """bfloat16 parameters and first moments are choices that Optax supports."""
    assert not judged(optimizer_narrower, moments(first, "float32"))
