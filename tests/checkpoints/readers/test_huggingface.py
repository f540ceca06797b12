"""Folders of the Hugging Face Trainer and of TRL."""

import json
import math
import shutil

import numpy as np
import pytest
from hypothesis import given
from safetensors.numpy import save_file

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.readers.huggingface import READER
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.storage.budget import Budget
from tests.builders import trainer_run, trainer_save
from tests.checkpoints.readers.asked import checkpoint_of, knows
from tests.checkpoints.readers.fuzz import CALM, damage, damaged, insist_calm
from tests.paths import FIXTURES

FIXTURE = FIXTURES / "huggingface" / "checkpoint-4"


def read(path):
    assert knows(READER, path)
    return checkpoint_of(READER, path, Budget())


def leaves(checkpoint):
    return {leaf.path: leaf for leaf in checkpoint.leaves}


def saved(tmp_path, step=500, **state):
    folder = tmp_path / f"checkpoint-{step}"
    folder.mkdir()
    trainer_save(folder, step, **state)
    return folder


def test_what_transformers_writes():
    """One folder is one checkpoint: weights, moments, schedule, random states, and what the trainer says."""
    checkpoint = read(FIXTURE)
    found = leaves(checkpoint)

    assert checkpoint.faults == ()
    assert checkpoint.step == 4
    assert {path.partition("/")[0] for path in found} == {"model", "optimizer", "scheduler", "rng_state"}
    assert found["model/transformer.wte.weight"].declared_dtype == "float32"
    assert found["optimizer/state/0/exp_avg"].declared_dtype is None
    assert next(found["optimizer/state/0/step"].values.stream()).tolist() == [4]
    assert found["scheduler/last_epoch"].value == 4
    stated = checkpoint.metadata
    facts = {"global_step": 4, "max_steps": 4, "save_steps": 2, "save_total_limit": 3, "epoch": 1.0}
    assert {key: stated[key] for key in facts} == facts
    assert stated["logged_steps"] == [1, 2, 3, 4]
    assert "logged_nonfinite" not in stated
    assert checkpoint.bytes_total == sum(path.stat().st_size for path in FIXTURE.iterdir())


def test_the_run_is_not_taken_for_one_save(tmp_path):
    """A folder of saves is looked into, also where the trainer left its state in it."""
    run = trainer_run(tmp_path / "run", [500, 502, 504])
    shutil.copy(run / "checkpoint-504" / "trainer_state.json", run)

    assert not knows(READER, run)
    assert [read(run / f"checkpoint-{step}").step for step in (500, 502, 504)] == [500, 502, 504]


def test_the_run_of_trl_2124_is_judged(tmp_path):
    """Past `max_steps` it saves every two steps; a healthy run is silent.

    https://github.com/huggingface/trl/issues/2124
    """
    ill = trainer_run(tmp_path / "ill", [500, 502, 504, 506, 508])
    healthy = trainer_run(tmp_path / "healthy", [500, 1000, 1500, 1600], max_steps=1600)

    assert {found.name for found in scan([ill], Options()).findings} == {
        "save-interval-collapsed",
        "step-past-max",
    }
    assert scan([healthy], Options()).findings == ()


def test_bare_nan_in_the_log(tmp_path):
    """TRL logs NaN, which is no JSON, and Python writes it all the same."""
    history = [{"step": 1, "loss": 1.0}, {"step": 2, "loss": math.nan, "val/ratio_var": math.inf}]
    checkpoint = read(saved(tmp_path, log_history=history, best_metric=math.nan, episode=1000))

    assert checkpoint.metadata["logged_nonfinite"] == {"loss": 2, "val/ratio_var": 2}
    assert checkpoint.metadata["best_metric"] == "nan"
    assert checkpoint.metadata["episode"] == 1000
    json.dumps(dict(checkpoint.metadata), allow_nan=False)


@pytest.mark.parametrize("key", ["torch_dtype", "dtype"])
def test_what_the_config_declares(tmp_path, key):
    """Transformers 4 and 5 name the dtype differently."""
    folder = saved(tmp_path)
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2", key: "torch.bfloat16"}))

    assert {leaf.declared_dtype for leaf in read(folder).leaves} == {"bfloat16"}


