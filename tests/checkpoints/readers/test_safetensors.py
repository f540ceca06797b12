"""safetensors by its own library, and everything that it refuses."""

import json
import struct
import time

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from safetensors.numpy import save_file

from jaxdoctor.checkpoints.readers.safetensors import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm


def read(path, budget=None):
    assert knows(READER, path)
    return checkpoint_of(READER, path, budget or Budget())


def leaves(checkpoint):
    return {leaf.path: leaf for leaf in checkpoint.leaves}


def raw(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def entry(begin, end, shape=None, dtype="F32"):
    return {
        "dtype": dtype,
        "shape": [(end - begin) // 4] if shape is None else shape,
        "data_offsets": [begin, end],
    }


TWICE = json.dumps({"a": entry(0, 4), "b": entry(0, 4)}).replace('"b"', '"a"').encode()


def test_what_the_library_writes(tmp_path):
    """Names, dtypes, shapes, values and metadata come back."""
    path = tmp_path / "model.safetensors"
    arrays = {
        "w": np.arange(12, dtype=np.float32).reshape(3, 4),
        "half": np.ones(3, ml_dtypes.bfloat16),
        "step": np.array(5, np.int64),
        "empty": np.zeros((0, 3), np.float32),
        "mask": np.ones(4, bool),
    }
    save_file(arrays, path, metadata={"format": "np"})

    checkpoint = read(path)
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert checkpoint.metadata == {"format": "np"}
    assert {name: (leaf.dtype, leaf.shape) for name, leaf in found.items()} == {
        name: (array.dtype.name, array.shape) for name, array in arrays.items()
    }
    assert next(found["w"].values.stream()).tolist() == list(range(12))


def test_sixteen_gigabytes_are_described_at_once(tmp_path):
    """Only the header is read, and samples come from the whole length."""
    path = tmp_path / "model.safetensors"
    size = 16 << 30
    path.write_bytes(raw({"w": entry(0, size)}))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + size)
    budget = Budget()
    begin = time.process_time()
    sample = read(path, budget).leaves[0].values.sample(64 << 10)

    assert time.process_time() - begin < 1
    assert sample.nbytes == 64 << 10
    assert budget.bytes_read < 100 << 10


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (raw({"a": entry(0, 4), "b": entry(2, 6)}, bytes(6)), "hostile-content"),
        (raw({"a": entry(0, 4), "b": entry(0, 4)}, bytes(4)), "hostile-content"),
        (raw({"a": entry(0, 4), "b": entry(8, 12)}, bytes(12)), "corrupt-data"),
        (raw({"a": entry(4, 8)}, bytes(8)), "corrupt-data"),
        (raw({"a": entry(0, 4)}, bytes(9)), "corrupt-data"),
        (raw({"a": entry(0, 8)}, bytes(4)), "truncated-file"),
        (raw({"a": entry(4, 0, [1])}, bytes(4)), "hostile-content"),
        (raw({"a": entry(-4, 0, [1])}, bytes(4)), "hostile-content"),
        (raw({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0.0, 4.0]}}, bytes(4)), "corrupt-data"),
        (raw({"a": entry(0, 4, [2])}, bytes(4)), "truncated-file"),
        (raw({"a": entry(0, 4, [1 << 62, 1 << 62])}, bytes(4)), "hostile-content"),
        (raw({"a": entry(0, 4, [True])}, bytes(4)), "corrupt-data"),
        (raw({"a": 3}), "corrupt-data"),
        (raw({"__metadata__": {"a": 1}}), "corrupt-data"),
        (raw(TWICE, bytes(4)), "corrupt-data"),
        (raw(b'{"a":' + b"[" * 100_000), "hostile-content"),
        (raw(b'{"a": NaN}'), "corrupt-data"),
        (raw(b"{\xff}"), "corrupt-data"),
        (struct.pack("<Q", 50_000) + b"{", "truncated-file"),
    ],
)  # fmt: skip
def test_every_refusal_of_the_library(tmp_path, content, kind):
    """Whatever safetensors refuses is said, with the rule that it breaks."""
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)

    assert kind in [fault.kind for fault in read(path).faults]


def test_an_unknown_dtype_is_one_leaf_that_is_not_judged(tmp_path):
    """Newer types than ours do not spoil the rest."""
    path = tmp_path / "new.safetensors"
    path.write_bytes(raw({"a": entry(0, 4, [8], "F4"), "b": entry(4, 8)}, bytes(8)))

    checkpoint = read(path)

    assert checkpoint.faults == ()
    assert leaves(checkpoint)["a"].unsupported == "its elements are F4"
    assert leaves(checkpoint)["b"].values is not None


