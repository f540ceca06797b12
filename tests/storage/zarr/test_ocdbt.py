"""OCDBT databases, written by TensorStore, and some that nobody would write."""

import struct

import pytest
import tensorstore
import zstandard

from jaxdoctor.storage.budget import Budget, OverBudgetError
from jaxdoctor.storage.damage import CorruptError, HostileError, MissingError, TruncatedError
from jaxdoctor.storage.zarr import ocdbt


def write(folder, values, **config):
    """A database with those values; the nodes are small, so that the tree is deep."""
    folder.mkdir()
    spec = {
        "driver": "ocdbt",
        "base": {"driver": "file", "path": f"{folder}/"},
        "config": config,
        "context": {"file_io_sync": False},
    }
    opened = tensorstore.KvStore.open(spec).result()
    with tensorstore.Transaction() as transaction:
        for key, value in values.items():
            opened.with_transaction(transaction)[key] = value


@pytest.mark.parametrize("compression", [None, {"id": "zstd"}])
@pytest.mark.parametrize("node", [300, 100_000])
def test_every_key_is_listed_with_its_bytes(tmp_path, compression, node):
    """Values in the nodes and values in files, below shared prefixes, in trees of any height."""
    values = {f"params/layer{i:03d}/x:y%z é": b"v" * i for i in range(80)}
    write(
        tmp_path / "db",
        values,
        max_decoded_node_bytes=node,
        max_inline_value_bytes=10,
        compression=compression,
    )
    budget = Budget()

    found = ocdbt.entries(tmp_path / "db", budget)

    assert {key: span.read(budget) for key, span in found.items()} == values
    assert budget.bytes_read <= sum(path.stat().st_size for path in (tmp_path / "db").rglob("*.*")) + sum(
        path.stat().st_size for path in (tmp_path / "db" / "d").iterdir()
    )


def test_the_weight_of_a_node_is_told_before_its_entries_are_made(tmp_path):
    """What is read of a decoded node agrees with what was written into it: 70 keys of 3 bytes, one file."""
    values = {f"k{i:02d}": b"v" * 50 for i in range(70)}
    write(tmp_path / "db", values, max_inline_value_bytes=10, compression=None)
    place = ocdbt._place(ocdbt._Tree(tmp_path / "db", Budget())._root()[0])
    stored = (tmp_path / "db" / place.name).read_bytes()[place.offset : place.offset + place.size]

    weight = ocdbt._weight(stored[ocdbt.HEADER + 2 : -ocdbt.CHECKSUM])

    assert weight == 70 * (ocdbt.ENTRY + len("k00") + len(place.name))


def test_keys_that_share_their_beginning_do_not_fill_the_memory(tmp_path):
    """Two thousand keys of 60 kB take little on disk and 120 MB in memory: they are refused before that."""
    values = {"k" * 60_000 + f"{index:04d}": b"" for index in range(2000)}
    write(tmp_path / "db", values, max_decoded_node_bytes=100_000_000)

    with pytest.raises(OverBudgetError):
        ocdbt.entries(tmp_path / "db", Budget(memory=64 << 20))
    with pytest.raises(HostileError, match="a key of 60,004 bytes"):
        ocdbt.entries(tmp_path / "db", Budget())


def test_values_that_overlap_are_hostile(tmp_path, monkeypatch):
    """A thousand keys for one chunk would be read a thousand times."""
    write(tmp_path / "db", {"a": b"v" * 50, "b": b"w" * 50}, max_inline_value_bytes=10)
    honest = ocdbt._Tree._node

    def doubled(tree, place):
        first, second = honest(tree, place)["entries"]
        return {"height": 0, "entries": [first, second | {"indirect_value": first["indirect_value"]}]}

    monkeypatch.setattr(ocdbt._Tree, "_node", doubled)

    with pytest.raises(HostileError, match="overlap"):
        ocdbt.entries(tmp_path / "db", Budget())


