"""Orbax checkpoints, written by Orbax itself in every layout it still writes."""

import json
import os
import re
import shutil
import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest
from hypothesis import given, settings

from jaxdoctor.checkpoints.readers.orbax import READER
from jaxdoctor.facts.leaf import Role
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.orbax import places
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import orbax.checkpoint as ocp


def read(path):
    return checkpoint_of(READER, path, Budget())


def leaf(checkpoint, path):
    return next(one for one in checkpoint.leaves if one.path == path)


def whole(one):
    pieces = list(one.values.stream())
    return np.concatenate(pieces).reshape(one.shape)


def tree():
    return {
        "params": {
            "mlp/~/linear_0": {"w": jnp.linspace(0, 1, 64 * 32).reshape(64, 32)},
            "dense": {"bias": jnp.full(7, 1.5, jnp.bfloat16), "mask": jnp.array([True, False])},
        },
        "opt": optax.adam(1e-3).init({"w": jnp.ones(3)}),
        "step": 7,
        "lr": 0.125,
        "names": ["left", {"count": np.arange(5)}],
        "nothing": None,
        "empty": {},
        "key": jax.random.key(3),
    }


EXPECTED = {
    "key": ("uint32", (2,)),
    "lr": ("float64", ()),
    "names/1/count": ("int64", (5,)),
    "opt/0/count": ("int32", ()),
    "opt/0/mu/w": ("float32", (3,)),
    "opt/0/nu/w": ("float32", (3,)),
    "params/dense/bias": ("bfloat16", (7,)),
    "params/dense/mask": ("bool", (2,)),
    "params/mlp/~/linear_0/w": ("float32", (64, 32)),
    "step": ("int64", ()),
}

