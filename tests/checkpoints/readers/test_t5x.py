"""T5X checkpoints, laid out as its Checkpointer does: msgpack with specs, and zarr with gzip beside it.

https://github.com/google-research/t5x/blob/main/t5x/checkpoints.py
"""

import json
import os
import warnings

import numpy as np
import pytest
import tensorstore
from hypothesis import given

from jaxdoctor.checkpoints.readers import flax_msgpack, orbax
from jaxdoctor.checkpoints.readers.t5x import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from flax import serialization


def spec(name, stored, **kvstore):
    return {
        "driver": "zarr",
        "dtype": str(stored.dtype),
        "kvstore": {"driver": "file", "path": name, **kvstore},
        "metadata": {
            "chunks": [2, *stored.shape[1:]],
            "compressor": {"id": "gzip"},
            "shape": list(stored.shape),
        },
    }


def write(folder, **specs):
    """A checkpoint with one array beside the file, and further specs as given."""
    folder.mkdir()
    stored = np.linspace(0, 1, 15, dtype=np.float32).reshape(5, 3)
    whole = spec("target.encoder.w", stored)
    whole["kvstore"] = {"driver": "file", "path": str(folder / "target.encoder.w")}
    tensorstore.open({**whole, "create": True}).result().write(stored).result()
    optimizer = {
        "state": {"step": np.int32(7), "param_states": {"bias": np.ones(3, np.float32)}},
        "target": {"encoder": {"w": spec("target.encoder.w", stored)}, **specs},
    }
    (folder / "checkpoint").write_bytes(
        serialization.msgpack_serialize({"version": 3, "optimizer": optimizer})
    )
    return stored


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("t5x") / "checkpoint_1000"
    write(path)
    return path


def test_arrays_in_the_file_and_beside_it_are_leaves(saved):
    """A spec is one leaf, with the dtype and the shape that its folder tells."""
    checkpoint = checkpoint_of(READER, saved, Budget())
    leaves = {leaf.path: leaf for leaf in checkpoint.leaves}

    assert knows(READER, saved)
    assert (checkpoint.format, checkpoint.step, checkpoint.metadata) == ("t5x", 1000, {"version": 3})
    assert {path: (leaf.dtype, leaf.shape) for path, leaf in leaves.items()} == {
        "optimizer/state/step": ("int32", ()),
        "optimizer/state/param_states/bias": ("float32", (3,)),
        "optimizer/target/encoder/w": ("float32", (5, 3)),
    }
    assert checkpoint.faults == ()


def test_chunks_beyond_the_arrays_edge_are_cut(saved):
    """Five rows in chunks of two fill three chunks, and the last one's second row is no value."""
    (leaf,) = [
        leaf for leaf in checkpoint_of(READER, saved, Budget()).leaves if leaf.path.endswith("encoder/w")
    ]

    values = np.concatenate(list(leaf.values.stream()))

    assert np.array_equal(values, np.linspace(0, 1, 15, dtype=np.float32))


def test_a_copy_of_a_bucket_is_read_from_the_disk(tmp_path):
    """Specs of the published checkpoints still name a bucket; the folder beside the file is what counts."""
    path = tmp_path / "checkpoint_1"
    write(path)
    tree = serialization.msgpack_restore((path / "checkpoint").read_bytes())
    tree["optimizer"]["target"]["encoder"]["w"]["kvstore"] |= {"driver": "gcs", "bucket": "somewhere"}
    (path / "checkpoint").write_bytes(serialization.msgpack_serialize(tree))

    assert checkpoint_of(READER, path, Budget()).faults == ()


def test_arrays_that_lie_in_a_bucket_are_one_fault(tmp_path):
    """With its address; a copy of the bucket beside the file is read, whatever the description says."""

    def described(name):
        kvstore = {"driver": "s3", "bucket": "ours", "path": f"runs/7/checkpoint_1/{name}/"}
        return {"driver": "zarr", "dtype": "float32", "kvstore": kvstore}

    write(tmp_path / "checkpoint_1", a=described("a"), b=described("b"))

    checkpoint = checkpoint_of(READER, tmp_path / "checkpoint_1", Budget())
    (fault,) = checkpoint.faults

    assert fault.kind == "pointer-not-data"
    assert fault.message == "2 arrays lie in s3://ours/runs/7/checkpoint_1/, not here"