def test_an_empty_database_has_no_keys(tmp_path):
    """A manifest without a root is no error."""
    write(tmp_path / "db", {"a": b""})
    spec = {"driver": "ocdbt", "base": {"driver": "file", "path": f"{tmp_path / 'db'}/"}}
    tensorstore.KvStore.open(spec).result().delete_range(tensorstore.KvStore.KeyRange()).result()

    assert ocdbt.entries(tmp_path / "db", Budget()) == {}


def framed(magic, body, *, compressed=True):
    return magic + struct.pack("<Q", 18 + len(body)) + bytes([0, compressed]) + body + bytes(4)


def replaced(folder, content):
    """A database whose manifest is something else."""
    write(folder, {"a": b"v"})
    (folder / ocdbt.MANIFEST).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", TruncatedError),
        (framed(ocdbt.MANIFEST_MAGIC, b"nonsense")[:-3], TruncatedError),
        (b"not a manifest at all", CorruptError),
        (ocdbt.MANIFEST_MAGIC, TruncatedError),
        (framed(ocdbt.MANIFEST_MAGIC, b"not zstd"), CorruptError),
        (framed(ocdbt.MANIFEST_MAGIC, zstandard.compress(b"nonsense")), CorruptError),
        (framed(ocdbt.MANIFEST_MAGIC, b"nonsense", compressed=False), CorruptError),
    ],
)
def test_a_broken_manifest(tmp_path, content, error):
    """Each is distinguished from an honest one, and none ends in TensorStore's own error."""
    with pytest.raises(error):
        ocdbt.entries(replaced(tmp_path / "db", content), Budget())


def test_a_bomb_in_the_index_is_stopped_before_tensorstore_sees_it(tmp_path):
    """A gigabyte of zeros in the place of a manifest is never held."""
    bomb = framed(ocdbt.MANIFEST_MAGIC, zstandard.compress(bytes(1 << 30), level=1))

    with pytest.raises(OverBudgetError):
        ocdbt.entries(replaced(tmp_path / "db", bomb), Budget(memory=64 << 20))
    with pytest.raises(HostileError, match="decompresses to more"):
        ocdbt.entries(replaced(tmp_path / "again", bomb), Budget(memory=8 << 30))


def test_a_tree_that_bites_its_tail_ends(tmp_path, monkeypatch):
    """A node that is its own child, and one of another height than its parent says."""
    write(tmp_path / "db", {f"k{i:03d}": b"v" * 50 for i in range(70)}, max_decoded_node_bytes=300)
    honest = ocdbt._Tree._node

    def biting(tree, place):
        node = honest(tree, place)
        location = f"btreenode::{place.name}:{place.offset}:{place.size}"
        return {**node, "entries": [{"subtree_common_prefix": b"", "location": location}] * 2}

    def flat(tree, place):
        return {**honest(tree, place), "height": 9}

    for lying, error in ((biting, HostileError), (flat, CorruptError)):
        monkeypatch.setattr(ocdbt._Tree, "_node", lying)
        with pytest.raises(error):
            ocdbt.entries(tmp_path / "db", Budget())


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("btreenode:..%2F:secret:0:9", HostileError),
        ("btreenode::/etc/passwd:0:9", HostileError),
        ("btreenode::d/gone:0:9", MissingError),
        ("btreenode::d/gone:0:999999999999", HostileError),
        ("btreenode::d", CorruptError),
        ("btreenode::d:x:y", CorruptError),
    ],
)
def test_a_node_is_only_looked_for_inside(tmp_path, monkeypatch, location, error):
    """Places outside, lost ones and absurd ones are refused by us, before anything opens them."""
    write(tmp_path / "db", {"a": b"v"})
    monkeypatch.setattr(ocdbt._Tree, "_root", lambda _: (location, 0))

    with pytest.raises(error):
        ocdbt.entries(tmp_path / "db", Budget())


def test_a_lost_node_is_missing(tmp_path):
    """The manifest names a file that was not copied."""
    write(tmp_path / "db", {"a": b"v"})
    for path in (tmp_path / "db" / "d").iterdir():
        path.unlink()

    with pytest.raises(MissingError):
        ocdbt.entries(tmp_path / "db", Budget())
