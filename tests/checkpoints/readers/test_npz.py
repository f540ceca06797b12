"""NumPy's zips, honest and hostile."""

import io
import struct
import subprocess
import sys
import zipfile

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers.npz import READER
from jaxdoctor.errors import UnreadableError
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm


def read(path, budget=None):
    assert knows(READER, path)
    return checkpoint_of(READER, path, budget or Budget())


def leaves(checkpoint):
    return {leaf.path: leaf for leaf in checkpoint.leaves}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_every_kind(tmp_path, save):
    """Names, dtypes, shapes and values; bfloat16, which NumPy writes as two bytes, is known again."""
    path = tmp_path / "params.npz"
    half = np.full(6, 1.5, ml_dtypes.bfloat16)
    save(path, w=np.ones((4, 5), np.float32), half=half, big=np.arange(3, dtype=">i4"), step=np.int64(7))

    checkpoint = read(path)
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert {name: (leaf.dtype, leaf.shape) for name, leaf in found.items()} == {
        "w": ("float32", (4, 5)), "half": ("bfloat16", (6,)), "big": ("int32", (3,)), "step": ("int64", ()),
    }  # fmt: skip
    assert [float(value) for value in next(found["half"].values.stream())] == [1.5] * 6
    assert found["big"].values.sample(100).tolist() == [0, 1, 2]


def test_a_large_stored_array_is_reached_directly(tmp_path):
    """A sample of sixteen megabytes reads what it shows."""
    path = tmp_path / "params.npz"
    np.savez(path, a=np.zeros(1 << 21), b=np.arange(1 << 21, dtype=np.float32))
    budget = Budget()

    sample = leaves(read(path, budget))["b"].values.sample(64 << 10)

    assert sample[0] == 0
    assert sample[-1] == (1 << 21) - 1
    assert budget.bytes_read < 400 << 10


def test_a_flipped_bit_is_found_by_the_checksum(tmp_path):
    """Zip members carry a CRC-32, so the values of a damaged one are not believed."""
    path = tmp_path / "params.npz"
    np.savez(path, w=np.ones(1000, np.float32))
    content = bytearray(path.read_bytes())
    content[2000] ^= 4
    path.write_bytes(content)

    (leaf,) = read(path).leaves

    with pytest.raises(UnreadableError, match="checksum"):
        list(leaf.values.stream())


def test_a_cut_archive_says_so(tmp_path):
    """Without its directory nothing in it can be trusted."""
    path = tmp_path / "params.npz"
    np.savez(path, w=np.ones(1000, np.float32))
    path.write_bytes(path.read_bytes()[:3000])

    assert [fault.kind for fault in read(path).faults] == ["truncated-file"]


def test_objects_inside_are_read_inertly(tmp_path):
    """An object array is a pickle, and its payload is named, not run."""
    path = tmp_path / "params.npz"
    np.savez(path, tree=np.array({"w": np.ones(3)}, dtype=object))
    assert [leaf.path for leaf in read(path).leaves] == ["tree/w"]
    proof = tmp_path / "proof"
    content = io.BytesIO()
    np.save(content, np.array(None, dtype=object))
    start = content.getvalue().index(b"\n") + 1
    with zipfile.ZipFile(path, "w") as archive:
        run = b"cposix\nsystem\n(S'touch " + str(proof).encode() + b"'\ntR."
        archive.writestr("tree.npy", content.getvalue()[:start] + run)

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["hostile-content"]
    assert not proof.exists()


def npy(shape, content=b""):
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }\n" % shape
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def test_a_bomb_is_not_inflated(tmp_path):
    """One gigabyte of zeros from a megabyte: the header is read, and streaming stops at a limit."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("w.npy", "w") as member:
        member.write(npy(100 << 20))
        for _ in range(400):
            member.write(bytes(1 << 20))

    (leaf,) = read(path).leaves

    assert leaf.values.sample(4096).nbytes == 4096
    with pytest.raises(UnreadableError, match="inflate"):
        for _ in leaf.values.stream():
            pass


def test_overlapping_members_are_refused(tmp_path):
    """Two directory entries for one run of bytes are how a zip bomb multiplies."""
    path = tmp_path / "overlap.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", npy(1, bytes(4)))
        archive.writestr("b.npy", npy(1, bytes(4)))
    content = bytearray(path.read_bytes())
    second = content.rfind(b"PK\x01\x02")
    content[second + 42 : second + 46] = bytes(4)
    path.write_bytes(content)

    assert [fault.kind for fault in read(path).faults] == ["hostile-content"]


def test_encrypted_and_escaping_members_are_said(tmp_path):
    """What cannot be read is a leaf with a reason; a name that climbs out is hostile."""
    path = tmp_path / "odd.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../etc/w.npy", npy(1, bytes(4)))
        archive.writestr("locked.npy", npy(1, bytes(4)))
    content = bytearray(path.read_bytes())
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["hostile-content", "unsupported-leaf"]
    assert leaves(checkpoint)["locked"].unsupported.endswith("encrypted")


def test_a_directory_larger_than_the_file_is_refused(tmp_path):
    """Counts and sizes in the end record are claims."""
    path = tmp_path / "claim.npz"
    np.savez(path, w=np.ones(3))
    content = bytearray(path.read_bytes())
    end = content.rfind(b"PK\x05\x06")
    content[end + 12 : end + 16] = struct.pack("<I", 0xF0000000)
    path.write_bytes(content)

    assert [fault.kind for fault in read(path).faults] == ["hostile-content"]


def test_only_numpy_is_needed(tmp_path):
    """In a fresh interpreter, a small npz is read without any other heavy package."""
    path = tmp_path / "params.npz"
    np.savez(path, w=np.ones((4, 5), np.float32))
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from jaxdoctor.storage.budget import Budget\nfrom jaxdoctor.checkpoints.readers.npz import READER\n"
        f"for leaf in READER.read(Path({str(path)!r}), Budget()).leaves:\n    list(leaf.values.stream())\n"
        "heavy = ('jax', 'tensorstore', 'ml_dtypes', 'msgpack', 'zstandard', 'h5py', 'torch', 'rich')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@CALM
@given(happened=damage())
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damage_is_a_fault_or_nothing(happened, save, tmp_path_factory):
    """Whatever happens to the bytes, reading ends calmly."""
    original = tmp_path_factory.getbasetemp() / f"{save.__name__}.npz"
    if not original.exists():
        save(original, w=np.ones((4, 5), np.float32), tree=np.array({"a": 1}, dtype=object))
    with damaged(original, happened) as path:
        insist_calm(READER, path)
