"""JD130: bfloat16 on a card that has no units for it."""

from dataclasses import replace

import pytest

from jaxdoctor.facts.bfloat16 import in_checkpoint, in_settings
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.machine.card import card_named
from jaxdoctor.rules.environment.bf16_not_native import bf16_not_native
from tests.environments import environment, only

PRESET = {"JAX_DEFAULT_MATMUL_PRECISION": "BF16_BF16_F32_X3"}


def checkpoint(dtype="bfloat16", number=12, *, declared=None):
    leaves = (
        *(Leaf(path=f"w{i}", dtype=dtype, shape=(2,), declared_dtype=declared) for i in range(number)),
        *(Leaf(path=f"b{i}", dtype="float32", shape=(2,)) for i in range(2)),
    )
    return Checkpoint(path="run/1", format="orbax", leaves=leaves, step=1)


def on(card, setting=PRESET):
    chip = replace(environment(card).accelerator, bf16=card_named(card).bf16)
    return replace(environment(card), accelerator=chip, settings=setting)


def test_arrays_on_an_older_card_are_computed_in_float32():
    (use,) = in_checkpoint(checkpoint(), "t4", native=card_named("t4").bf16)

    found = only(bf16_not_native, use)

    assert (found.severity, found.location.leaf) == (Severity.NOTE, "w0")


@pytest.mark.parametrize("card", ["a100", "rtx-3060", "h100", "rtx-4090", "b200", "tpu-v5e"])
def test_newer_cards_multiply_it(card):
    (use,) = in_checkpoint(checkpoint(), card, native=card_named(card).bf16)

    assert not list(bf16_not_native.judge(use))
    assert not [one for use in in_settings(on(card)) for one in bf16_not_native.judge(use)]


@pytest.mark.parametrize("card", ["t4", "v100", "rtx-2080", "p100"])
def test_an_algorithm_of_bfloat16_is_refused_on_an_older_one(card):
    (use,) = in_settings(on(card))

    (found,) = bf16_not_native.judge(use)

    assert found.severity is Severity.ERROR
    assert "XLA refuses" in found.message
