"""What a config says of the weights beside it."""

import pytest

from jaxdoctor.storage.trainer_state import declared_dtype


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
def test_the_dtype_of_both_generations(key):
    assert declared_dtype({key: "torch.bfloat16"}) == "bfloat16"


@pytest.mark.parametrize("method", ["bitsandbytes", "fp8", "gptq"])
def test_a_quantised_model_declares_none(method):
    """Packed weights, their scales and what was left alone each have a type of their own."""
    config = {"torch_dtype": "bfloat16", "quantization_config": {"quant_method": method}}

    assert declared_dtype(config) is None
