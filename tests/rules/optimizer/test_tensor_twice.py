"""Tensors that stand in two files of one model."""

import json

import numpy as np
from safetensors.numpy import save_file

from jaxdoctor.rules.optimizer.tensor_twice import tensor_twice
from tests.builders import checkpoint, judged, leaf, scanned


def test_other_dtypes_are_counted():
    leaves = [leaf("model/w", "float32", (4,)), leaf("model/w", "float16", (4,)), leaf("model/b", shape=(4,))]

    (finding,) = judged(tensor_twice, checkpoint(*leaves, layout="huggingface"))

    assert finding.message == "1 tensor stands in two files, 1 of them in other dtypes"


def test_files_of_other_formats_may_repeat_a_name():
    leaves = [leaf("w", shape=(4,)), leaf("w", shape=(4,))]

    assert not judged(tensor_twice, checkpoint(*leaves, layout="pickle"))


def test_a_stray_file_beside_shards_is_found(tmp_path):
    """Written by safetensors, with an index of two shards; the stray file is of another training."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "dtype": "float32"}))
    names = [f"h.{index}.weight" for index in range(4)]
    weights = {name: np.random.default_rng(place).normal(size=(5, 3)) for place, name in enumerate(names)}
    weights = {name: values.astype("float32") for name, values in weights.items()}
    shards = {name: f"model-0000{1 + place // 2}-of-00002.safetensors" for place, name in enumerate(names)}
    for shard in set(shards.values()):
        save_file({name: weights[name] for name in names if shards[name] == shard}, tmp_path / shard)
    index = {"metadata": {"total_size": 240}, "weight_map": shards}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert scanned(tmp_path) == ()

    save_file({name: values + 1 for name, values in weights.items()}, tmp_path / "model.safetensors")

    (finding,) = scanned(tmp_path)
    assert finding.message == "4 tensors stand in two files, 4 of them with other values"
