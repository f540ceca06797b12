"""A kernel that leaves the others behind."""

import numpy as np
import pytest

from jaxdoctor.rules.run.norm_jumped import norm_jumped
from tests.builders import checkpoint, judged, leaf, scanned, series


def run(before, after):
    """Two checkpoints, each a mapping of paths to root mean squares."""
    saved = [
        checkpoint(
            *(
                leaf(path, shape=(8, 8), role="parameter", seen={"rms": value, "minimum": -1, "maximum": 1})
                for path, value in state.items()
            ),
            step=step,
        )
        for step, state in ((1000, before), (2000, after))
    ]
    return series(*saved)


QUIET = {"a": 0.05, "b": 0.05, "c": 0.05}


@pytest.mark.parametrize("value", [7.0, 0.0004])
def test_a_jump_among_others_that_rest_is_told(value):
    (finding,) = judged(
        norm_jumped, run(QUIET | {"w": 0.05}, {"a": 0.0505, "b": 0.051, "c": 0.05, "w": value})
    )

    assert finding.message == (
        f"the root mean square of w went from 0.05 to {value:g} since run/1000, that of the others by 1.0%"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (QUIET | {"w": 0.05}, QUIET | {"w": 0.5}),
        (QUIET | {"w": 0.05}, {name: value * 200 for name, value in (QUIET | {"w": 0.05}).items()}),
        (QUIET | {"w/bias": 1e-6}, QUIET | {"w/bias": 1e-2}),
        (QUIET | {"q/lora_B": 1e-6}, QUIET | {"q/lora_B": 1e-2}),
        (QUIET | {"w": 0.0}, QUIET | {"w": 0.5}),
        (QUIET | {"ema/head": 1e-5}, QUIET | {"ema/head": 2e-3}),
    ],
    ids=["tenfold", "all of them", "a bias", "an adapter", "from zero", "from almost nothing"],
)
def test_neighbours_are_healthy(before, after):
    assert not judged(norm_jumped, run(before, after))


def test_of_two_kernels_one_may_rest():
    assert judged(norm_jumped, run({"a": 0.05, "w": 0.05}, {"a": 0.05, "w": 9.0}))


def test_a_single_value_out_there_is_told_by_another_rule():
    before, after = run({"a": 0.05, "w": 0.05}, {"a": 0.05, "w": 9.0}).checkpoints
    far = {"typical": 0.1, "largest_magnitude": 1e9, "rms": 9.0}
    kept = [leaf(one.path, shape=(8, 8), role="parameter", seen=far) for one in after.leaves]

    assert not judged(norm_jumped, series(before, checkpoint(*kept, step=2000)))


def test_a_real_run_is_found(tmp_path):
    """Written by NumPy: one layer of four is scaled a thousandfold before the last save."""
    random = np.random.default_rng(4)
    layers = {f"layer_{index}": random.normal(size=(24, 16)).astype("float32") for index in range(4)}
    for step, factor in ((100, 1), (200, 1), (300, 1000)):
        moved = {name: values * np.float32(1 + step / 1e5) for name, values in layers.items()}
        moved["layer_2"] = moved["layer_2"] * np.float32(factor)
        np.savez(tmp_path / f"step_{step}.npz", **moved)

    (finding,) = scanned(tmp_path)
    assert (finding.name, finding.location.leaf) == ("norm-jumped", "layer_2")
