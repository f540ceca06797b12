"""Orbax checkpoints as older versions wrote them: see tests/fixtures/make_orbax_checkpoints.py."""

import shutil

import numpy as np
import pytest

from jaxdoctor.checkpoints.readers.orbax import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.paths import FIXTURES

VERSIONS = ("orbax_0_4_8", "orbax_0_6_4", "orbax_0_11_30")

EXPECTED = {
    "opt/0/count": ("int32", ()),
    "opt/1/zeros": ("float32", (5,)),
    "params/b": ("bfloat16", (3,)),
    "params/w": ("float32", (4, 3)),
    "rate": ("float64", ()),
    "samples": ("int64", (3,)),
    "step": ("int64", ()),
}


@pytest.fixture(scope="module", params=VERSIONS)
def written(request, tmp_path_factory):
    """What one version wrote."""
    folder = tmp_path_factory.mktemp(request.param)
    shutil.unpack_archive(FIXTURES / f"{request.param}.zip", folder)
    return folder


@pytest.mark.parametrize("layout", ["ocdbt", "files", "aggregate"])
def test_every_layout_gives_the_same_leaves(written, layout):
    """Folders of zarr, OCDBT and the msgpack file hold the same tree."""
    checkpoint = checkpoint_of(READER, written / layout, Budget())
    leaves = {leaf.path: leaf for leaf in checkpoint.leaves}

    assert knows(READER, written / layout)
    assert {path: (leaf.dtype, leaf.shape) for path, leaf in leaves.items()} == EXPECTED
    assert {path for path, leaf in leaves.items() if leaf.host_scalar} == {"rate", "step"}
    assert checkpoint.faults == ()
    assert checkpoint.finished


@pytest.mark.parametrize("layout", ["ocdbt", "files", "aggregate"])
def test_values_are_what_was_saved(written, layout):
    """Python numbers stand in the tree's own file or in arrays; arrays come in their own dtype."""
    leaves = {leaf.path: leaf for leaf in checkpoint_of(READER, written / layout, Budget()).leaves}

    found = {}
    for path, leaf in leaves.items():
        found[path] = (
            leaf.value if leaf.values is None else np.concatenate(list(leaf.values.stream())).tolist()
        )

    assert found["step"] in (7, [7])
    assert found["rate"] in (0.125, [0.125])
    assert found["params/b"] == [1.5] * 3
    assert found["opt/0/count"] == [3]
    assert found["opt/1/zeros"] == [0.0] * 5
    assert found["samples"] == [0, 1, 2]


def test_a_step_is_found_by_its_name(written):
    """Before 0.6 nothing but the number marks a step of a run."""
    checkpoint = checkpoint_of(READER, written / "run" / "5", Budget())

    assert knows(READER, written / "run" / "5")
    assert not knows(READER, written / "run")
    assert not knows(READER, written)
    assert {leaf.path for leaf in checkpoint.leaves} == {f"state/{path}" for path in EXPECTED}
    assert checkpoint.metadata["extra"] == {"seed": 1}
    assert checkpoint.step == 5


def test_a_folder_of_checkpoints_is_no_step(written, tmp_path):
    """A run whose name ends in a number and whose saves have names of their own is not one checkpoint."""
    for name in ("best", "last"):
        shutil.copytree(written / "ocdbt", tmp_path / "run_1" / name)
    (tmp_path / "run_1" / "logs").mkdir()

    assert not knows(READER, tmp_path / "run_1")


def test_a_placeholder_that_points_outside_is_hostile(tmp_path):
    """The msgpack file of older versions names arrays by name, which must be one of the checkpoint's own."""
    import msgpack

    (tmp_path / "1").mkdir()
    packed = msgpack.packb({"w": "PLACEHOLDER:///etc/passwd", "v": "PLACEHOLDER://gone", "step": 3})
    (tmp_path / "1" / "checkpoint").write_bytes(packed)

    checkpoint = checkpoint_of(READER, tmp_path / "1", Budget())

    assert {(fault.kind, fault.leaf) for fault in checkpoint.faults} == {
        ("hostile-content", "w"),
        ("missing-file", "v"),
    }
    assert [leaf.value for leaf in checkpoint.leaves] == [3]


def test_tensorflows_checkpoint_file_is_not_taken_for_one(tmp_path):
    """TensorFlow writes a text file of the same name."""
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model-1"\n')

    assert not knows(READER, tmp_path)
