"""MaxText's steps, written by Orbax with the settings that MaxText uses."""

import os
import shutil
import warnings

import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers.maxtext import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import orbax.checkpoint as ocp


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One step with the item `items` in zarr 3, and Grain's iterator beside it."""
    folder = tmp_path_factory.mktemp("maxtext")
    handlers = {"items": ocp.PyTreeCheckpointHandler(use_ocdbt=True, use_zarr3=True)}
    with ocp.CheckpointManager(folder, item_handlers=handlers) as manager:
        state = {"params": {"w": np.ones((4, 4), np.float32)}, "step": np.int32(9)}
        manager.save(9, args=ocp.args.Composite(items=ocp.args.PyTreeSave(state)))
        manager.wait_until_finished()
    (folder / "9" / "iter").mkdir()
    (folder / "9" / "iter" / "process_0-of-1.json").write_text("{}")
    return folder / "9"


def test_the_state_stands_without_the_items_name(saved):
    """`items` says nothing about what is in it."""
    checkpoint = checkpoint_of(READER, saved, Budget())

    assert knows(READER, saved)
    assert not knows(READER, saved.parent)
    assert not knows(READER, saved / "items")
    assert (checkpoint.format, checkpoint.step) == ("maxtext", 9)
    assert {leaf.path: leaf.dtype for leaf in checkpoint.leaves} == {"params/w": "float32", "step": "int32"}
    assert checkpoint.leaves[0].values.sample(1000).tolist() == [1.0] * 16
    assert checkpoint.faults == ()


def test_a_cut_index_is_truncated(saved, tmp_path):
    """The merged B-tree is cut; the process's own is read instead."""
    path = shutil.copytree(saved, tmp_path / "9")
    (node,) = (path / "items" / "d").iterdir()
    os.truncate(node, node.stat().st_size - 9)

    checkpoint = checkpoint_of(READER, path, Budget())

    assert [fault.kind for fault in checkpoint.faults] == ["truncated-file"]
    assert len(checkpoint.leaves) == 2


def test_a_data_file_that_is_a_link_out_is_hostile(saved, tmp_path):
    """A data file must be the checkpoint's own."""
    path = shutil.copytree(saved, tmp_path / "9")
    (node,) = (path / "items" / "d").iterdir()
    node.rename(tmp_path / "elsewhere")
    node.symlink_to(tmp_path / "elsewhere")

    kinds = [fault.kind for fault in checkpoint_of(READER, path, Budget()).faults]

    assert kinds == ["hostile-content", "hostile-content"]


def test_damage_of_any_kind_is_calmly_told(saved):
    """Whatever happens to a file of the checkpoint, only our own error comes out."""

    @CALM
    @given(damage())
    def survive(happened):
        with damaged(saved, happened) as path:
            insist_calm(READER, path)

    survive()
