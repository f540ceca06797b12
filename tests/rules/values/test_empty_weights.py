"""Weights that were saved before they were gathered."""

import numpy as np
from safetensors.numpy import save_file

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.values.empty_weights import empty_weights
from tests.builders import checkpoint, judged, leaf, scanned


def model(*shapes, layout="huggingface", path="run/checkpoint-5"):
    leaves = [
        leaf(f"model/layers.{index}.weight", shape=shape, role="parameter")
        for index, shape in enumerate(shapes)
    ]
    return checkpoint(*leaves, layout=layout, path=path)


def test_placeholders_among_weights_are_an_error():
    (finding,) = judged(empty_weights, model((8, 8), (0,), (0,), (8,)))

    assert finding.severity is Severity.ERROR
    assert finding.message == "2 of 4 weights have the shape [0], the first is model/layers.1.weight"
    assert "zero_to_fp32" in finding.fix


def test_other_empty_shapes_are_healthy():
    """An adapter of rank 0 has one empty axis, and a single empty array may be a placeholder."""
    assert not judged(empty_weights, model((8, 0), (0, 8), (8, 8)))
    assert not judged(empty_weights, model((0,), (8, 8)))


def test_what_each_rank_writes_of_itself_is_healthy():
    assert not judged(empty_weights, model((0,), (0,), layout="deepspeed"))
    part = "zero_pp_rank_0_mp_rank_00_model_states.pt"
    assert not judged(empty_weights, model((0,), (0,), layout="torch", path=part))


def test_a_file_of_placeholders_is_found(tmp_path):
    """Written by safetensors, with every second weight partitioned away."""
    path = tmp_path / "model.safetensors"
    tensors = {
        f"h.{index}.mlp.weight": np.ones((6, 4) if index % 2 else (0,), np.float16) for index in range(10)
    }
    save_file(tensors, path)

    assert [finding.name for finding in scanned(path)] == ["empty-weights"]
