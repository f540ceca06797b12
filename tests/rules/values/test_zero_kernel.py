"""Kernels that are zero where their neighbours are not."""

import dataclasses

import numpy as np
import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.values.zero_kernel import zero_kernel
from tests.builders import checkpoint, judged, leaf, scanned

ZERO = {"minimum": 0.0, "maximum": 0.0}
ALIVE = {"minimum": -1.0, "maximum": 1.0}


def model(*arrays, step=1000):
    """Three kernels that are alive, and these: path to statistics."""
    alive = [(f"params/alive_{index}/kernel", ALIVE) for index in range(3)]
    leaves = [leaf(path, shape=(16, 8), role="parameter", seen=seen) for path, seen in (*alive, *arrays)]
    return checkpoint(*leaves, step=step)


def test_a_zero_kernel_is_told():
    (finding,) = judged(zero_kernel, model(("params/hidden/kernel", ZERO)))

    assert finding.severity is Severity.WARNING
    assert finding.message == "all 128 values of params/hidden/kernel are zero; 3 other kernels are not"
    assert finding.go_back


@pytest.mark.parametrize(
    "path",
    [
        "params/hidden/bias",
        "params/layers/0/q_proj/lora_B",
        "params/attention/mask",
        "params/token_embedding/kernel",
        "params/zero_conv/kernel",
    ],
)
def test_arrays_that_may_be_zero_are_healthy(path):
    assert not judged(zero_kernel, model((path, ZERO)))


def test_the_beginning_is_healthy():
    """An output layer that starts at zero has moved after the first update."""
    assert not judged(zero_kernel, model(("params/head/kernel", ZERO), step=0))


def test_a_layer_that_is_zero_in_every_block_is_by_design():
    blocks = [(f"params/block_{index}/gate/kernel", ZERO) for index in range(2)]

    assert not judged(zero_kernel, model(*blocks))


@pytest.mark.parametrize(("updates", "found"), [(0, 0), (1, 0), (40, 1)])
def test_updates_that_are_gathered_count_once(updates, found):
    """`optax.MultiSteps` changes nothing for many a step."""
    early = model(("params/head/kernel", ZERO), step=400)
    values = {"opt/gradient_step": updates, "step": 400}
    counts = (leaf(path, "int32", role="counter", value=value) for path, value in values.items())
    saved = dataclasses.replace(early, leaves=(*early.leaves, *counts))

    assert len(judged(zero_kernel, saved)) == found


@pytest.mark.parametrize(("step", "found"), [(None, 0), (5000, 1)])
def test_beside_one_neighbour_the_step_must_tell_that_it_was_trained(step, found):
    shapes = {"params/a/kernel": ALIVE, "params/b/kernel": ZERO}
    pair = [leaf(path, shape=(16, 8), role="parameter", seen=seen) for path, seen in shapes.items()]

    assert len(judged(zero_kernel, checkpoint(*pair, step=step))) == found


def test_a_lost_layer_of_a_real_file_is_found(tmp_path):
    """Written by NumPy, larger than what is read whole."""
    random = np.random.default_rng(3)
    arrays = {f"layer_{index}/w": random.normal(size=(300, 200)).astype("float32") for index in range(4)}
    np.savez(tmp_path / "good.npz", **arrays)
    np.savez(tmp_path / "bad.npz", **arrays | {"layer_2/w": np.zeros((300, 200), "float32")})

    assert scanned(tmp_path / "good.npz") == ()
    assert [finding.name for finding in scanned(tmp_path / "bad.npz")] == ["zero-kernel"]
