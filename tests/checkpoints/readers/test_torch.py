"""Files of torch, read without torch: its own, hostile ones, and damaged ones."""

import io
import json
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers import pickle as pickle_reader
from jaxdoctor.checkpoints.readers.torch import READER
from jaxdoctor.errors import UnreadableError
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm
from tests.paths import FIXTURES

TORCH = FIXTURES / "torch"
FORMATS = ["zip.pt", "legacy.pt"]


def read(path, budget=None):
    assert knows(READER, path)
    return checkpoint_of(READER, path, budget or Budget())


def leaves(checkpoint):
    return {leaf.path: leaf for leaf in checkpoint.leaves}


def values(leaf):
    return np.concatenate(list(leaf.values.stream())).tolist()


@pytest.mark.parametrize("name", FORMATS)
def test_every_dtype(name):
    """Each type of torch is known by NumPy's name, and its values by their bytes."""
    found = leaves(read(TORCH / name))
    dtypes = {
        path.removeprefix("dtypes/"): leaf for path, leaf in found.items() if path.startswith("dtypes/")
    }

    assert len(dtypes) == (16 if name == "zip.pt" else 11)
    for dtype, leaf in dtypes.items():
        assert (leaf.dtype, leaf.shape) == (dtype, (3,))
        assert [complex(value) for value in values(leaf)] == [1, 1, 1]


@pytest.mark.parametrize("name", FORMATS)
def test_views_of_one_storage(name):
    """Offsets and strides pick the elements of a view, whole rows or with gaps between them."""
    found = leaves(read(TORCH / name))

    assert values(found["views/whole"]) == list(range(24))
    assert sorted(values(found["views/transposed"])) == list(range(24))
    assert values(found["views/column"]) == [2, 8, 14, 20]
    assert values(found["views/rows"]) == list(range(6, 18))
    assert values(found["views/block"]) == [8, 9, 10, 14, 15, 16]
    assert values(found["views/expanded"]) == [1]
    assert values(found["views/scalar"]) == [23]
    assert found["views/empty"].shape == (0, 3)
    assert found["views/column"].values.sample(8).tolist() == [2, 8]


@pytest.mark.parametrize("name", FORMATS)
def test_what_trainers_keep(name):
    """Parameters, tied weights, the optimizer's float32 step, NumPy arrays, and what has no values."""
    checkpoint = read(TORCH / name)
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert checkpoint.step == 7
    assert found["parameter"].shape == (3, 2)
    assert values(found["tied/0"]) == values(found["tied/1"])
    assert found["optimizer_state_dict/state/0/step"].dtype == "float32"
    assert values(found["optimizer_state_dict/state/0/step"]) == [1]
    assert values(found["numpy"]) == [0, 1, 2]
    assert found["quantized"].unsupported == "it is quantized"
    assert "meta device" in found["meta"].unsupported


def test_a_script_is_named():
    """TorchScript holds a program beside its weights."""
    checkpoint = read(TORCH / "torchscript.pt")

    assert checkpoint.metadata["torchscript"] is True
    assert leaves(checkpoint)["weight"].shape == (3, 2)
    assert checkpoint.faults == ()


def test_a_tensor_that_was_pickled_without_torch_save():
    """Its storage is a whole legacy file among the bytes of the pickle."""
    path = TORCH / "pickled_tensor.pkl"

    assert knows(pickle_reader.READER, path)
    checkpoint = checkpoint_of(pickle_reader.READER, path, Budget())

    assert checkpoint.faults == ()
    assert values(leaves(checkpoint)["w"]) == [0, 1, 2, 3]


def test_the_legacy_pickle_is_not_taken_for_a_plain_one():
    """Exactly one reader knows each file."""
    for name in FORMATS:
        assert not knows(pickle_reader.READER, TORCH / name)


def rewritten(path, change, method=zipfile.ZIP_STORED):
    """A copy of the zip fixture with each member as `change` gives it; None leaves one out."""
    with zipfile.ZipFile(TORCH / "zip.pt") as source, zipfile.ZipFile(path, "w", method) as target:
        for name in source.namelist():
            content = change(name, source.read(name))
            if content is not None:
                target.writestr(name, content)
    return path


def test_a_missing_and_a_short_storage(tmp_path):
    """The leaves of a lost storage are said, the others are judged."""
    lost = rewritten(
        tmp_path / "lost.pt", lambda name, content: None if name.endswith("/data/0") else content
    )
    short = rewritten(
        tmp_path / "short.pt", lambda name, content: content[:4] if name.endswith("/data/0") else content
    )

    assert [(fault.kind, fault.leaf) for fault in read(lost).faults] == [("missing-file", "dtypes/float32")]
    assert [(fault.kind, fault.leaf) for fault in read(short).faults] == [
        ("truncated-file", "dtypes/float32")
    ]


def test_compressed_members_were_not_written_by_torch(tmp_path):
    """Torch reads its storages in place, so it never compresses them."""
    path = rewritten(tmp_path / "packed.pt", lambda _, content: content, zipfile.ZIP_DEFLATED)

    assert {fault.kind for fault in read(path).faults} == {"hostile-content"}


def test_big_endian_files(tmp_path):
    """A file that a big-endian machine wrote says so in a member of its own."""

    def change(name, content):
        if name.endswith("/byteorder"):
            return b"big"
        return struct.pack(">3f", 1, 2, 3) if name.endswith("/data/0") else content

    path = rewritten(tmp_path / "big.pt", change)

    assert values(leaves(read(path))["dtypes/float32"]) == [1, 2, 3]


