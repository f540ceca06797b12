"""Where bfloat16 is asked for: in a setting, a checkpoint, what is declared beside it, and an update."""

from dataclasses import replace

import pytest

from jaxdoctor.facts.bfloat16 import Asked, Bfloat16Use, in_checkpoint, in_settings, in_signature
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Location
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.signature import LeafSignature, Signature
from tests.environments import environment


def checkpoint(dtype="bfloat16", number=12, *, declared=None):
    leaves = (
        *(Leaf(path=f"w{i}", dtype=dtype, shape=(2,), declared_dtype=declared) for i in range(number)),
        *(Leaf(path=f"b{i}", dtype="float32", shape=(2,)) for i in range(2)),
    )
    return Checkpoint(path="run/1", format="orbax", leaves=leaves, step=1)


@pytest.mark.parametrize("value", ["bfloat16", "highest", "TF32_TF32_F32"])
def test_a_level_that_is_called_bfloat16_is_only_the_default(value):
    chip = replace(environment("t4"), accelerator=replace(environment("t4").accelerator, bf16=False))

    assert not list(in_settings(replace(chip, settings={"JAX_DEFAULT_MATMUL_PRECISION": value})))


def test_what_is_only_declared_counts_and_float32_does_not():
    (use,) = in_checkpoint(checkpoint("float32", declared="bfloat16"), "t4", native=False)

    assert use.what == "12 of 14 leaves are declared bfloat16"
    assert not list(in_checkpoint(checkpoint("float32"), "t4", native=False))


def test_the_state_of_an_update_counts():
    leaf = LeafSignature(path="w", dtype_in="bfloat16", dtype_out="float32", shape_in=(), shape_out=())

    (use,) = in_signature(Signature(target="m:f", leaves=(leaf,), rounds=1), "t4", native=False)

    assert use == Bfloat16Use(
        card="t4",
        native=False,
        asked=Asked.DTYPE,
        what="1 of 1 leaves is bfloat16",
        location=Location(path="m:f", leaf="w"),
    )
