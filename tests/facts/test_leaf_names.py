"""What names in a path say of an array."""

import pytest

from jaxdoctor.facts.leaf_names import is_average, is_kernel, is_second_factor, kind
from tests.builders import leaf


@pytest.mark.parametrize(
    ("path", "shape", "is_one"),
    [
        ("params/Dense_0/kernel", (4, 4), True),
        ("model/h.0.attn.c_attn.weight", (4, 4), True),
        ("leaf[3]", (3, 3, 8, 8), True),
        ("params/Dense_0/bias", (1, 4), False),
        ("params/Dense_0/kernel", (4,), False),
        ("params/wte/table", (4, 4), False),
        ("params/pos_embed", (4, 4), False),
        ("params/q_proj/lora_a/kernel", (4, 4), False),
        ("params/causal_mask", (4, 4), False),
    ],
)
def test_a_kernel_is_a_matrix_that_is_trained(path, shape, is_one):
    assert is_kernel(leaf(path, shape=shape, role="parameter")) is is_one


def test_averages_are_known_by_a_word_of_their_tree():
    assert is_average(leaf("ema_params/w", shape=(3,), role="statistic"))
    assert not is_average(leaf("schema/w", shape=(3,), role="parameter"))


def test_the_second_factor_of_an_adapter_is_known():
    assert is_second_factor(leaf("adapter/q_proj.lora_B.weight", shape=(3, 3)))
    assert not is_second_factor(leaf("adapter/q_proj.lora_A.weight", shape=(3, 3)))


def test_the_same_array_of_every_layer_is_of_one_kind():
    assert kind(leaf("block_12/w")) == kind(leaf("block_3/w"))