def test_a_save_that_was_killed(tmp_path):
    """The trainer's state is written last."""
    folder = saved(tmp_path)
    (folder / "trainer_state.json").unlink()

    assert [fault.kind for fault in read(folder).faults] == ["unfinished-save"]


def test_shards_and_adapters(tmp_path):
    """Weights are found through their index, and an adapter beside them under its own name."""
    folder = saved(tmp_path)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    placed = {"layer.weight": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    save_file({"lora_A": np.zeros(3, np.float32)}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")

    checkpoint = read(folder)

    assert [fault.kind for fault in checkpoint.faults] == ["missing-file"]
    assert set(leaves(checkpoint)) == {"model/layer.weight", "adapter/lora_A"}


def test_models_and_other_folders(tmp_path):
    """A model's folder is known by its config's keys; other programs write files of that name."""
    model, other = tmp_path / "model", tmp_path / "other"
    for folder, config in ((model, {"architectures": ["X"]}), (other, {"env_name": "ant"})):
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        save_file({"w": np.ones(3, np.float32)}, folder / "model.safetensors")

    assert list(leaves(read(model))) == ["model/w"]
    assert not knows(READER, other)


def test_a_hostile_training_args(tmp_path):
    """Every one of these files is a pickled object; the one that runs a program is told from the others."""
    folder = saved(tmp_path)
    proof = tmp_path / "proof"
    (folder / "training_args.bin").write_bytes(b"cposix\nsystem\n(S'touch " + str(proof).encode() + b"'\ntR.")

    assert [fault.kind for fault in read(folder).faults] == ["hostile-content"]
    assert not proof.exists()


@CALM
@given(happened=damage())
def test_damage_is_a_fault_or_nothing(happened):
    """Whatever happens to any of its files, reading ends calmly."""
    with damaged(FIXTURE, happened) as path:
        insist_calm(READER, path)


def a_model(folder, shards=3, **tensors):
    """A sharded model of `shards` tensors, one a shard, with its index."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2", "architectures": ["X"]}))
    placed = {}
    for number in range(1, shards + 1):
        name = f"model-{number:05d}-of-{shards:05d}.safetensors"
        save_file({f"layer_{number}": np.full(8, number, np.float32)}, folder / name)
        placed[f"layer_{number}"] = name
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed | tensors}))
    return folder


def messages(folder):
    return [fault.message for fault in read(folder).faults]


def test_a_whole_sharded_model(tmp_path):
    assert messages(a_model(tmp_path / "m")) == []


def test_shards_that_are_gone_are_one_error(tmp_path):
    folder = a_model(tmp_path / "m", shards=5)
    for number in (2, 3):
        (folder / f"model-{number:05d}-of-00005.safetensors").unlink()

    (message,) = messages(folder)

    assert message.startswith("model.safetensors.index.json names 5 files, of which model-00002-of-00005.")
    assert message.endswith("model-00003-of-00005.safetensors are missing")


def test_the_index_of_another_sharding(tmp_path):
    folder = a_model(tmp_path / "m", shards=2)
    other = {"weight_map": {"layer_1": "model-00001-of-00003.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(other))

    (fault,) = read(folder).faults

    assert "the index is of another sharding" in fault.message
    assert fault.fix == "write the index anew from the headers of the shards that are there"
    assert {leaf.path for leaf in read(folder).leaves} == {"model/layer_1", "model/layer_2"}


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "is empty"), (b'{"weight_map": {"lay', "is cut off after 20")]
)
def test_a_damaged_index_leaves_the_shards_to_be_judged(tmp_path, content, words):
    folder = a_model(tmp_path / "m")
    (folder / "model.safetensors.index.json").write_bytes(content)

    (fault,) = read(folder).faults

    assert (fault.kind, words in fault.message) == ("truncated-file", True)
    assert len(read(folder).leaves) == 3


def test_a_shard_that_is_empty_or_was_never_downloaded(tmp_path):
    """Each names its file; that its tensors are not there follows from it and is not said as well."""
    folder = a_model(tmp_path / "m")
    (folder / "model-00001-of-00003.safetensors").write_bytes(b"")
    (folder / "model-00003-of-00003.safetensors").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5000000000\n"
    )

    assert messages(folder) == [
        "model-00001-of-00003.safetensors is empty",
        "model-00003-of-00003.safetensors is a Git LFS pointer: 5 GB were never downloaded",
    ]


def test_tensors_on_one_side_of_the_index_only(tmp_path):
    """Either way the index is to be written anew."""
    named = a_model(tmp_path / "named", absent="model-00001-of-00003.safetensors")
    stored = a_model(tmp_path / "stored")
    placed = {"layer_1": "model-00001-of-00003.safetensors", "layer_2": "model-00002-of-00003.safetensors"}
    save_file({"layer_1": np.ones(2), "layer_9": np.ones(2)}, stored / "model-00001-of-00003.safetensors")
    (stored / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))

    assert messages(named) == [
        "1 tensor that the index names is not in the shard that it names, the first is 'absent'"
    ]
    assert messages(stored)[0] == "1 tensor of the shards is not in the index, the first is 'model/layer_9'"
    assert {fault.fix for fault in read(named).faults} == {
        "write the index anew from the headers of the shards"
    }


def test_a_single_file_beside_the_shards(tmp_path):
    """The same tensors twice are a warning and counted once, others are a note, an adapter is neither."""
    folder = a_model(tmp_path / "m")
    save_file({"layer_1": np.ones(8, np.float16)}, folder / "model.safetensors")
    save_file({"draft": np.ones(8, np.float32)}, folder / "draft.safetensors")
    save_file({"lora_A": np.ones(8, np.float32)}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")

    checkpoint = read(folder)

    assert [fault.kind for fault in checkpoint.faults] == ["tensor-not-indexed", "tensor-stored-twice"]
    assert sorted(leaf.path for leaf in checkpoint.leaves) == [
        "adapter/lora_A", "model/draft", "model/layer_1", "model/layer_2", "model/layer_3",
    ]  # fmt: skip


def test_an_adapter_without_tensors(tmp_path):
    """Whatever lies beside it."""
    folder = saved(tmp_path)
    save_file({}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")

    assert messages(folder) == ["adapter_model.safetensors holds no tensors"]


@pytest.mark.parametrize("content", ["", '{"peft_type": "LORA", "r": '])
def test_an_adapter_whose_config_is_no_whole_one(tmp_path, content):
    save_file({"lora_A": np.ones((4, 8), np.float32)}, tmp_path / "adapter_model.safetensors")
    (tmp_path / "adapter_config.json").write_text(content)

    (fault,) = READER.read(tmp_path, Budget()).faults

    assert fault.kind == "truncated-file"
    assert str(fault.path).endswith("adapter_config.json")


def accelerated(folder, *left_out):
    """What `Accelerator.save_state` leaves; the fixture's parts of a Trainer are written by torch too."""
    save_file({"layer.weight": np.ones((3, 4), np.float32)}, folder / "model.safetensors")
    for name in ("optimizer", "scheduler"):
        shutil.copy(FIXTURE / f"{name}.pt", folder / f"{name}.bin")
    shutil.copy(FIXTURE / "rng_state.pth", folder / "random_states_0.pkl")
    for name in left_out:
        (folder / name).unlink()
    return folder


def test_a_folder_of_accelerate_is_one_checkpoint(tmp_path):
    checkpoint = read(accelerated(tmp_path))

    assert checkpoint.faults == ()
    assert "optimizer/state/0/step" in leaves(checkpoint)


def test_a_folder_of_accelerate_that_lost_its_optimizer(tmp_path):
    (fault,) = read(accelerated(tmp_path, "optimizer.bin")).faults

    assert fault.message == "optimizer.bin is missing, and scheduler.bin says that it was saved"


def test_without_a_scheduler_nothing_says_that_there_was_an_optimizer(tmp_path):
    assert read(accelerated(tmp_path, "optimizer.bin", "scheduler.bin")).faults == ()


def test_networks_in_folders_beside_are_checkpoints_themselves(tmp_path):
    """As scripts of Diffusers save them."""
    folder = accelerated(tmp_path, "model.safetensors")
    (folder / "unet").mkdir()

    assert not knows(READER, folder)
