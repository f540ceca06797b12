"""Layers that hold the same array."""

import jax
import numpy as np
import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.optimizer.one_array import one_array
from tests.builders import checkpoint, judged, leaf, scanned


def kernels(*paths, shape=(16, 8), low=-1.0):
    seen = {"fingerprint": 5, "minimum": low, "maximum": 1.0}
    return checkpoint(*(leaf(path, shape=shape, role="parameter", seen=seen) for path in paths))


def test_equal_kernels_are_a_note():
    (finding,) = judged(one_array, kernels("params/q1/kernel", "params/q2/kernel"))

    assert finding.severity is Severity.NOTE
    assert finding.message == "params/q1/kernel and params/q2/kernel hold the same 128 values"


@pytest.mark.parametrize(
    "healthy",
    [
        kernels("params/q/kernel", "target_params/q/kernel"),
        kernels("params/q/kernel", "ema/q/kernel"),
        kernels("transformer.wte.weight", "lm_head.weight"),
        kernels("params/a/kernel", "params/b/kernel", low=1.0),
        kernels("params/a/kernel", "params/b/kernel", shape=(2, 2)),
        kernels("params/a/bias", "params/b/bias", shape=(128,)),
    ],
    ids=["target", "average", "tied", "constant", "small", "biases"],
)
def test_copies_that_are_meant_are_healthy(healthy):
    assert not judged(one_array, healthy)


def test_two_layers_from_one_key_are_found(tmp_path):
    key, other = jax.random.split(jax.random.key(3))
    for name, second in (("good", other), ("bad", key)):
        arrays = {
            "q1/kernel": np.asarray(jax.random.normal(key, (32, 16))),
            "q2/kernel": np.asarray(jax.random.normal(second, (32, 16))),
        }
        np.savez(tmp_path / f"{name}.npz", **arrays)

    assert scanned(tmp_path / "good.npz") == ()
    assert [finding.name for finding in scanned(tmp_path / "bad.npz")] == ["one-array"]
