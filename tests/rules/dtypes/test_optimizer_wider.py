"""float64 state over narrower parameters."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.dtypes.optimizer_wider import optimizer_wider
from tests.builders import checkpoint, judged, leaf


def state(parameter, moment, **fields):
    return checkpoint(
        leaf("params/w", parameter, (3,), role="parameter"),
        leaf("opt_state/0/info/decrease_error", moment, role="optimizer", **fields),
    )


@pytest.mark.parametrize("parameter", ["float16", "float32"])
def test_float64_over_narrower_parameters_is_told(parameter):
    (finding,) = judged(optimizer_wider, state(parameter, "float64"))

    assert finding.severity is Severity.WARNING
    assert f"1 float64 leaf in the optimizer over {parameter} parameters" in finding.message


@pytest.mark.parametrize(
    "saved",
    [
        state("float64", "float64"),
        state("bfloat16", "float32"),
        state("float32", "float64", host_scalar=True),
    ],
    ids=["all x64", "float32 over bfloat16", "Python number"],
)
def test_neighbours_are_healthy(saved):
    assert not judged(optimizer_wider, saved)
