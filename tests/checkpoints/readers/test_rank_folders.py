"""Folders in which every rank wrote a file: verl's FSDP, torch.distributed, DeepSpeed, Megatron."""

import argparse
import pickle
import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import given

from jaxdoctor.checkpoints.readers import deepspeed, megatron, torch_distributed, verl
from jaxdoctor.errors import UnreadableError
from jaxdoctor.storage.budget import Budget
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm
from tests.paths import FIXTURES

TORCH = FIXTURES / "torch"
RANKS, DISTRIBUTED, ZERO = TORCH / "fsdp_ranks", TORCH / "distributed", TORCH / "deepspeed"


def read(reader, path):
    assert knows(reader.READER, path)
    return checkpoint_of(reader.READER, path, Budget())


def leaves(checkpoint):
    return {leaf.path: leaf for leaf in checkpoint.leaves}


def values(leaf):
    return np.concatenate(list(leaf.values.stream())).tolist()


def kinds(checkpoint):
    return [fault.kind for fault in checkpoint.faults]


def edited(path, member, change):
    """Rewrites one member of a zip of torch."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in content.items():
            archive.writestr(name, change(old) if name.endswith(member) else old)


def test_the_shards_of_fsdp():
    """Each rank's part of a DTensor is a leaf, with the values that the rank holds."""
    checkpoint = read(verl, RANKS)
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert values(found["model/rank_0/layer.weight"]) == [0, 1, 2, 3]
    assert values(found["model/rank_1/layer.weight"]) == [4, 5, 6, 7]
    assert values(found["optim/rank_1/state/0/step"]) == [4]


def test_a_missing_rank_and_another_dtype(tmp_path):
    """Ranks are counted by what their names promise, and compared leaf by leaf."""
    lost = shutil.copytree(RANKS, tmp_path / "lost")
    (lost / "model_world_size_2_rank_1.pt").unlink()
    other = shutil.copytree(RANKS, tmp_path / "other")
    edited(
        other / "model_world_size_2_rank_1.pt",
        "data.pkl",
        lambda old: old.replace(b"FloatStorage", b"IntStorage"),
    )

    assert kinds(read(verl, lost)) == ["missing-file"]
    (fault,) = read(verl, other).faults
    assert fault.kind == "shards-disagree"
    assert fault.message == "layer.weight is int32 in rank 1 and float32 in rank 0"


@pytest.mark.parametrize(
    ("kind", "words"), [("model", "no model"), ("optim", "no optim"), ("extra_state", "no extra_state")]
)
def test_a_kind_of_state_of_which_no_rank_left_a_file(tmp_path, kind, words):
    """Where all three were saved, model and optimizer belong to each other; the model alone may be meant."""
    folder = shutil.copytree(RANKS, tmp_path / "actor")
    for rank in (0, 1):
        shutil.copy(
            folder / f"optim_world_size_2_rank_{rank}.pt", folder / f"extra_state_world_size_2_rank_{rank}.pt"
        )
    for path in folder.glob(f"{kind}_world_size_*"):
        path.unlink()

    faults = read(verl, folder).faults

    assert [words in fault.message for fault in faults] == ([] if kind == "extra_state" else [True])
    alone = shutil.copytree(RANKS, tmp_path / "alone", ignore=shutil.ignore_patterns("optim_*"))
    assert read(verl, alone).faults == ()


def test_a_rank_that_is_empty_is_compared_with_nothing(tmp_path):
    """One fault, for the file; not one for each leaf that the other rank has."""
    folder = shutil.copytree(RANKS, tmp_path / "actor")
    (folder / "model_world_size_2_rank_1.pt").write_bytes(b"")

    (fault,) = read(verl, folder).faults

    assert (fault.kind, fault.message) == ("truncated-file", "model_world_size_2_rank_1.pt is empty")


def test_a_checkpoint_of_torch_distributed():
    """Names, dtypes and shapes come from the metadata, values from the ranges that it names."""
    checkpoint = read(torch_distributed, DISTRIBUTED)
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert (found["model.w"].dtype, found["model.w"].shape) == ("float32", (3, 4))
    assert values(found["model.w"]) == list(range(12))
    assert found["model.b"].dtype == "bfloat16"
    assert found["model.b"].values.sample(4).tolist() == [1, 1]
    assert found["step"].value == 5


def test_an_unfinished_save_of_torch_distributed(tmp_path):
    """The metadata is written last."""
    folder = shutil.copytree(DISTRIBUTED, tmp_path / "cut")
    (folder / ".metadata").unlink()

    assert kinds(read(torch_distributed, folder)) == ["unfinished-save"]


