"""What Equinox writes: leaves in a row, without names."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers import equinox, npy
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm

READER = equinox.READER


def model():
    layer = eqx.nn.Linear(3, 4, key=jax.random.key(0))
    return {
        "layer": layer,
        "count": jnp.int32(-5),
        "rate": 0.5,
        "half": jnp.ones(3, jnp.bfloat16),
        "flag": True,
    }


@pytest.mark.parametrize("hyperparameters", [None, {"width": 4}])
def test_leaves_in_a_row(tmp_path, hyperparameters):
    """Every record is a leaf; Python's numbers are marked as such, and a JSON line is kept."""
    path = tmp_path / "model.eqx"
    with path.open("wb") as file:
        if hyperparameters is not None:
            file.write((json.dumps(hyperparameters) + "\n").encode())
        eqx.tree_serialise_leaves(file, model())

    assert knows(READER, path)
    checkpoint = checkpoint_of(READER, path, Budget())

    assert checkpoint.faults == ()
    assert checkpoint.metadata.get("hyperparameters") == hyperparameters
    assert [(leaf.path, leaf.dtype, leaf.host_scalar) for leaf in checkpoint.leaves] == [
        ("leaf[0]", "int32", False),
        ("leaf[1]", "bool", True),
        ("leaf[2]", "bfloat16", False),
        ("leaf[3]", "float32", False),
        ("leaf[4]", "float32", False),
        ("leaf[5]", "float64", True),
    ]
    assert next(checkpoint.leaves[0].values.stream()).tolist() == [-5]


def test_one_array_alone_is_no_equinox_file(tmp_path):
    """A single record is an npy file."""
    path = tmp_path / "a.npy"
    np.save(path, np.ones(3))

    assert not knows(READER, path)
    assert knows(npy.READER, path)


def test_a_cut_file_keeps_its_first_leaves(tmp_path):
    """What is whole is judged, what is cut is said."""
    path = tmp_path / "model.eqx"
    eqx.tree_serialise_leaves(path, [jnp.ones(3), jnp.ones(100)])
    path.write_bytes(path.read_bytes()[:-40])

    checkpoint = checkpoint_of(READER, path, Budget())

    assert [fault.kind for fault in checkpoint.faults] == ["truncated-file"]
    assert checkpoint.leaves[0].shape == (3,)


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened, tmp_path_factory):
    """Whatever happens to the bytes, reading ends calmly."""
    original = tmp_path_factory.getbasetemp() / "fuzzed.eqx"
    if not original.exists():
        with original.open("wb") as file:
            file.write(b'{"width": 4}\n')
            eqx.tree_serialise_leaves(file, model())
    with damaged(original, happened) as path:
        insist_calm(READER, path)
