"""Parameters and averages that stand still while the run goes on."""

import flax.serialization
import numpy as np
import pytest

from jaxdoctor.rules.run.parameters_frozen import parameters_frozen
from tests.builders import checkpoint, judged, leaf, scanned, series


def run(*states, dtype="float32"):
    """A run of checkpoints, each a mapping of paths to fingerprints."""
    made = []
    for index, state in enumerate(states, 1):
        seen = {"rms": 1.0, "minimum": -1.0, "maximum": 1.0}
        leaves = [
            leaf(path, dtype, (8,), role="parameter", seen=seen | {"fingerprint": value})
            for path, value in state.items()
        ]
        made.append(checkpoint(*leaves, step=index * 1000))
    return series(*made)


def test_parameters_that_never_change_are_one_finding():
    (finding,) = judged(parameters_frozen, run({"w": 1, "b": 2}, {"w": 1, "b": 2}, {"w": 1, "b": 2}))

    assert finding.message == (
        "all 2 parameters are the same in run/1000 and run/2000; so it is in 1 later checkpoint"
    )


def test_an_average_that_never_moves_is_told():
    (finding,) = judged(parameters_frozen, run({"w": 1, "ema/w": 2}, {"w": 3, "ema/w": 2}))

    assert finding.message == (
        "the only leaf of the average is the same in run/1000 and run/2000 while the parameters move"
    )


@pytest.mark.parametrize(
    "healthy",
    [
        run({"w": 1, "b": 2}, {"w": 3, "b": 2}),
        run({"base/w": 1, "lora_a": 2}, {"base/w": 1, "lora_a": 3}),
        run({"w": 1, "ema/w": 2}, {"w": 3, "ema/w": 4}),
    ],
    ids=["one moves", "an adapter", "all move"],
)
def test_neighbours_are_healthy(healthy):
    assert not judged(parameters_frozen, healthy)


def test_an_average_of_few_bits_is_told_by_another_rule():
    narrow = run({"w": 1, "ema/w": 2}, {"w": 3, "ema/w": 2}, dtype="bfloat16")

    assert not judged(parameters_frozen, narrow)


def test_counts_that_stand_still_too_are_told_by_another_rule():
    saved = [
        checkpoint(
            leaf(
                "w",
                shape=(8,),
                role="parameter",
                seen={"rms": 1.0, "minimum": 0.0, "maximum": 1.0, "fingerprint": 1},
            ),
            leaf("step", "int32", role="counter", value=10),
            step=step,
        )
        for step in (1, 2)
    ]

    assert not judged(parameters_frozen, series(*saved))


@pytest.mark.parametrize("moves", [True, False])
def test_a_real_run(tmp_path, moves):
    """Written by Flax, with an array that is sampled."""
    weights = np.random.default_rng(0).normal(size=(200, 300)).astype("float32")
    for step in (7, 14, 21):
        state = {"params": {"w": weights + step * moves}, "step": np.int32(step)}
        (tmp_path / f"checkpoint_{step}").write_bytes(flax.serialization.msgpack_serialize(state))

    assert [finding.name for finding in scanned(tmp_path)] == ([] if moves else ["parameters-frozen"])