def test_torch_distributed_without_the_file_that_its_metadata_names(tmp_path):
    """The metadata alone makes the folder one, and one error says what cannot be restored."""
    folder = shutil.copytree(DISTRIBUTED, tmp_path / "lost")
    (folder / "__0_0.distcp").unlink()

    checkpoint = read(torch_distributed, folder)
    (fault,) = checkpoint.faults

    assert fault.kind == "missing-file"
    assert ".metadata names 1 file, of which __0_0.distcp is missing" in fault.message
    assert leaves(checkpoint)["model.w"].shape == (3, 4)
    assert all(leaf.values is None and leaf.unsupported is None for leaf in checkpoint.leaves)


def test_torch_distributed_with_a_file_that_is_empty(tmp_path):
    folder = shutil.copytree(DISTRIBUTED, tmp_path / "lost")
    (folder / "__0_0.distcp").write_bytes(b"")

    assert [fault.message for fault in read(torch_distributed, folder).faults] == ["__0_0.distcp is empty"]


def test_another_file_of_that_name_is_no_checkpoint(tmp_path):
    (tmp_path / ".metadata").write_bytes(b"\x80\x02}q\x00.")

    assert not knows(torch_distributed.READER, tmp_path)


@pytest.mark.parametrize("name", [b"../0_0.distcp", b"/tmp/00.distcp"])
def test_ranges_stay_in_the_folder(tmp_path, name):
    """The metadata names files, and those outside are not opened."""
    folder = shutil.copytree(DISTRIBUTED, tmp_path / "hostile")
    content = (folder / ".metadata").read_bytes()
    replaced = content.replace(b"\x8c\x0c__0_0.distcp", b"\x8c" + bytes([len(name)]) + name)
    (folder / ".metadata").write_bytes(replaced)

    assert "hostile-content" in kinds(read(torch_distributed, folder))


def test_a_hostile_chunk_is_told_when_it_is_opened(tmp_path):
    """Chunks are files of torch of their own, and so may hold a payload."""
    folder = shutil.copytree(DISTRIBUTED, tmp_path / "hostile")
    path = folder / "__0_0.distcp"
    called = b"ctorch._utils\n_rebuild_tensor_v2\n"
    # Pairs of DUP and POP keep the length, and so the places of all that follows.
    payload = (b"cposix\nsystem\n" + b"20" * 9).ljust(len(called), b"\x98")
    path.write_bytes(path.read_bytes().replace(called, payload))
    leaf = leaves(read(torch_distributed, folder))["model.w"]

    with pytest.raises(UnreadableError, match=r"os\.system"):
        values(leaf)


def test_zero(tmp_path):
    """Model states and every rank's part of the optimizer are one checkpoint."""
    checkpoint = read(deepspeed, ZERO / "global_step10")
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert checkpoint.step == 10
    assert found["model_states/rank_0/module/w"].dtype == "bfloat16"
    assert values(found["optim_states/rank_1/optimizer_state_dict/fp32_flat_groups/0"]) == [1] * 4
    assert not knows(deepspeed.READER, ZERO)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("*model_states.pt", "no model states"), ("*optim_states.pt", "no optimizer states")],
)
def test_zero_without_a_kind_of_state(tmp_path, pattern, words):
    """The model states say that ZeRO keeps the optimizer beside them."""
    folder = shutil.copytree(ZERO / "global_step10", tmp_path / "global_step10")
    for path in folder.glob(pattern):
        path.unlink()

    (fault,) = read(deepspeed, folder).faults

    assert (fault.kind, words in fault.message) == ("missing-file", True)