LAYOUTS = {
    "files": {"use_ocdbt": False},
    "ocdbt": {"use_ocdbt": True},
    "zarr3": {"use_ocdbt": True, "use_zarr3": True},
    "zarr3 files": {"use_ocdbt": False, "use_zarr3": True},
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One checkpoint of the same tree in each layout."""
    folder = tmp_path_factory.mktemp("orbax")
    found = {}
    for index, (name, options) in enumerate(LAYOUTS.items()):
        found[name] = folder / str(index)
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)) as checkpointer:
            checkpointer.save(found[name], tree())
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with items of several kinds, as its manager writes it."""
    folder = tmp_path_factory.mktemp("run")
    options = ocp.CheckpointManagerOptions(best_fn=lambda metrics: metrics["reward"])
    with ocp.CheckpointManager(folder, options=options) as manager:
        items = ocp.args.Composite(
            state=ocp.args.StandardSave({"w": jnp.ones(3), "step": 5}),
            extra=ocp.args.JsonSave({"seed": 1, "best": float("inf")}),
            key=ocp.args.JaxRandomKeySave(jax.random.key(1)),
        )
        manager.save(5, args=items, metrics={"reward": 2.0})
        manager.wait_until_finished()
    return folder


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_leaves(saved, layout):
    """Paths, dtypes and shapes do not depend on how the arrays lie on disk."""
    path = saved[layout]

    checkpoint = read(path)

    assert knows(READER, path)
    assert {one.path: (one.dtype, one.shape) for one in checkpoint.leaves} == EXPECTED
    assert checkpoint.faults == ()
    assert checkpoint.finished
    assert checkpoint.metadata["strings"] == {"names.0": "left"}
    assert 0 < checkpoint.bytes_read <= checkpoint.bytes_total
    assert checkpoint.saved_at == pytest.approx(path.stat().st_mtime, abs=60)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_are_what_was_saved(saved, layout):
    """Streams give every element, in the leaf's own dtype."""
    checkpoint = read(saved[layout])

    assert whole(leaf(checkpoint, "step")) == 7
    assert whole(leaf(checkpoint, "lr")) == 0.125
    assert whole(leaf(checkpoint, "params/dense/bias")).tolist() == [1.5] * 7
    assert whole(leaf(checkpoint, "params/dense/bias")).dtype == ml_dtypes.bfloat16
    assert whole(leaf(checkpoint, "params/dense/mask")).tolist() == [True, False]
    expected = np.linspace(0, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
    np.testing.assert_allclose(whole(leaf(checkpoint, "params/mlp/~/linear_0/w")), expected, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_python_numbers_and_prng_keys_are_told_apart(saved, layout):
    """Python's numbers, NumPy's arrays and the typed key are told from JAX's own arrays."""
    checkpoint = read(saved[layout])

    assert {one.path for one in checkpoint.leaves if one.host_scalar} == {"lr", "step"}
    assert {one.path for one in checkpoint.leaves if one.host_array} == {"names/1/count"}
    assert {one.path for one in checkpoint.leaves if one.role is Role.KEY} == {"key"}


def test_a_step_of_a_run_is_one_checkpoint_and_the_run_is_none(run):
    """Items stand as the first key, JSON items become metadata, and the key's item is one leaf."""
    checkpoint = read(run / "5")

    assert knows(READER, run / "5")
    assert not knows(READER, run)
    assert checkpoint.step == 5
    assert {one.path for one in checkpoint.leaves} == {"state/w", "state/step", "key"}
    assert leaf(checkpoint, "key").role is Role.KEY
    assert checkpoint.metadata["extra"] == {"seed": 1, "best": float("inf")}
    assert checkpoint.metadata["metrics"] == {"reward": 2.0}


def test_a_single_item_called_default_is_not_named(tmp_path):
    """A manager that was given one tree calls it "default", which says nothing."""
    with ocp.CheckpointManager(tmp_path) as manager:
        manager.save(12, args=ocp.args.StandardSave({"w": jnp.ones(3)}))
        manager.wait_until_finished()

    assert [one.path for one in read(tmp_path / "12").leaves] == ["w"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_newer_interface(tmp_path):
    """Orbax's second interface marks the folder with an empty file and keeps the tree in "state"."""
    from orbax.checkpoint.experimental import v1

    v1.save_pytree(tmp_path / "saved", {"w": jnp.ones(3), "step": 1})

    checkpoint = read(tmp_path / "saved")

    assert knows(READER, tmp_path / "saved")
    assert {one.path for one in checkpoint.leaves} == {"state/w", "state/step"}


@pytest.mark.parametrize(
    ("name", "step"),
    [("-01627389952", -1627389952), ("000000001000", 1000), ("step_3", 3), ("final", None), ("ocdbt2", None)],
)
def test_the_step_is_in_the_name(saved, tmp_path, name, step):
    """Wrapped steps are negative, Brax pads with zeros, and a digit in a word is no step."""
    shutil.copytree(saved["ocdbt"], tmp_path / name)

    assert read(tmp_path / name).step == step


def test_an_unfinished_save_is_said(saved, tmp_path):
    """A temporary name, a missing end, and processes that were never merged are three signs of one fault."""
    temporary = shutil.copytree(saved["ocdbt"], tmp_path / "7.orbax-checkpoint-tmp")
    open_ended = shutil.copytree(saved["ocdbt"], tmp_path / "8")
    (open_ended / "commit_success.txt").unlink()
    about = json.loads((open_ended / "_CHECKPOINT_METADATA").read_text())
    (open_ended / "_CHECKPOINT_METADATA").write_text(json.dumps(about | {"commit_timestamp_nsecs": None}))
    unmerged = shutil.copytree(open_ended, tmp_path / "9")
    (unmerged / "manifest.ocdbt").unlink()

    for path in (temporary, open_ended, unmerged):
        checkpoint = read(path)

        assert knows(READER, path)
        assert not checkpoint.finished
        assert [fault.kind for fault in checkpoint.faults] == ["unfinished-save"]
        assert {one.path for one in checkpoint.leaves} == set(EXPECTED)


def test_a_folder_of_many_arrays_is_read_whole(saved, monkeypatch):
    """Recognition looks at so many names and no more; reading does not depend on it."""
    monkeypatch.setattr(places, "MOST_NAMES", 2)

    assert knows(READER, saved["files"])
    assert len(read(saved["files"]).leaves) == len(EXPECTED)
    assert read(saved["files"]).metadata["strings"]


def test_a_committed_save_without_its_manifest_is_ruined(saved, tmp_path):
    """One error with the time, whatever the number of arrays; what lies in the processes' parts is judged."""
    ruined = shutil.copytree(saved["ocdbt"], tmp_path / "9")
    (ruined / "manifest.ocdbt").unlink()

    checkpoint = read(ruined)
    (fault,) = checkpoint.faults

    assert checkpoint.finished
    assert (fault.kind, fault.leaf) == ("missing-file", None)
    assert re.search(r"manifest.ocdbt is missing from 9, which was committed at 20\d\d-", fault.message)


def test_a_manifest_is_missed_without_any_part_of_a_process(saved, tmp_path):
    ruined = shutil.copytree(saved["ocdbt"], tmp_path / "9", ignore=shutil.ignore_patterns("ocdbt.process_*"))
    (ruined / "manifest.ocdbt").unlink()

    assert [fault.kind for fault in read(ruined).faults] == ["missing-file"]


def test_a_key_that_is_absent_is_no_key_that_is_null(saved, tmp_path):
    """Other writers leave the time of the commit out."""
    path = shutil.copytree(saved["ocdbt"], tmp_path / "9")
    about = json.loads((path / "_CHECKPOINT_METADATA").read_text())
    del about["commit_timestamp_nsecs"]
    (path / "_CHECKPOINT_METADATA").write_text(json.dumps(about))
    (path / "commit_success.txt").unlink(missing_ok=True)

    assert read(path).faults == ()
    assert read(path).finished


def test_a_data_file_that_is_gone_is_one_error(saved, tmp_path):
    """However many arrays lie in it; and a file that is cut."""
    gone, cut = (shutil.copytree(saved["ocdbt"], tmp_path / name) for name in "89")
    for path in gone.rglob("d/*"):
        if path.parent.parent == gone:
            path.unlink()
    for path in cut.rglob("d/*"):
        os.truncate(path, path.stat().st_size // 2)

    assert len([fault for fault in read(gone).faults if fault.kind == "missing-file"]) <= 2
    assert len(read(cut).faults) <= len(list(cut.rglob("d/*"))) + 1


@pytest.fixture(scope="module")
def with_items(tmp_path_factory):
    """A step with parameters and JSON, saved by Orbax, and Grain's state of two processes beside."""
    folder = tmp_path_factory.mktemp("items") / "run"
    with ocp.CheckpointManager(folder) as manager:
        items = {"params": ocp.args.StandardSave({"w": jnp.ones(5)}), "extra": ocp.args.JsonSave({"a": 1})}
        manager.save(40, args=ocp.args.Composite(**items))
    (folder / "40" / "iter").mkdir()
    for process in range(2):
        state = {"version": 2, "last_seen_indices": {"0": 320 + process}}
        (folder / "40" / "iter" / f"process_{process}-of-2.json").write_text(json.dumps(state))
    return folder / "40"


def test_every_item_of_a_step_is_looked_at(with_items):
    checkpoint = read(with_items)

    assert checkpoint.faults == ()
    assert sorted(checkpoint.parts) == ["iter", "params"]
    assert set(checkpoint.metadata["iterators"]) == {"iter/process_0-of-2.json", "iter/process_1-of-2.json"}
    assert checkpoint.metadata["extra"] == {"a": 1}


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("params", "_CHECKPOINT_METADATA names 2 items, of which params is missing"),
        ("iter/process_0-of-2.json", "process_0-of-2.json is missing in iter, of 2 processes"),
        ("iter/process_1-of-2.json", "process_1-of-2.json is missing in iter, of 2 processes"),
    ],
)
def test_an_item_or_a_process_that_is_gone(with_items, tmp_path, lost, words):
    path = shutil.copytree(with_items, tmp_path / "40")
    shutil.rmtree(path / lost) if (path / lost).is_dir() else (path / lost).unlink()

    (fault,) = read(path).faults

    assert fault.kind == "missing-file"
    assert words in fault.message


@pytest.mark.parametrize("name", ["iter/process_1-of-2.json", "extra/metadata"])
@pytest.mark.parametrize("content", [b"", b'{"version": 2, "last_se'])
def test_an_item_that_is_cut(with_items, tmp_path, name, content):
    path = shutil.copytree(with_items, tmp_path / "40")
    (path / name).write_bytes(content)

    assert [fault.kind for fault in read(path).faults] == ["truncated-file"]


def test_an_item_in_which_nothing_is(with_items, tmp_path):
    path = shutil.copytree(with_items, tmp_path / "40")
    shutil.rmtree(path / "extra")
    (path / "extra").mkdir()

    assert [fault.message for fault in read(path).faults] == ["the item extra holds nothing"]


def test_the_step_that_levanter_writes_beside_the_arrays(saved, tmp_path):
    path = shutil.copytree(saved["ocdbt"], tmp_path / "step-70")
    (path / "metadata.json").write_text(json.dumps({"step": 60, "is_temporary": True}))

    checkpoint = read(path)

    assert (checkpoint.metadata["global_step"], checkpoint.named_step) == (60, 70)
    assert checkpoint.metadata["is_temporary"] is True


def test_an_empty_temporary_folder_is_an_unfinished_save(tmp_path):
    """A save that was killed at once leaves nothing but a name."""
    path = tmp_path / "3000.orbax-checkpoint-tmp"
    path.mkdir()

    assert knows(READER, path)
    assert read(path).step == 3000
    assert [fault.kind for fault in read(path).faults] == ["unfinished-save"]


def test_a_lost_data_file_is_missing(saved, tmp_path):
    """The leaf whose values are gone is named; the others are read."""
    path = shutil.copytree(saved["files"], tmp_path / "1")
    (path / "params.dense.bias" / "0").unlink()

    checkpoint = read(path)

    assert [(fault.kind, fault.leaf) for fault in checkpoint.faults] == [
        ("missing-file", "params/dense/bias")
    ]
    assert len(checkpoint.leaves) == len(EXPECTED)


def test_faults_of_an_item_name_the_leaf_as_the_checkpoint_does(run, tmp_path):
    """In a step with several items, the item comes first in leaves and in faults about them."""
    path = shutil.copytree(run / "5", tmp_path / "5")
    file = path / "state" / "_METADATA"
    tree = json.loads(file.read_text())
    lost = json.loads(json.dumps(next(iter(tree["tree_metadata"].values()))))
    lost["key_metadata"] = [lost["key_metadata"][0] | {"key": "lost"}]
    tree["tree_metadata"]["('lost',)"] = lost
    file.write_text(json.dumps(tree))

    faults = read(path).faults

    assert [(fault.kind, fault.leaf) for fault in faults] == [("missing-file", "state/lost")]


@pytest.mark.parametrize("kept", [None, 0, 40])
def test_an_index_that_cannot_be_read_is_one_fault(run, tmp_path, kept):
    """Files that are gone or cut: what lies in them cannot be told, and is not told of each array."""
    path = shutil.copytree(run / "5", tmp_path / "5")
    for data in (path / "state").rglob("d/*"):
        if kept is None:
            data.unlink()
        else:
            data.write_bytes(data.read_bytes()[:kept])

    (fault,) = read(path).faults

    assert fault.kind == ("missing-file" if kept is None else "truncated-file")
    assert kept is None or "is cut off: it needs" in fault.message


def test_chunks_without_the_hidden_file_beside_them(saved, tmp_path):
    """A copy by a pattern leaves out names that begin with a dot."""
    path = shutil.copytree(saved["files"], tmp_path / "1")
    (path / "params.dense.bias" / ".zarray").unlink()

    (fault,) = read(path).faults

    assert (fault.kind, fault.leaf) == ("missing-file", "params/dense/bias")
    assert fault.message.startswith("params.dense.bias/.zarray is missing, and chunks of the array are there")


def test_a_lost_array_is_missing(saved, tmp_path):
    """What the tree names and the store does not hold is said."""
    path = shutil.copytree(saved["files"], tmp_path / "1")
    shutil.rmtree(path / "opt.0.count")

    assert [(fault.kind, fault.leaf) for fault in read(path).faults] == [("missing-file", "opt/0/count")]


def test_a_cut_data_file_is_truncated(tmp_path):
    """A data file that ends before the last chunk is told without reading values."""
    values = np.random.default_rng(0).normal(size=100_000)
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "1", {"w": values})
    stored = max((tmp_path / "1").rglob("d/*"), key=lambda file: file.stat().st_size)
    os.truncate(stored, stored.stat().st_size // 2)

    assert [(fault.kind, fault.leaf) for fault in read(tmp_path / "1").faults] == [("truncated-file", "w")]


def test_a_flipped_byte_in_the_index_is_corrupt(saved, tmp_path):
    """The B-tree has a checksum; when it fails, the processes' own trees are read instead."""
    path = shutil.copytree(saved["ocdbt"], tmp_path / "1")
    (node,) = (path / "d").iterdir()
    content = bytearray(node.read_bytes())
    content[len(content) // 2] ^= 1
    node.write_bytes(content)

    checkpoint = read(path)

    assert "corrupt-data" in [fault.kind for fault in checkpoint.faults]
    assert {one.path for one in checkpoint.leaves} == set(EXPECTED)


def test_without_a_tree_the_names_tell(saved, tmp_path):
    """The oldest checkpoints have no `_METADATA`: the arrays' names are cut at their dots."""
    path = shutil.copytree(saved["ocdbt"], tmp_path / "1")
    (path / "_METADATA").unlink()

    assert "opt/0/nu/w" in {one.path for one in read(path).leaves}


@pytest.mark.parametrize("zarr3", [False, True])
def test_every_dtype_that_orbax_saves(tmp_path, zarr3):
    """Each comes back with its name and its values, those below a byte too."""
    kinds = ["bool", "int2", "int4", "int8", "int16", "uint8", "uint16", "uint32", "complex64", "float16"]
    kinds += [
        "bfloat16",
        "float4_e2m1fn",
        "float8_e3m4",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3b11fnuz",
    ]
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_zarr3=zarr3)) as checkpointer:
        checkpointer.save(tmp_path / "1", {kind: jnp.asarray([0, 1, 1, 0, 1], kind) for kind in kinds})

    leaves = read(tmp_path / "1").leaves

    assert {one.path: one.dtype for one in leaves} == {kind: kind for kind in kinds}
    for one in leaves:
        assert whole(one).dtype.name == one.dtype
        assert whole(one).astype("complex64").tolist() == [0, 1, 1, 0, 1]


def test_large_arrays_are_sampled_by_a_few_bytes(tmp_path):
    """Of 8 MiB that lie as one compressed chunk, a sample of 4 KiB reads less than 150 kB."""
    values = np.random.default_rng(0).normal(size=1 << 20)
    with ocp.PyTreeCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "1", {"w": values})
    budget = Budget()
    checkpoint = checkpoint_of(READER, tmp_path / "1", budget)

    sample = checkpoint.leaves[0].values.sample(4096)

    assert np.array_equal(sample, values[:512])
    assert budget.bytes_read < 150_000
    assert np.array_equal(whole(leaf(checkpoint_of(READER, tmp_path / "1", Budget()), "w")), values)


def test_what_reaches_outside_is_hostile(saved, tmp_path):
    """Absolute and climbing names in the tree, links that leave, and a FIFO are named and never opened."""
    (tmp_path / "secret").mkdir()
    path = shutil.copytree(saved["files"], tmp_path / "1")
    meta = json.loads((path / "_METADATA").read_text())
    for index, keys in enumerate((["/etc"], ["..", "secret"], ["a/../../secret"])):
        meta["tree_metadata"][f"evil{index}"] = {
            "key_metadata": [{"key": key, "key_type": 2} for key in keys],
            "value_metadata": {"value_type": "np.ndarray", "skip_deserialize": False},
        }
    (path / "_METADATA").write_text(json.dumps(meta))
    (path / "out").symlink_to(tmp_path / "secret")
    os.mkfifo(path / "lr" / "fifo")

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults].count("hostile-content") == 4
    assert {one.path for one in checkpoint.leaves} == set(EXPECTED)


