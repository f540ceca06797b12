"""HDF5 by h5py, and the same inside of Keras' zips."""

import json
import sys
import zipfile

import h5py
import numpy as np
import pytest
from hypothesis import given, settings

from jaxdoctor.checkpoints.readers import hdf5, keras, npz, torch
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.hdf5 import files, outline
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm


def write(path):
    with h5py.File(path, "w") as file:
        file["plain"] = np.arange(12, dtype=np.float32).reshape(3, 4)
        file["step"] = np.int64(7)
        packed = np.arange(1000, dtype=np.float64).reshape(10, 100)
        options = {"chunks": (3, 64), "compression": "gzip", "shuffle": True, "fletcher32": True}
        file.create_dataset("layer/packed", data=packed, **options)
        file["layer/text"] = "hello"
        file["empty"] = np.zeros((0, 3), np.float32)
        file["soft"] = h5py.SoftLink("/layer")
        file["layer/loop"] = file["layer"]
    return path


def read(reader, path):
    assert knows(reader.READER, path)
    return checkpoint_of(reader.READER, path, Budget())


def leaves(checkpoint):
    return {leaf.path: leaf for leaf in checkpoint.leaves}


def values(leaf):
    return np.concatenate(list(leaf.values.stream()))


def test_datasets_of_every_layout(tmp_path):
    """Contiguous and chunked, shuffled, compressed and with checksums; loops end."""
    checkpoint = read(hdf5, write(tmp_path / "weights.h5"))
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert set(found) == {"plain", "step", "empty", "layer/packed", "layer/text"}
    assert (found["plain"].dtype, found["plain"].shape) == ("float32", (3, 4))
    assert values(found["plain"]).tolist() == list(range(12))
    assert values(found["step"]).tolist() == [7]
    assert sorted(values(found["layer/packed"])) == list(range(1000))
    assert found["layer/packed"].values.sample(80).nbytes == 80
    assert found["layer/text"].unsupported


def test_links_out_of_the_file_are_not_followed(tmp_path):
    """An external link, and values that lie in another file."""
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(40))
    path = tmp_path / "weights.h5"
    with h5py.File(path, "w") as file:
        file["out"] = h5py.ExternalLink("/etc/passwd", "/")
        file.create_dataset("elsewhere", (10,), "f4", external=[(str(secret), 0, 40)])

    checkpoint = read(hdf5, path)

    assert [(fault.kind, fault.leaf) for fault in checkpoint.faults] == [("hostile-content", "out")]
    assert leaves(checkpoint)["elsewhere"].values is None


def write_keras(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.8.0", "date_saved": "2026-01-01"}))
        archive.writestr("config.json", "{}")
        archive.write(write(path.with_suffix(".h5")), "model.weights.h5")
    return path


def test_keras(tmp_path):
    """The weights lie uncompressed in the zip, and are reached there."""
    path = write_keras(tmp_path / "model.keras")

    checkpoint = read(keras, path)

    assert checkpoint.faults == ()
    assert checkpoint.metadata["keras_version"] == "3.8.0"
    assert values(leaves(checkpoint)["plain"]).tolist() == list(range(12))
    assert not knows(npz.READER, path)
    assert not knows(torch.READER, path)


def test_without_h5py_it_is_said(tmp_path, monkeypatch):
    """The file is known, its leaves are not, and the extra that reads them is named."""
    monkeypatch.setitem(sys.modules, "h5py", None)
    monkeypatch.setattr(files, "run", lambda call, **_: outline.outline(*call.arguments))

    (fault,) = read(hdf5, write_later(tmp_path)).faults

    assert fault.kind == "unsupported-leaf"
    assert "needs a package" in fault.message


def write_later(tmp_path):
    path = tmp_path / "weights.h5"
    path.write_bytes(files.MAGIC + bytes(100))
    return path


@pytest.mark.parametrize("content", [b"", b"\x08" + bytes(500)], ids=["short", "empty"])
def test_a_broken_file_is_a_fault(tmp_path, content):
    """What h5py refuses, or does not survive, is one fault."""
    path = tmp_path / "weights.h5"
    path.write_bytes(files.MAGIC + content)

    assert [fault.kind for fault in read(hdf5, path).faults] == ["corrupt-data"]


@settings(CALM, max_examples=12)
@given(happened=damage())
@pytest.mark.parametrize(
    ("reader", "writer", "name"), [(hdf5, write, "fuzzed.h5"), (keras, write_keras, "fuzzed.keras")]
)
def test_damage_is_a_fault_or_nothing(happened, reader, writer, name, tmp_path_factory):
    """Whatever happens to the bytes, reading ends calmly: a crash of HDF5 is not ours."""
    original = tmp_path_factory.getbasetemp() / name
    if not original.exists():
        writer(original)
    with damaged(original, happened) as path:
        insist_calm(reader.READER, path)


def test_a_file_that_lost_its_end(tmp_path):
    """Told from what the library says, with both sizes."""
    path = write(tmp_path / "weights.h5")
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2])

    (fault,) = read(hdf5, path).faults

    assert fault.kind == "truncated-file"
    assert fault.message == f"the HDF5 file has {size // 2:,} of its {size:,} bytes"


def test_a_model_of_keras_without_its_config(tmp_path):
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", json.dumps({"keras_version": "3.8.0"}))
        archive.writestr("model.weights.h5", b"")

    faults = read(keras, path).faults

    assert [fault.kind for fault in faults] == ["missing-file", "truncated-file"]
    assert "config.json, from which the model is built" in faults[0].message
    assert faults[1].message == "the member model.weights.h5 is empty"


def test_a_model_of_keras_that_was_cut_off(tmp_path):
    path = write_keras(tmp_path / "model.keras")
    path.write_bytes(path.read_bytes()[:-200])

    (fault,) = read(keras, path).faults

    assert (fault.kind, fault.message) == (
        "truncated-file",
        "model.keras is cut off: it ends before its zip directory",
    )