def test_what_zero_lost(tmp_path):
    """A rank's file, and the folder that `latest` names."""
    folder = shutil.copytree(ZERO, tmp_path / "run")
    (folder / "global_step10" / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt").unlink()
    (folder / "latest").write_text("global_step20")

    assert kinds(read(deepspeed, folder / "global_step10")) == ["missing-file", "missing-file"]
    shutil.rmtree(folder / "global_step10")
    assert kinds(read(deepspeed, folder)) == ["missing-file"]


def write_megatron(folder):
    for name in ("mp_rank_00_000", "mp_rank_01_000", "mp_rank_00_001"):
        (folder / name).mkdir(parents=True)
        source = RANKS / (
            "optim_world_size_2_rank_0.pt" if name.endswith("1") else "model_world_size_2_rank_0.pt"
        )
        shutil.copy(source, folder / name / "model_optim_rng.pt")
    return folder


def test_megatron(tmp_path):
    """Ranks of one pipeline stage are compared; stages hold different layers."""
    folder = write_megatron(tmp_path / "iter_0000100")

    checkpoint = read(megatron, folder)

    assert checkpoint.faults == ()
    assert "stage_0/rank_1/layer.weight" in leaves(checkpoint)
    assert "stage_1/rank_0/state/0/step" in leaves(checkpoint)
    assert not checkpoint.written_by_jax


@pytest.mark.parametrize(
    ("ranks", "missing"),
    [((0, 1, 2), []), ((0, 1), ["mp_rank_02"]), ((0,), ["mp_rank_01", "mp_rank_02"])],
)
def test_ranks_that_the_saved_arguments_of_megatron_name(tmp_path, ranks, missing):
    """Of one iteration alone, where no other shows how many there were."""
    arguments = argparse.Namespace(tensor_model_parallel_size=3, pipeline_model_parallel_size=1)
    for rank in ranks:
        folder = tmp_path / "iter_0000007" / f"mp_rank_{rank:02d}"
        folder.mkdir(parents=True)
        saved = {"args": arguments, "iteration": 7, "model": {"w": np.ones(3)}}
        (folder / "model_optim_rng.pt").write_bytes(pickle.dumps(saved, protocol=2))

    faults = read(megatron, tmp_path / "iter_0000007").faults

    assert [fault.kind for fault in faults] == ["missing-file"] * bool(missing)
    assert all(name in fault.message for fault in faults for name in missing)


@CALM
@given(happened=damage())
@pytest.mark.parametrize(
    ("reader", "folder"),
    [(verl, RANKS), (torch_distributed, DISTRIBUTED), (deepspeed, ZERO / "global_step10")],
)
def test_damage_is_a_fault_or_nothing(happened, reader, folder):
    """Whatever happens to any of their files, reading ends calmly."""
    with damaged(folder, happened) as path:
        insist_calm(reader.READER, path)


@CALM
@given(happened=damage())
def test_damage_to_megatron_is_a_fault_or_nothing(happened, tmp_path_factory):
    """The same, for a folder that is no fixture."""
    folder = tmp_path_factory.getbasetemp() / "iter_0000100"
    if not folder.exists():
        write_megatron(folder)
    with damaged(folder, happened) as path:
        insist_calm(megatron.READER, path)


def test_torch_distributed_with_a_file_that_is_cut_off(tmp_path):
    """One error for the file, however many values lie beyond its end."""
    folder = shutil.copytree(DISTRIBUTED, tmp_path / "cut")
    for path in folder.glob("*.distcp"):
        path.write_bytes(path.read_bytes()[:100])

    faults = read(torch_distributed, folder).faults

    assert {fault.kind for fault in faults} == {"truncated-file"}
    assert len(faults) == len(list(folder.glob("*.distcp")))
    assert all("is cut off: it needs" in fault.message for fault in faults)


@pytest.mark.parametrize("kept", [0, 300])
def test_the_metadata_of_torch_distributed_cut_off(tmp_path, kept):
    folder = shutil.copytree(DISTRIBUTED, tmp_path / "cut")
    metadata = folder / ".metadata"
    metadata.write_bytes(metadata.read_bytes()[:kept])

    assert kinds(read(torch_distributed, folder)) == ["truncated-file"]


def test_an_empty_latest_of_deepspeed(tmp_path):
    folder = shutil.copytree(ZERO / "global_step10", tmp_path / "global_step10")
    (tmp_path / "latest").write_text("")

    (fault,) = read(deepspeed, folder).faults

    assert (fault.kind, fault.message) == (
        "missing-file",
        "latest is empty, so that no save is found by it",
    )
    assert "global_step10" in fault.fix


@pytest.mark.parametrize(
    ("with_optimizer", "arguments", "missing"),
    [
        ((0, 1), {}, None),
        ((), {}, None),
        ((0,), {}, "mp_rank_01/distrib_optim.pt is missing, of 2 ranks"),
        ((), {"use_distributed_optimizer": True}, "distrib_optim.pt are missing, of 2 ranks"),
        ((), {"use_distributed_optimizer": True, "no_save_optim": True}, None),
    ],
)
def test_the_distributed_optimizer_of_megatron(tmp_path, with_optimizer, arguments, missing):
    run = tmp_path / "iter_0000100"
    for rank in range(2):
        folder = run / f"mp_rank_{rank:02d}"
        folder.mkdir(parents=True)
        state = {"iteration": 100, "args": argparse.Namespace(tensor_model_parallel_size=2, **arguments)}
        (folder / "model_optim_rng.pt").write_bytes(pickle.dumps(state))
        if rank in with_optimizer:
            (folder / "distrib_optim.pt").write_bytes(pickle.dumps({}))

    found = [fault.message for fault in read(megatron, run).faults if fault.kind == "missing-file"]

    assert len(found) == (missing is not None)
    assert all(message.endswith(missing or "") for message in found)