def test_an_index_that_is_a_fifo_hangs_nobody(saved, tmp_path):
    """A FIFO in the manifest's place is refused, and the arrays are read from the processes' own."""
    path = shutil.copytree(saved["ocdbt"], tmp_path / "1")
    (path / "manifest.ocdbt").unlink()
    os.mkfifo(path / "manifest.ocdbt")

    checkpoint = read(path)

    assert "hostile-content" in [fault.kind for fault in checkpoint.faults]
    assert {one.path for one in checkpoint.leaves} == set(EXPECTED)


def test_a_shape_that_cannot_be_is_hostile(saved, tmp_path):
    """A declared 2^62 elements allocate nothing; a bomb that its shape hides is found when it is read."""
    path = shutil.copytree(saved["files"], tmp_path / "1")
    described = path / "params.dense.bias" / ".zarray"
    meta = json.loads(described.read_text())
    described.write_text(json.dumps(meta | {"shape": [1 << 62, 8]}))

    (fault,) = read(path).faults

    assert (fault.kind, fault.leaf) == ("hostile-content", "params/dense/bias")


def test_deep_nesting_in_the_tree_is_hostile(saved, tmp_path):
    """200 000 levels of JSON end in a fault; the arrays are still listed by name."""
    path = shutil.copytree(saved["ocdbt"], tmp_path / "1")
    (path / "_METADATA").write_bytes(b'{"tree_metadata":' + b"[" * 200_000)

    checkpoint = read(path)

    assert [fault.kind for fault in checkpoint.faults] == ["hostile-content"]
    assert len(checkpoint.leaves) == len(EXPECTED)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damage_of_any_kind_is_calmly_told(saved, layout):
    """Whatever happens to a file of the checkpoint, only our own error comes out."""

    @CALM
    @given(damage())
    def survive(happened):
        with damaged(saved[layout], happened) as path:
            insist_calm(READER, path)

    survive()


def test_damage_of_a_step_is_calmly_told(run):
    """The same for a step with items, JSON and metrics."""

    @CALM
    @given(damage())
    def survive(happened):
        with damaged(run / "5", happened) as path:
            insist_calm(READER, path)

    survive()


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["files", "ocdbt"])
def test_damage_is_calmly_told_a_thousand_times(saved, layout):
    """The same with ten times as many examples."""

    @settings(CALM, max_examples=1000)
    @given(damage())
    def survive(happened):
        with damaged(saved[layout], happened) as path:
            insist_calm(READER, path)

    survive()
