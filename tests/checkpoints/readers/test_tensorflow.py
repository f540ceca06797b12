"""Checkpoints of TensorFlow."""

import shutil

import numpy as np
from hypothesis import given

from jaxdoctor.checkpoints.readers.tensorflow import READER
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.crc import crc32c
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm
from tests.paths import FIXTURES

FIXTURE = FIXTURES / "tensorflow"


def read(path):
    assert knows(READER, path)
    return checkpoint_of(READER, path, Budget())


def test_what_tensorflow_saves():
    """Names, dtypes and shapes from the index, values from the file beside it."""
    checkpoint = read(FIXTURE / "ckpt-1.index")
    found = {leaf.path: leaf for leaf in checkpoint.leaves}

    assert checkpoint.faults == ()
    assert {path: (leaf.dtype, leaf.shape) for path, leaf in found.items()} == {
        "model/half": ("bfloat16", (3,)), "model/name": ("unknown", ()), "model/w": ("float32", (3, 4)),
        "save_counter": ("int64", ()), "step": ("int64", ()),
    }  # fmt: skip
    assert np.concatenate(list(found["model/w"].values.stream())).tolist() == list(range(12))
    assert next(found["step"].values.stream()).tolist() == [7]
    assert found["model/name"].unsupported == "its elements are texts"
    assert not knows(READER, FIXTURE / "ckpt-1.data-00000-of-00001")


def test_a_missing_and_a_cut_data_file(tmp_path):
    """The index is whole and what it names is not."""
    folder = shutil.copytree(FIXTURE, tmp_path / "run")
    data = folder / "ckpt-1.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:40])
    assert "truncated-file" in [fault.kind for fault in read(folder / "ckpt-1.index").faults]
    data.unlink()

    assert [fault.kind for fault in read(folder / "ckpt-1.index").faults] == ["missing-file"]


def test_a_flipped_bit_in_the_index(tmp_path):
    """Each block of the index has a checksum."""
    path = tmp_path / "ckpt-1.index"
    content = bytearray((FIXTURE / "ckpt-1.index").read_bytes())
    content[60] ^= 1
    path.write_bytes(content)

    assert [fault.kind for fault in read(path).faults] == ["corrupt-data"]


def test_the_checksum():
    """The value of https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4 for 32 zeros."""
    assert crc32c(bytes(32)) == 0x8A9136AA


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened):
    """Whatever happens to the bytes, reading ends calmly."""
    with damaged(FIXTURE, happened) as folder:
        for path in sorted(folder.iterdir()):
            if knows(READER, path):
                insist_calm(READER, path)
