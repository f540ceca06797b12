"""Adapters that are as they began."""

import pytest

from jaxdoctor.rules.optimizer.adapter_unchanged import adapter_unchanged
from tests.builders import checkpoint, judged, leaf

ZERO = {"minimum": 0.0, "maximum": 0.0}
ALIVE = {"minimum": -0.1, "maximum": 0.1}


def adapter(*seen, step=500, name="layers.{}.q_proj.lora_B.weight"):
    factors = [
        leaf(f"adapter/{name.format(index)}", shape=(8, 4), role="parameter", seen=one)
        for index, one in enumerate(seen)
    ]
    first = leaf("adapter/layers.0.q_proj.lora_A.weight", shape=(4, 8), role="parameter", seen=ALIVE)
    return checkpoint(first, *factors, step=step)


@pytest.mark.parametrize("name", ["layers.{}.q_proj.lora_B.weight", "unet_{}.lora_up.weight", "h_{}/lora_b"])
def test_an_adapter_without_effect_is_told(name):
    (finding,) = judged(adapter_unchanged, adapter(ZERO, ZERO, name=name))

    assert finding.message == "at step 500 the second factors of all 2 adapters are zero"


@pytest.mark.parametrize(
    "healthy",
    [adapter(ZERO, ZERO, step=None), adapter(ZERO, ZERO, step=0), adapter(ZERO, ALIVE), adapter()],
    ids=["fresh", "at the beginning", "in part", "no factors"],
)
def test_neighbours_are_healthy(healthy):
    assert not judged(adapter_unchanged, healthy)