@pytest.mark.parametrize("content", [b"", b"{}", bytes(8) + b"x", struct.pack("<Q", 1 << 40) + b"{"])
def test_other_files_are_none(tmp_path, content):
    """The length must fit, and an object must follow."""
    path = tmp_path / "x"
    path.write_bytes(content)

    assert not knows(READER, path)


def sharded(folder, *, total=24, second="model-00002-of-00002.safetensors"):
    save_file({"a": np.ones(4, np.float32)}, folder / "model-00001-of-00002.safetensors")
    save_file({"b": np.ones(2, np.float32)}, folder / "model-00002-of-00002.safetensors")
    index = folder / "model.safetensors.index.json"
    placed = {"a": "model-00001-of-00002.safetensors", "b": second}
    index.write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": placed}))
    return index


def test_all_shards_of_an_index(tmp_path):
    """A healthy index is one checkpoint without a fault."""
    checkpoint = read(sharded(tmp_path))

    assert checkpoint.faults == ()
    assert list(leaves(checkpoint)) == ["a", "b"]


@pytest.mark.parametrize("second", ["../secret.safetensors", "/etc/passwd", "a\\b", "link.safetensors"])
def test_shards_stay_in_their_folder(tmp_path, second):
    """A name or a link that leaves the folder is hostile, and nothing behind it is read."""
    folder = tmp_path / "model"
    folder.mkdir()
    save_file({"b": np.ones(2, np.float32)}, tmp_path / "secret.safetensors")
    (folder / "link.safetensors").symlink_to(tmp_path / "secret.safetensors")

    checkpoint = read(sharded(folder, second=second))

    assert "hostile-content" in [fault.kind for fault in checkpoint.faults]
    assert "b" not in leaves(checkpoint)


def test_the_cache_of_the_hub_is_no_escape(tmp_path):
    """Its snapshots link to blobs beside them."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    save_file({"b": np.ones(2, np.float32)}, blobs / "hash")
    (snapshot / "model.safetensors").symlink_to(blobs / "hash")

    assert read(snapshot / "model.safetensors").faults == ()


def test_a_missing_shard_and_a_wrong_total(tmp_path):
    """What the index promises is compared with what is there; its sum, which no loader reads, is not."""
    index = sharded(tmp_path, total=25)
    assert read(index).faults == ()
    (tmp_path / "model-00002-of-00002.safetensors").unlink()

    assert [fault.kind for fault in read(index).faults] == ["missing-file"]


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened, tmp_path_factory):
    """Whatever happens to the bytes, reading ends calmly."""
    original = tmp_path_factory.getbasetemp() / "fuzzed.safetensors"
    if not original.exists():
        save_file(
            {"w": np.ones((3, 4), np.float32), "step": np.array(5)}, original, metadata={"format": "np"}
        )
    with damaged(original, happened) as path:
        insist_calm(READER, path)


@CALM
@given(happened=damage())
def test_a_damaged_index_is_a_fault_or_nothing(happened, tmp_path_factory):
    """The index and its shards may each be damaged, renamed or gone."""
    original = tmp_path_factory.getbasetemp() / "sharded"
    if not original.exists():
        original.mkdir()
        sharded(original)
    with damaged(original, happened) as folder:
        index = folder / "model.safetensors.index.json"
        if index.exists():
            insist_calm(READER, index)


def test_a_file_that_was_cut_off_is_one_fault(tmp_path):
    """Its tensors keep their dtypes and shapes, and those that lie within are still read."""
    path = tmp_path / "model.safetensors"
    save_file({f"layer_{index}": np.ones((8, 4), np.float32) for index in range(10)}, path)
    path.write_bytes(path.read_bytes()[:-300])

    checkpoint = read(path)

    (fault,) = checkpoint.faults
    assert fault.kind == "truncated-file"
    assert "need 1,280 bytes and 980 are there; 3 of 10 tensors are not whole" in fault.message
    assert {leaf.dtype for leaf in checkpoint.leaves} == {"float32"}
    assert sum(leaf.values is not None for leaf in checkpoint.leaves) == 7


def test_the_index_of_keras_names_several_shards_for_a_group(tmp_path):
    """Its shards are HDF5 files that are judged beside it; one that is missing is named."""
    (tmp_path / "m_00000.weights.h5").write_bytes(b"x")
    placed = {"/layers/dense/vars": ["m_00000.weights.h5"], "/optimizer/vars": ["m_00000.weights.h5"]}
    index = tmp_path / "m.weights.json"
    index.write_text(json.dumps({"metadata": {"total_size": 8.0}, "weight_map": placed}))
    assert read(index).faults == ()

    placed["/optimizer/vars"].append("m_00001.weights.h5")
    index.write_text(json.dumps({"metadata": {}, "weight_map": placed}))

    (fault,) = read(index).faults
    assert fault.message == "m.weights.json names 2 files, of which m_00001.weights.h5 is missing"