def test_chunks_without_their_hidden_file(tmp_path):
    """A copy that left out names beginning with a dot."""
    write(tmp_path / "checkpoint_1", w={"driver": "zarr", "kvstore": {"driver": "file", "path": "w"}})
    (tmp_path / "checkpoint_1" / "w").mkdir()
    (tmp_path / "checkpoint_1" / "w" / "0.0").write_bytes(b"chunk")

    (fault,) = checkpoint_of(READER, tmp_path / "checkpoint_1", Budget()).faults

    assert fault.message == "w/.zarray is missing while its chunks are there"
    assert "hidden" in fault.fix


@pytest.mark.parametrize(
    ("kvstore", "kind"),
    [
        ({"driver": "http", "path": "http://169.254.169.254/latest/"}, "hostile-content"),
        ({"driver": "s3", "bucket": "b", "path": "run/w/"}, "pointer-not-data"),
        ({"driver": "gcs", "bucket": "elsewhere", "path": "gone"}, "pointer-not-data"),
        ({"driver": "file", "path": "/etc/"}, "hostile-content"),
        ({"driver": "file", "path": "../secret"}, "hostile-content"),
        ({"driver": "file", "path": "gone"}, "missing-file"),
        ({"driver": "file", "path": 3}, "missing-file"),
    ],
)
def test_a_spec_is_never_opened(tmp_path, kvstore, kind):
    """Whatever address a spec names, only a folder of this checkpoint can be read."""
    write(tmp_path / "checkpoint_1", evil={"driver": "zarr", "kvstore": kvstore})

    checkpoint = checkpoint_of(READER, tmp_path / "checkpoint_1", Budget())

    assert [(fault.kind, fault.leaf) for fault in checkpoint.faults] == [(kind, "optimizer/target/evil")]
    assert len(checkpoint.leaves) == 4


def test_another_driver_is_hostile(tmp_path):
    """A spec of the driver "json" would read any file of the machine."""
    write(tmp_path / "checkpoint_1", evil={"driver": "json", "kvstore": "file:///etc/passwd"})

    (fault,) = checkpoint_of(READER, tmp_path / "checkpoint_1", Budget()).faults

    assert fault.kind == "hostile-content"


def test_a_declared_shape_that_cannot_be_is_hostile(saved, tmp_path):
    """The array's own metadata are checked, whatever the spec says."""
    path = tmp_path / "checkpoint_1"
    write(path)
    meta = json.loads((path / "target.encoder.w" / ".zarray").read_text())
    (path / "target.encoder.w" / ".zarray").write_text(json.dumps(meta | {"shape": [1 << 62, 9]}))

    (fault,) = checkpoint_of(READER, path, Budget()).faults

    assert fault.kind == "hostile-content"


def test_a_temporary_name_is_an_unfinished_save(tmp_path):
    """T5X renames the folder when it is done."""
    write(tmp_path / "checkpoint_1.tmp-1700000000")

    checkpoint = checkpoint_of(READER, tmp_path / "checkpoint_1.tmp-1700000000", Budget())

    assert (checkpoint.finished, checkpoint.step) == (False, 1)


def test_a_fifo_in_the_folder_hangs_nobody(tmp_path):
    """A chunk that is a FIFO is not among the files."""
    path = tmp_path / "checkpoint_1"
    write(path)
    (path / "target.encoder.w" / "1.0").unlink()
    os.mkfifo(path / "target.encoder.w" / "1.0")

    checkpoint = checkpoint_of(READER, path, Budget())

    assert "hostile-content" in {fault.kind for fault in checkpoint.faults}


def test_other_formats_are_left_to_their_readers(saved, tmp_path):
    """An aggregate of Orbax has no `optimizer`, and T5X is asked first."""
    (tmp_path / "checkpoint").write_bytes(serialization.msgpack_serialize({"params": np.ones(3)}))

    assert not knows(READER, tmp_path)
    assert READER.order < min(orbax.READER.order, flax_msgpack.READER.order)


def test_damage_of_any_kind_is_calmly_told(saved):
    """Whatever happens to a file of the checkpoint, only our own error comes out."""

    @CALM
    @given(damage())
    def survive(happened):
        with damaged(saved, happened) as path:
            insist_calm(READER, path)

    survive()
