"""Trees in Flax's msgpack, written by Flax."""

import os
import struct
import tracemalloc
import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import msgpack
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxdoctor.checkpoints.readers.flax_msgpack import READER
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from flax import serialization


def tree():
    return {
        "params": {"w": jnp.linspace(0, 1, 600).reshape(20, 30), "b": jnp.full(3, 1.5, jnp.bfloat16)},
        "opt": optax.adam(1e-3).init({"w": jnp.ones(3)}),
        "step": 7,
        "rate": 0.125,
        "done": True,
        "name": "run",
        "nothing": None,
        "empty": {},
        "scalar": np.float32(2.5),
        "complex": 1 + 2j,
    }


EXPECTED = {
    "complex": ("complex128", ()),
    "done": ("bool", ()),
    "opt/0/count": ("int32", ()),
    "opt/0/mu/w": ("float32", (3,)),
    "opt/0/nu/w": ("float32", (3,)),
    "params/b": ("bfloat16", (3,)),
    "params/w": ("float32", (20, 30)),
    "rate": ("float64", ()),
    "scalar": ("float32", ()),
    "step": ("int64", ()),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("flax") / "model.msgpack"
    path.write_bytes(serialization.to_bytes(tree()))
    return path


def read(path, **budget):
    return checkpoint_of(READER, path, Budget(**budget))


def test_leaves_are_told_by_path_dtype_and_shape(saved):
    """Optax's tuples become numbers, Python's numbers are host scalars, text and None are no leaves."""
    checkpoint = read(saved)

    assert knows(READER, saved)
    assert {leaf.path: (leaf.dtype, leaf.shape) for leaf in checkpoint.leaves} == EXPECTED
    assert {leaf.path: leaf.value for leaf in checkpoint.leaves if leaf.host_scalar} == {
        "complex": 1 + 2j,
        "done": True,
        "rate": 0.125,
        "step": 7,
    }
    assert checkpoint.faults == ()


def test_values_are_what_was_saved(saved):
    """Arrays stream in their own dtype."""
    leaves = {leaf.path: leaf for leaf in read(saved).leaves}

    assert next(leaves["params/b"].values.stream()).dtype == ml_dtypes.bfloat16
    assert leaves["scalar"].values.sample(4).tolist() == [2.5]
    expected = np.linspace(0, 1, 600, dtype=np.float32)
    np.testing.assert_allclose(np.concatenate(list(leaves["params/w"].values.stream())), expected, atol=1e-6)


def test_an_array_in_chunks_is_one_leaf(tmp_path, monkeypatch):
    """Flax cuts arrays above 2^30 bytes; here above 1000."""
    monkeypatch.setattr(serialization, "MAX_CHUNK_SIZE", 1000)
    stored = np.arange(1000.0).reshape(10, 100)
    (tmp_path / "checkpoint_12").write_bytes(serialization.to_bytes({"big": stored, "step": 12}))

    checkpoint = read(tmp_path / "checkpoint_12")

    assert checkpoint.step == 12
    assert [(leaf.path, leaf.shape) for leaf in checkpoint.leaves] == [("step", ()), ("big", (10, 100))]
    values = checkpoint.leaves[1].values
    assert np.array_equal(np.concatenate(list(values.stream())), stored.ravel())
    assert {0.0, 999.0} <= set(values.sample(4000).tolist())


def test_a_large_file_is_skipped_through(tmp_path):
    """Of 64 MiB in two arrays, the list of leaves reads a few kilobytes and holds no array."""
    path = tmp_path / "model.msgpack"
    path.write_bytes(serialization.to_bytes({"a": np.zeros(4 << 20), "b": np.zeros(4 << 20)}))
    tracemalloc.start()

    checkpoint = read(path)

    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert checkpoint.bytes_read < 20_000
    assert [leaf.shape for leaf in checkpoint.leaves] == [(4 << 20,), (4 << 20,)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("weights", serialization.to_bytes({"w": np.zeros(3)}), True),
        ("a.msgpack", msgpack.packb({"step": 3}), True),
        ("a.cleanrl_model", msgpack.packb([{"seed": 1}, [{}]]), True),
        ("a.pkl", b"\x80\x04}\x94.", False),
        ("a.msgpack", b"version https://git-lfs.github.com/spec/v1\n", False),
        ("notes.txt", "מאמר על float32".encode(), False),
        ("empty", b"", False),
    ],
)
def test_recognition_is_by_content(tmp_path, name, content, expected):
    """The first byte of a map or a list, and a dtype's name as msgpack writes it, or a known suffix."""
    (tmp_path / name).write_bytes(content)

    assert knows(READER, tmp_path / name) is expected


@pytest.mark.parametrize(
    ("name", "step"), [("checkpoint_100", 100), ("checkpoint_0.5", None), ("best", None)]
)
def test_the_step_is_in_the_name(tmp_path, name, step):
    """Flax allows fractions, which are no steps."""
    (tmp_path / name).write_bytes(serialization.to_bytes({"w": np.zeros(3)}))

    assert read(tmp_path / name).step == step


def test_a_save_under_way_is_said(tmp_path):
    """`checkpoint_tmp` is what Flax calls a file while it writes it."""
    (tmp_path / "checkpoint_tmp").write_bytes(serialization.to_bytes({"w": np.zeros(3)})[:-5])

    checkpoint = read(tmp_path / "checkpoint_tmp")

    assert not checkpoint.finished
    assert {fault.kind for fault in checkpoint.faults} == {"unfinished-save", "truncated-file"}


