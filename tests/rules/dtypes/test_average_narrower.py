"""Averages with fewer bits than what they average."""

import pytest

from jaxdoctor.rules.dtypes.average_narrower import average_narrower
from tests.builders import checkpoint, judged, leaf


def state(average, parameter, tree="ema_params"):
    return checkpoint(
        leaf(f"{tree}/w", average, (4, 4), role="parameter"),
        leaf("params/w", parameter, (4, 4), role="parameter"),
    )


@pytest.mark.parametrize("tree", ["ema_params", "polyak", "swa_model/module"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_narrow_average_is_told(tree, dtype):
    (finding,) = judged(average_narrower, state(dtype, "float32", tree))

    assert finding.message == f"1 leaf of an average is {dtype} over float32 parameters: {tree}/w"


@pytest.mark.parametrize(
    "healthy",
    [state("float32", "bfloat16"), state("float32", "float32"), state("bfloat16", "bfloat16")],
    ids=["wider", "as wide", "all narrow"],
)
def test_neighbours_are_healthy(healthy):
    assert not judged(average_narrower, healthy)
