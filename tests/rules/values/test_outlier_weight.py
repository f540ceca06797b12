"""One weight far out among its neighbours."""

import equinox
import jax
import numpy as np
import pytest

from jaxdoctor.rules.values.outlier_weight import outlier_weight
from tests.builders import checkpoint, judged, leaf, scanned


def model(path="params/w", shape=(64, 8), role="parameter", **seen):
    return checkpoint(leaf(path, shape=shape, role=role, seen=seen))


def test_a_million_times_its_neighbours_is_told():
    (finding,) = judged(outlier_weight, model(largest_magnitude=3.4e11, typical=0.21))

    assert finding.message == "the largest magnitude is 3.4e+11, and 99 % of the values are below 0.21"
    assert finding.go_back


@pytest.mark.parametrize(
    "changed",
    [
        {"largest_magnitude": 2e5},
        {"path": "params/embed/table"},
        {"path": "params/bias", "shape": (512,)},
        {"path": "params/attention_mask"},
        {"role": "optimizer"},
        {"typical": 0.0},
        {"shape": (2, 2)},
    ],
)
def test_its_neighbours_are_silent(changed):
    """Within the range, or an array in which rows or entries may differ so."""
    assert not judged(outlier_weight, model(**{"largest_magnitude": 3.4e11, "typical": 0.21} | changed))


def test_a_flipped_bit_in_a_real_file_is_found(tmp_path):
    """The second bit of one exponent, in a network that Equinox wrote."""
    network = equinox.nn.MLP(8, 8, 32, 2, key=jax.random.key(0))
    equinox.tree_serialise_leaves(tmp_path / "good.eqx", network)
    weight = np.array(network.layers[1].weight)
    weight[3, 5] *= 2.0**64
    broken = equinox.tree_at(lambda tree: tree.layers[1].weight, network, jax.numpy.asarray(weight))
    equinox.tree_serialise_leaves(tmp_path / "bad.eqx", broken)

    assert scanned(tmp_path / "good.eqx") == ()
    assert [finding.name for finding in scanned(tmp_path / "bad.eqx")] == ["outlier-weight"]
