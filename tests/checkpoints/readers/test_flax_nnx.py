"""Flax NNX's states, saved by Orbax as its guide says."""

import json
import shutil
import warnings

import numpy as np
import optax
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers import orbax
from jaxdoctor.checkpoints.readers.flax_nnx import READER
from jaxdoctor.facts.leaf import Role
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import orbax.checkpoint as ocp
    from flax import nnx


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small model with dropout and its optimizer."""

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.dense = nnx.Linear(4, 3, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)

    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    path = tmp_path_factory.mktemp("nnx") / "30"
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, {"model": nnx.state(model), "optimizer": nnx.state(optimizer)})
    return path


def test_every_array_is_a_variables_value(saved):
    """Parameters, the optimizer's uint32 step and the random streams' uint32 counts are leaves."""
    checkpoint = checkpoint_of(READER, saved, Budget())
    leaves = {leaf.path: leaf for leaf in checkpoint.leaves}

    assert knows(READER, saved)
    assert (checkpoint.format, checkpoint.step) == ("flax-nnx", 30)
    assert leaves["model/dense/kernel/value"].shape == (4, 3)
    assert leaves["optimizer/step/value"].dtype == "uint32"
    assert leaves["model/dropout/rngs/count/value"].dtype == "uint32"
    assert leaves["model/dropout/rngs/key/value"].role is Role.KEY
    assert checkpoint.faults == ()


def test_an_ordinary_tree_is_not_nnx(tmp_path):
    """One array called otherwise, and it is Orbax's."""
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "1", {"w": {"value": np.zeros(3)}, "b": np.zeros(3)})

    assert not knows(READER, tmp_path / "1")
    assert knows(orbax.READER, tmp_path / "1")


def test_a_broken_tree_is_left_to_orbax(saved, tmp_path):
    """Without a readable tree nothing tells NNX from other trees; hostile nesting in it is no crash."""
    path = shutil.copytree(saved, tmp_path / "1")
    (path / "_METADATA").write_bytes(b"[" * 200_000)

    assert not knows(READER, path)
    assert "model/dense/kernel/value" in {
        leaf.path for leaf in checkpoint_of(orbax.READER, path, Budget()).leaves
    }


def test_a_name_that_leaves_the_folder_is_hostile(saved, tmp_path):
    """The tree's keys are names in the store, never paths."""
    path = shutil.copytree(saved, tmp_path / "1")
    meta = json.loads((path / "_METADATA").read_text())
    meta["tree_metadata"]["evil"] = {
        "key_metadata": [{"key": "/etc/passwd", "key_type": 2}],
        "value_metadata": {"value_type": "np.ndarray", "skip_deserialize": False},
    }
    (path / "_METADATA").write_text(json.dumps(meta))

    assert [fault.kind for fault in checkpoint_of(READER, path, Budget()).faults] == ["hostile-content"]


def test_damage_of_any_kind_is_calmly_told(saved):
    """Whatever happens to a file of the checkpoint, only our own error comes out."""

    @CALM
    @given(damage())
    def survive(happened):
        with damaged(saved, happened) as path:
            insist_calm(READER, path)

    survive()
