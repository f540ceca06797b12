"""Zarr arrays, written by TensorStore in every way that writers choose, and some that none does."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
import tensorstore
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.crc import crc32c
from jaxdoctor.storage.damage import (
    CorruptError,
    HostileError,
    TruncatedError,
    UnsupportedError,
)
from jaxdoctor.storage.files import members
from jaxdoctor.storage.spans import Span
from jaxdoctor.storage.zarr import arrays as zarr

COMPRESSORS = {
    "zarr": [None, {"id": "zstd", "level": 1}, {"id": "gzip", "level": 1}, {"id": "zlib"}, {"id": "bz2"}],
    "zarr3": [[], [{"name": "zstd"}], [{"name": "gzip"}], [{"name": "zstd"}, {"name": "crc32c"}]],
}


def store(folder):
    return {
        member.name: Span(size=member.size, path=member.path, root=folder)
        for member in members(folder)
        if member.kind == "file"
    }


def opened(folder, name="a", **budget):
    return zarr.array(zarr.arrays(store(folder))[name], Budget(**budget), name)


def everything(array):
    return np.concatenate([np.empty(0), *array.values(Budget()).stream()])


def write(folder, driver, stored, chunks, metadata):
    spec = {
        "driver": driver,
        "kvstore": {"driver": "file", "path": f"{folder}/a"},
        "metadata": metadata | {"shape": list(stored.shape)},
        "create": True,
        "context": {"file_io_sync": False},
    }
    if driver == "zarr":
        spec["metadata"] |= {"chunks": chunks, "dtype": stored.dtype.str}
    else:
        grid = {"name": "regular", "configuration": {"chunk_shape": chunks}}
        spec["metadata"] |= {"chunk_grid": grid, "data_type": stored.dtype.name}
    tensorstore.open(spec).result().write(stored).result()


@st.composite
def layouts(draw):
    """A shape, chunks that need not divide it, and a way to compress."""
    axes = draw(st.lists(st.integers(1, 9), max_size=3))
    chunks = [draw(st.integers(1, 6)) for _ in axes]
    driver = draw(st.sampled_from(["zarr", "zarr3"]))
    return driver, axes, chunks, draw(st.sampled_from(COMPRESSORS[driver])), draw(st.booleans())


@settings(deadline=None, max_examples=150)
@given(layouts())
def test_what_tensorstore_writes_is_read(layout):
    """Every value comes once, whatever the chunks, the compression, the order and the bytes' order are."""
    driver, axes, chunks, compressor, odd = layout
    stored = np.arange(1, 1 + np.prod(axes, dtype=int), dtype=">i4" if odd and driver == "zarr" else "<i4")
    stored = stored.reshape(axes)
    if driver == "zarr":
        metadata = {"compressor": compressor, "order": "F" if odd and len(axes) > 1 else "C"}
    else:
        endian = {"name": "bytes", "configuration": {"endian": "big" if odd else "little"}}
        metadata = {"codecs": [endian, *compressor]}
    with tempfile.TemporaryDirectory() as folder:
        write(folder, driver, stored, chunks, metadata)
        array = opened(Path(folder))

        found = everything(array)

        assert array.layout.shape == tuple(axes)
        assert sorted(found.tolist()) == stored.ravel().tolist()
        if array.values(Budget()).in_order:
            assert found.tolist() == stored.ravel().tolist()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3))