def test_a_cut_file_tells_what_comes_before(saved, tmp_path):
    """The leaves before the end are read; the end is a fault."""
    path = tmp_path / "model.msgpack"
    path.write_bytes(saved.read_bytes()[:-40])

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["truncated-file"]
    assert "params/w" in {leaf.path for leaf in checkpoint.leaves}


def packed_array(shape, dtype, content, code=1):
    return msgpack.ExtType(code, msgpack.packb((shape, dtype, content)))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (packed_array((1 << 62, 1 << 62), "float32", b""), "hostile-content"),
        (packed_array((-1,), "float32", b"1234"), "hostile-content"),
        (packed_array((1 << 40,), "float32", b"1234"), "truncated-file"),
        (packed_array((1,), "float32", b"12345678"), "corrupt-data"),
        (packed_array((1,), "f4,(1000000000,1000000000)f8", b"1234"), "unsupported-leaf"),
        (packed_array((1,), "object", b"12345678"), "unsupported-leaf"),
        (packed_array("abc", "float32", b"1234"), "corrupt-data"),
        (msgpack.ExtType(77, b"x"), "unsupported-leaf"),
        (msgpack.ExtType(1, b"\xc1"), "corrupt-data"),
        ({"__msgpack_chunked_array__": True, "shape": {"0": 9}, "chunks": {"0": 3}}, "corrupt-data"),
    ],
)
def test_an_array_that_lies_is_one_fault(tmp_path, value, kind):
    """Shapes beyond memory, shapes that do not fit, foreign dtypes and broken chunks cost one leaf each."""
    path = tmp_path / "a.msgpack"
    path.write_bytes(msgpack.packb({"step": 3, "evil": value, "last": 4}))

    checkpoint = read(path)

    assert [(fault.kind, fault.leaf) for fault in checkpoint.faults] == [(kind, "evil")]
    assert {leaf.path for leaf in checkpoint.leaves} >= {"step", "last"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x81\xa1a" * 200_000 + b"\x01", "hostile-content"),
        (b"\x91" * 200_000, "hostile-content"),
        (b"\x81\xa1a\xdf\xff\xff\xff\xff", "truncated-file"),
        (b"\x81\xa1a\xdd\xff\xff\xff\xff", "truncated-file"),
        (b"\x81\xa1a\xc6\xff\xff\xff\xff", "truncated-file"),
        (b"\x81\xa1a\xc9\xff\xff\xff\xff\x01", "truncated-file"),
        (b"\x82\xa1a\x01\xa1a\x02", "corrupt-data"),
        (b"\x81\xa2\xff\xfe\x01", "corrupt-data"),
        (b"\x81\x91\x01\x02", "corrupt-data"),
        (b"\x81\xc1\x01", "corrupt-data"),
        (b"\x81\xa1a\x01trailing", "corrupt-data"),
    ],
)
def test_hostile_framing_ends_in_a_fault(tmp_path, content, kind):
    """Nesting, counts and lengths of four billion, doubled keys and trailing bytes are told."""
    path = tmp_path / "a.msgpack"
    path.write_bytes(content)

    assert kind in {fault.kind for fault in read(path).faults}


def test_a_million_values_stay_within_the_allowance(tmp_path):
    """A list of numbers that would fill the memory as Python objects is cut short and said."""
    path = tmp_path / "a.msgpack"
    path.write_bytes(b"\xdd" + struct.pack(">I", 3 << 20) + b"\x01" * (3 << 20))

    with pytest.raises(Exception, match="bytes at once"):
        read(path, memory=16 << 20)


def test_a_fifo_is_not_waited_for(tmp_path):
    """A FIFO with the right name is no checkpoint."""
    os.mkfifo(tmp_path / "a.msgpack")

    assert not knows(READER, tmp_path / "a.msgpack")


def test_damage_of_any_kind_is_calmly_told(saved):
    """Whatever happens to the file, only our own error comes out."""

    @CALM
    @given(damage())
    def survive(happened):
        with damaged(saved, happened) as path:
            insist_calm(READER, path)

    survive()


@CALM
@given(st.binary(max_size=300))
def test_random_bytes_are_calmly_told(tmp_path_factory, content):
    """Bytes that nobody meant as msgpack end in faults, too."""
    path = tmp_path_factory.getbasetemp() / "random.msgpack"
    path.write_bytes(content)

    insist_calm(READER, path)


def test_keys_of_jax_are_arrays_like_others(tmp_path):
    """Flax stores raw PRNG keys as uint32 arrays."""
    path = tmp_path / "a.msgpack"
    path.write_bytes(serialization.to_bytes({"key": jax.random.PRNGKey(0)}))

    assert [(leaf.dtype, leaf.shape) for leaf in read(path).leaves] == [("uint32", (2,))]


@pytest.mark.parametrize(("first", "second"), [(1, 2), (b"w", b"v"), (2.5, 0.5)])
def test_keys_that_flax_takes(tmp_path, first, second):
    """Numbers and bytes are keys to `msgpack_restore`; a text that is no UTF-8 is refused, as above."""
    path = tmp_path / "a.msgpack"
    path.write_bytes(serialization.msgpack_serialize({first: np.ones(3, np.float32), second: 5}))

    checkpoint = read(path)

    assert set(serialization.msgpack_restore(path.read_bytes())) == {first, second}
    assert checkpoint.faults == ()
    assert {leaf.path for leaf in checkpoint.leaves} == {
        key.decode() if isinstance(key, bytes) else str(key) for key in (first, second)
    }
