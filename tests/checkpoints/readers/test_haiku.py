"""Arrays one behind the other, with their tree beside."""

import pickle

import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.readers.haiku import READER
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm


def save(folder, *, drop=0):
    """Parameters as the recipe saves them, without the last `drop` arrays."""
    folder.mkdir(parents=True, exist_ok=True)
    tree = {"mlp/~/linear_1": {"w": 0, "b": 0}, "mlp/~/linear_0": {"w": 0}, "scales": [0, 0]}
    arrays = [
        np.ones((3, 5), np.float32),
        np.zeros(5, np.float32),
        np.ones((5, 2)),
        np.float32(1),
        np.ones(1),
    ]
    with (folder / "arrays.npy").open("wb") as file:
        for array in arrays[: len(arrays) - drop]:
            np.save(file, array, allow_pickle=False)
    (folder / "tree.pkl").write_bytes(pickle.dumps(tree))
    return folder


def read(path):
    assert knows(READER, path)
    return checkpoint_of(READER, path, Budget())


def test_leaves_have_the_names_of_the_tree(tmp_path):
    """In the order in which JAX flattens a dictionary: that of its sorted keys."""
    checkpoint = read(save(tmp_path / "haiku"))

    assert checkpoint.faults == ()
    assert [(leaf.path, leaf.shape) for leaf in checkpoint.leaves] == [
        ("mlp/~/linear_0/w", (3, 5)), ("mlp/~/linear_1/b", (5,)), ("mlp/~/linear_1/w", (5, 2)),
        ("scales/0", ()), ("scales/1", (1,)),
    ]  # fmt: skip


def test_arrays_that_lack_are_named(tmp_path):
    (fault,) = read(save(tmp_path / "haiku", drop=2)).faults

    assert fault.kind == "truncated-file"
    assert (
        fault.message == "arrays.npy holds 3 arrays, and tree.pkl names 5: scales/0, scales/1 are not there"
    )


@pytest.mark.parametrize("kept", [0, 100, 200, 300])
def test_a_cut_file_is_one_fault(tmp_path, kept):
    folder = save(tmp_path / "haiku")
    (folder / "arrays.npy").write_bytes((folder / "arrays.npy").read_bytes()[:kept])

    assert [fault.kind for fault in read(folder).faults] == ["truncated-file"]


def test_several_arrays_without_a_tree_are_numbered(tmp_path):
    """Whatever the file is called, and a single array with bytes behind it is damaged."""
    folder = save(tmp_path / "haiku")
    (folder / "tree.pkl").unlink()
    np.save(tmp_path / "one.npy", np.ones(3))
    with (tmp_path / "one.npy").open("ab") as file:
        file.write(b"more")

    report = scan([tmp_path], Options())

    assert {saved.format: len(saved.leaves) for saved in report.checkpoints} == {"equinox": 5, "npy": 1}
    assert [finding.message for finding in report.findings if finding.name == "corrupt-data"] == [
        "4 bytes follow the array"
    ]


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "haiku"
    if not folder.exists():
        save(folder)
    with damaged(folder, happened) as path:
        insist_calm(READER, path)


@pytest.mark.parametrize("content", [b"", bytes(300)])
def test_a_tree_that_holds_nothing(tmp_path, content):
    """The arrays beside it are read all the same, without their names."""
    folder = save(tmp_path / "7")
    (folder / "tree.pkl").write_bytes(content)

    checkpoint = read(folder)

    (fault,) = checkpoint.faults
    assert fault.kind == ("corrupt-data" if content else "truncated-file")
    assert fault.message.startswith("tree.pkl ")
    assert len(checkpoint.leaves) == 5