def test_shards_are_read(axes):
    """Chunks that are cut once more in their file, as version 3 allows and Orbax does."""
    shape, inner, times = zip(*axes, strict=True)
    stored = np.arange(1, 1 + np.prod(shape), dtype="<i4").reshape(shape)
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]
    sharding = {"chunk_shape": list(inner), "codecs": codecs}
    metadata = {"codecs": [{"name": "sharding_indexed", "configuration": sharding}]}
    chunks = [a * b for a, b in zip(inner, times, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "zarr3", stored, chunks, metadata)

        array = opened(Path(folder))
        found = everything(array).tolist()
        sample = array.values(Budget()).sample(256)
        assert sample.nbytes <= 256
        assert set(sample.tolist()) <= set(found)
        assert {found[0]} <= set(sample.tolist())

        assert sorted(found) == stored.ravel().tolist()
        if array.values(Budget()).in_order:
            assert found == stored.ravel().tolist()


def test_rows_in_chunks_come_in_order(tmp_path):
    """Arrays that are cut along their first axis only stream as they are, and a sample sees both ends."""
    stored = np.arange(40_000, dtype=np.int32).reshape(4000, 10)
    write(tmp_path, "zarr", stored, [1000, 10], {"compressor": {"id": "zstd"}})
    array = opened(tmp_path)

    assert np.array_equal(everything(array), stored.ravel())
    assert array.values(Budget()).in_order
    sample = array.values(Budget()).sample(800)
    assert sample.nbytes <= 800
    assert {0, 30_000} <= set(sample.tolist())


def test_small_chunks_are_sampled_from_end_to_end(tmp_path):
    """Of a thousand small chunks, a sample looks at many, the first and the last among them."""
    stored = np.arange(10_000, dtype=np.int32)
    write(tmp_path, "zarr", stored, [10], {"compressor": {"id": "zstd"}})

    sample = opened(tmp_path).values(Budget()).sample(1 << 10)

    assert sample.nbytes <= 1 << 10
    assert {0, 9990} <= set(sample.tolist())
    assert len(set((sample // 1000).tolist())) == 10


def test_what_was_never_written_is_fill(tmp_path):
    """Chunks that equal the fill value are left out by older writers; one piece of it stands for all."""
    stored = np.zeros((4, 3), np.float32)
    stored[0] = 1
    write(tmp_path, "zarr", stored, [1, 3], {"compressor": None, "fill_value": 0.0})
    array = opened(tmp_path)

    assert array.absent == 3
    assert not array.values(Budget()).in_order
    assert sorted(everything(array).tolist()) == [0] * 9 + [1] * 3


@pytest.mark.parametrize(
    ("fill", "seen"), [("NaN", np.nan), (7, 7.0), (None, 0.0), ("0x7fc0", None), ({}, None)]
)
def test_an_array_of_nothing_but_fill(tmp_path, fill, seen):
    """Its values are the fill value, where that is understood, and only so many as one piece holds."""
    describe(tmp_path, shape=[1 << 40], chunks=[1 << 20], fill_value=fill)

    found = everything(opened(tmp_path))

    assert found.nbytes <= 8 << 20
    if seen is None:
        assert found.size == 0
    else:
        np.testing.assert_array_equal(found[:3], [seen] * 3)


def describe(folder, **changes):
    (folder / "a").mkdir()
    plain = {
        "shape": [4],
        "chunks": [4],
        "dtype": "<f4",
        "compressor": None,
        "fill_value": 0,
        "zarr_format": 2,
    }
    (folder / "a" / ".zarray").write_text(json.dumps(plain | changes))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"shape": [1 << 62, 4], "chunks": [1, 1]}, HostileError),
        ({"shape": [-1]}, HostileError),
        ({"shape": "4"}, CorruptError),
        ({"chunks": [0]}, CorruptError),
        ({"chunks": [4, 4]}, CorruptError),
        ({"dtype": "|O"}, UnsupportedError),
        ({"dtype": [["a", "<f4"]]}, UnsupportedError),
        ({"filters": [{"id": "delta"}]}, UnsupportedError),
        ({"compressor": "zstd"}, CorruptError),
    ],
)
def test_metadata_that_describe_no_array(tmp_path, changes, error):
    """Each is refused before anything is allocated."""
    describe(tmp_path, **changes)

    with pytest.raises(error):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("changes", "content", "error"),
    [
        ({}, b"1234", TruncatedError),
        ({}, b"1234" * 5, HostileError),
        ({"compressor": {"id": "zstd"}}, b"not zstd", CorruptError),
        ({"compressor": {"id": "gzip"}}, b"not gzip", CorruptError),
        ({"compressor": {"id": "bz2"}}, b"not bz2", CorruptError),
        ({"compressor": {"id": "zstd"}}, zstandard.compress(b"1234" * 4)[:-6], TruncatedError),
        ({"compressor": {"id": "blosc"}}, b"", UnsupportedError),
        ({"compressor": {"id": ["x"]}}, b"", UnsupportedError),
        ({"shape": [1 << 50], "chunks": [1 << 50]}, b"1234", TruncatedError),
    ],
)
def test_chunks_that_cannot_be_read(tmp_path, changes, content, error):
    """Cut, foreign and oversized chunks are told when they are read."""
    describe(tmp_path, **changes)
    (tmp_path / "a" / "0").write_bytes(content)

    with pytest.raises(error):
        everything(opened(tmp_path))