def test_a_cut_file(tmp_path):
    """Both formats say that they were cut off."""
    for name in FORMATS:
        path = tmp_path / name
        content = (TORCH / name).read_bytes()
        path.write_bytes(content[: len(content) * 4 // 5])

        assert "truncated-file" in {fault.kind for fault in read(path).faults}


def test_the_oldest_format_is_named(tmp_path):
    """Torch 0.1.10 and older wrote tar archives, which are not read."""
    path = tmp_path / "old.pt"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name in ("sys_info", "pickle", "tensors", "storages"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    other = tmp_path / "other.tar"
    with tarfile.open(other, "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("notes.txt"), io.BytesIO())

    assert not knows(READER, other)
    with pytest.raises(UnreadableError, match=r"torch 0\.1\.10"):
        read(path)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def payloads(command):
    """Pickles that run a command when torch loads them, some of them through functions of torch."""
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x01tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00)(t\x89}tR"
    run = b"cposix\nsystem\n" + text(command) + b"\x85R"
    legacy = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
    nested = legacy + b"\x80\x02" + run + b"." + pickle.dumps([], 2)
    return {
        "reduce": b"\x80\x02" + run + b".",
        "obj": b"\x80\x02(cposix\nsystem\n" + text(command) + b"o.",
        "inst": b"(S'" + command.encode() + b"'\niposix\nsystem\n.",
        "newobj": b"\x80\x02csubprocess\nPopen\n" + text(command) + b"\x85\x81.",
        "build": b"\x80\x02cshelve\nShelf\n)\x81}" + text("x") + text(command) + b"sb.",
        "second pickle": b"\x80\x02" + tensor + b".\x80\x02" + run + b".",
        "_rebuild_from_type_v2": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n"
        b"(cposix\nsystem\nctorch\nTensor\n" + text(command) + b"\x85}tR.",
        "unknown function in _rebuild_from_type_v2": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n"
        b"(cmy_package\nrun\nctorch\nTensor\n" + text(command) + b"\x85}tR.",
        "persistent id": b"\x80\x02(" + text("storage") + run + text("0") + text("cpu") + b"K\x01tQ.",
        "nested storage": b"\x80\x03ctorch.storage\n_load_from_bytes\nB"
        + struct.pack("<I", len(nested))
        + nested
        + b"\x85R.",
        "nested storage that is dropped": b"\x80\x03ctorch.storage\n_load_from_bytes\nB"
        + struct.pack("<I", len(nested))
        + nested
        + b"\x85R0}.",
    }


@pytest.mark.parametrize("kind", payloads(""))
@pytest.mark.parametrize("legacy", [False, True])
def test_hostile_files_are_named_and_never_run(tmp_path, kind, legacy):
    """Each way of calling something is a finding, and what it would create is not there."""
    proof = tmp_path / "proof"
    content = payloads(f"touch {proof}")[kind]
    path = tmp_path / "model.pt"
    if legacy:
        first = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
        path.write_bytes(first + content + pickle.dumps(["0"], 2) + struct.pack("<qf", 1, 1.0))
    else:
        rewritten(path, lambda name, old: content if name.endswith("/data.pkl") else old)

    checkpoint = read(path)
    for leaf in checkpoint.leaves:
        if leaf.values is not None:
            list(leaf.values.stream())

    assert "hostile-content" in {fault.kind for fault in checkpoint.faults}
    assert not proof.exists()


def test_an_overlapping_view_is_no_bomb(tmp_path):
    """Strides of one and a size of 2^40 squared over one element: sizes are compared first."""
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x03tQ"
    size = b"\x8a\x06" + (1 << 40).to_bytes(6, "little")
    for count, stride, stated in (
        (size, b"K\x01", ["truncated-file"]),
        (size, b"K\x00", []),
        (b"K\x02", b"K\x01", []),
    ):
        content = (
            b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00"
            + count + b"K\x02\x86" + stride + b"K\x01\x86\x89}tR."
        )  # fmt: skip

        def change(name, old, new=content):
            return new if name.endswith("/data.pkl") else old

        checkpoint = read(rewritten(tmp_path / "view.pt", change))

        assert [fault.kind for fault in checkpoint.faults] == stated
        assert (
            sum(piece.size for leaf in checkpoint.leaves if leaf.values for piece in leaf.values.stream())
            <= 3
        )


def test_the_fixtures_say_who_wrote_them():
    """The versions stand beside the files."""
    assert set(json.loads((TORCH / "versions.json").read_text())) == {"torch", "numpy"}


@CALM
@given(happened=damage())
@pytest.mark.parametrize("name", FORMATS)
def test_damage_is_a_fault_or_nothing(happened, name):
    """Whatever happens to the bytes, reading ends calmly."""
    with damaged(TORCH / name, happened) as path:
        insist_calm(READER, path)


@pytest.mark.parametrize("content", [b"", bytes(200)])
def test_an_archive_whose_pickle_holds_nothing(tmp_path, content):
    """Its storages are there, and nothing says what they are."""
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(TORCH / "zip.pt") as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name, content if name.endswith("data.pkl") else source.read(name))

    (fault,) = read(path).faults

    assert fault.kind == ("corrupt-data" if content else "truncated-file")
