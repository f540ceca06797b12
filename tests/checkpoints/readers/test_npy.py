"""Arrays in NumPy's own format."""

import pickle

import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers.npy import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm


def read(path):
    assert knows(READER, path)
    return checkpoint_of(READER, path, Budget())


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "i1", "?", "<c8", "<u8", "<f2"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_every_plain_array(tmp_path, dtype, shape):
    """Dtype, shape and values come back, whatever the byte order."""
    path = tmp_path / "a.npy"
    array = np.ones(shape, dtype)
    np.save(path, array)

    checkpoint = read(path)
    (leaf,) = checkpoint.leaves

    assert checkpoint.faults == ()
    assert (leaf.dtype, leaf.shape) == (array.dtype.name, shape)
    assert sum(piece.sum() for piece in leaf.values.stream()) == array.size


def test_a_pickled_dictionary_inside(tmp_path):
    """`np.save(path, {...})` writes a pickle into an array without axes."""
    path = tmp_path / "params.npy"
    np.save(path, {"w": np.ones(3, np.float32), "b": np.zeros(2, np.int32)}, allow_pickle=True)

    checkpoint = read(path)

    assert checkpoint.faults == ()
    assert [(leaf.path, leaf.dtype) for leaf in checkpoint.leaves] == [("w", "float32"), ("b", "int32")]


def test_objects_that_python_2_saved(tmp_path):
    """The NumPy of that time called the function that begins an array by another name."""
    path = tmp_path / "objects.npy"
    np.save(path, np.array([None, 1], dtype=object), allow_pickle=True)
    old = b"cnumpy.core._internal\n_reconstruct\n"
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    array = pickle.dumps(np.array([None, 1], dtype=object), protocol=0)
    first = array[: array.index(b"_reconstruct\n") + len(b"_reconstruct\n")]
    path.write_bytes(content[:start] + array.replace(first, old, 1))

    checkpoint = read(path)

    assert not [fault for fault in checkpoint.faults if fault.kind == "hostile-content"]


def test_a_hostile_pickle_inside(tmp_path):
    """The same place may hold a payload."""
    path = tmp_path / "params.npy"
    np.save(path, np.array({"w": 1}, dtype=object), allow_pickle=True)
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    proof = tmp_path / "proof"
    path.write_bytes(content[:start] + b"cposix\nsystem\n(S'touch " + str(proof).encode() + b"'\ntR.")

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["hostile-content"]
    assert not proof.exists()


def header(text):
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"), "truncated-file"),
        (header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), "hostile-content"),
        (
            header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }"),
            "hostile-content",
        ),
        (header(b"__import__('os').system('true')"), "corrupt-data"),
        (header(b"(" * 5000), "corrupt-data"),
        (header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, }") + bytes(4), "corrupt-data"),
        (header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }") + bytes(9), "corrupt-data"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "hostile-content"),
        (b"\x93NUMPY\x01\x00\xff\x00", "truncated-file"),
        (b"\x93NUMPY", "truncated-file"),
    ],
)
def test_broken_headers_are_faults(tmp_path, content, kind):
    """Nothing of a header is evaluated, and sizes are compared before anything is allocated."""
    path = tmp_path / "a.npy"
    path.write_bytes(content)

    assert [fault.kind for fault in read(path).faults] == [kind]


@pytest.mark.parametrize(
    "array", [np.array(["a", "b"]), np.zeros(2, "M8[s]"), np.zeros(2, "f4,i4"), np.zeros(2, "V1")]
)
def test_other_elements_are_said(tmp_path, array):
    """Texts, dates and records are leaves whose values are not judged."""
    path = tmp_path / "a.npy"
    np.save(path, array)

    (leaf,) = read(path).leaves

    assert leaf.unsupported.startswith("its elements are")


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened, tmp_path_factory):
    """Whatever happens to the bytes, reading ends calmly."""
    original = tmp_path_factory.getbasetemp() / "fuzzed.npy"
    if not original.exists():
        np.save(original, np.array({"w": np.ones(5), "p": pickle.dumps(3)}, dtype=object), allow_pickle=True)
    with damaged(original, happened) as path:
        insist_calm(READER, path)