def test_a_bomb_is_stopped_where_the_shape_ends(tmp_path):
    """A gigabyte of zeros in 34 kB: four floats of it are read, and the rest is called hostile."""
    bomb = zstandard.ZstdCompressor(level=1).compress(bytes(1 << 30))
    describe(tmp_path, compressor={"id": "zstd"})
    (tmp_path / "a" / "0").write_bytes(bomb)
    stream = opened(tmp_path).values(Budget()).stream()

    assert next(stream).tolist() == [0] * 4
    with pytest.raises(HostileError, match="more than the 16 bytes"):
        next(stream)
    assert len(bomb) < 40_000


def test_a_window_beyond_reason_is_refused(tmp_path):
    """A zstd frame may ask for a window of gigabytes."""
    frame = bytearray(zstandard.ZstdCompressor(level=1, write_content_size=False).compress(b"1234" * 4))
    frame[5] = 0xF8
    describe(tmp_path, compressor={"id": "zstd"})
    (tmp_path / "a" / "0").write_bytes(frame)

    with pytest.raises(CorruptError):
        everything(opened(tmp_path))


def test_a_shards_index_is_checked(tmp_path):
    """A flipped bit fails the checksum; an entry beyond the file is truncated."""
    stored = np.arange(8, dtype="<i4")
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    metadata = {
        "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2], "codecs": codecs}}]
    }
    write(tmp_path, "zarr3", stored, [8], metadata)
    shard = tmp_path / "a" / "c" / "0"
    content = bytearray(shard.read_bytes())
    index = content[-68:-4]

    content[-10] ^= 1
    shard.write_bytes(content)
    with pytest.raises(CorruptError, match="checksum"):
        everything(opened(tmp_path))

    index[0:8] = (1 << 40).to_bytes(8, "little")
    shard.write_bytes(bytes(content[:-68]) + index + crc32c(index).to_bytes(4, "little"))
    with pytest.raises(TruncatedError):
        everything(opened(tmp_path))

    shard.write_bytes(b"short")
    with pytest.raises(TruncatedError, match="shorter than its index"):
        everything(opened(tmp_path))


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "transpose", "configuration": {"order": [0]}}, {"name": "bytes"}],
        [{"name": "bytes"}, {"name": "blosc"}],
        [{"name": "bytes"}, {"name": "numcodecs.delta"}],
        [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [4],
                    "codecs": [{"name": "bytes"}],
                    "index_codecs": [{"name": "bytes"}, {"name": "zstd"}],
                },
            }
        ],
    ],
)
def test_codecs_that_are_not_read_are_said(tmp_path, codecs):
    """An array behind a codec we do not know is unsupported, not wrong."""
    (tmp_path / "a").mkdir()
    meta = {
        "zarr_format": 3,
        "shape": [4],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": codecs,
        "fill_value": 0,
    }
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(meta))

    with pytest.raises(UnsupportedError):
        opened(tmp_path)


def test_the_checksum_is_the_one_of_the_specification():
    """The check value of CRC-32C, as catalogues of checksums give it.

    https://reveng.sourceforge.io/crc-catalogue/17plus.htm
    """
    assert crc32c(b"123456789") == 0xE3069283
