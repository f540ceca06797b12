"""What a folder of Hugging Face lacks, from the names in it."""

import pytest

from jaxdoctor.storage.model_folder import missing_parts

TRAINER = {
    "trainer_state.json", "training_args.bin", "config.json", "model.safetensors", "optimizer.pt",
    "scheduler.pt", "rng_state.pth",
}  # fmt: skip
SHARDS = {f"model-{k:05d}-of-00003.safetensors" for k in (1, 2, 3)}
INDEX = "model.safetensors.index.json"
ACCELERATE = {"random_states_0.pkl", "optimizer.bin", "scheduler.bin"}


@pytest.mark.parametrize(
    "names",
    [
        TRAINER,
        TRAINER - {"optimizer.pt", "scheduler.pt", "rng_state.pth"},
        TRAINER - {"model.safetensors", "optimizer.pt"} | {"global_step500", "zero_to_fp32.py", "latest"},
        TRAINER - {"model.safetensors", "optimizer.pt"} | {"pytorch_model_fsdp_0", "optimizer_0"},
        TRAINER - {"config.json"},
        {"config.json", INDEX, *SHARDS},
        {"config.json", "model.safetensors"},
        {"adapter_config.json", "adapter_model.safetensors"},
        {INDEX, *SHARDS, "random_states_0.pkl", "optimizer.bin", "scheduler.bin"},
        {f"rng_state_{k}.pth" for k in range(4)} | TRAINER - {"rng_state.pth"},
        ACCELERATE | {"pytorch_model"},
        ACCELERATE | {"learned_embeds.pt"},
    ],
    ids=range(12),
)
def test_whole_folders_lack_nothing(names):
    """Of a Trainer, with the model alone, under DeepSpeed, FSDP and accelerate; of models and adapters."""
    assert list(missing_parts(names)) == []


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (
            TRAINER - {"model.safetensors"},
            ["optimizer.pt, rng_state.pth, scheduler.pt of a training and no weights"],
        ),
        (TRAINER - {"optimizer.pt"}, ["optimizer.pt is missing"]),
        ({"adapter_model.safetensors", "README.md"}, ["adapter_config.json is missing"]),
        ({INDEX, *SHARDS}, ["config.json is missing"]),
        ({"config.json", *SHARDS}, [f"{INDEX} is missing"]),
        (
            {"config.json", *SHARDS} - {"model-00002-of-00003.safetensors"},
            [f"model-00002-of-00003.safetensors is missing, of 3 shards, and so is {INDEX}"],
        ),
        (
            {"config.json", "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"},
            ["pytorch_model.bin.index.json is missing"],
        ),
        (ACCELERATE, ["optimizer.bin, random_states_0.pkl, scheduler.bin of a training and no weights"]),
        ({f"rng_state_{k}.pth" for k in (0, 1, 3)} | TRAINER, ["rng_state_2.pth is missing, of 4 processes"]),
    ],
)
def test_what_lacks_is_named(names, words):
    """One error for each cause, with what mends it."""
    errors = list(missing_parts(names))

    assert len(errors) == len(words)
    for error, expected in zip(errors, words, strict=True):
        assert expected in str(error)
        assert error.fix
