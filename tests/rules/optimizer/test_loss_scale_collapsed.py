"""Loss scales that have come to nothing."""

import pytest

from jaxdoctor.rules.optimizer.loss_scale_collapsed import loss_scale_collapsed
from tests.builders import checkpoint, judged, leaf


def scale(path, value, *beside):
    return checkpoint(leaf(path, role="other", value=value), *(leaf(one, role="other") for one in beside))


@pytest.mark.parametrize("value", [0.0, 2.0**-40, 1e-38, -1.0])
@pytest.mark.parametrize(
    ("path", "beside"),
    [
        ("grad_scaler/scale", ()),
        ("amp/0/loss_scale", ()),
        ("optimizer_state_dict/loss_scaler/cur_scale", ()),
        ("optimizer/cur_scale", ()),
        ("state/dynamic_scale/scale", ()),
        ("scale", ("growth_factor", "backoff_factor")),
    ],
)
def test_a_scale_of_nothing_is_told(path, beside, value):
    (finding,) = judged(loss_scale_collapsed, scale(path, value, *beside))

    assert finding.location.leaf == path
    assert finding.go_back


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("grad_scaler/scale", 65536.0),
        ("grad_scaler/scale", 1.0),
        ("params/LayerNorm_0/scale", 0.0),
        ("normalizer/scale", 1e-5),
    ],
)
def test_neighbours_are_healthy(path, value):
    """A layer's scale is a parameter, and may be zero."""
    assert not judged(loss_scale_collapsed, scale(path, value))
