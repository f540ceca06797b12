"""What a checkpoint tells of itself."""

import pytest

from tests.builders import checkpoint, leaf


def test_dtypes_are_counted_by_role():
    saved = checkpoint(
        leaf("w", role="parameter"), leaf("b", role="parameter"), leaf("n", "int32", role="counter")
    )

    assert saved.dtypes_by_role == {"parameter": {"float32": 2}, "counter": {"int32": 1}}


@pytest.mark.parametrize(
    ("leaves", "metadata", "stated"),
    [
        ({"state/step": 7, "opt_state/0/count": 9}, {}, ("state/step", 7)),
        ({"step": 7}, {"global_step": 8}, ("global_step", 8)),
        ({"data/num_timesteps": 7}, {}, ("data/num_timesteps", 7)),
        ({"optimizer/state/0/step": 7, "env_state/step": 3}, {}, None),
    ],
)
def test_a_checkpoint_knows_the_step_inside(leaves, metadata, stated):
    counters = [leaf(path, "int32", role="counter", value=value) for path, value in leaves.items()]

    assert checkpoint(*counters, metadata=metadata).own_step == stated


@pytest.mark.parametrize(
    ("leaves", "layout", "are_tables"),
    [
        ({"expint": "float64", "gamma_ratio": "complex128", "n": "int64"}, "npz", True),
        ({"expint": "float64", "w": "float64"}, "npz", False),
        ({"expint": "float32"}, "npz", False),
        ({"expint": "float64"}, "safetensors", False),
        ({"layers.0.weight": "float64"}, "hdf5", False),
    ],
)
def test_files_of_tables_are_known(leaves, layout, are_tables):
    saved = checkpoint(*(leaf(path, dtype, (3,)) for path, dtype in leaves.items()), layout=layout)

    assert saved.holds_tables is are_tables


def test_a_file_with_a_step_is_no_file_of_tables():
    assert not checkpoint(leaf("x", "float64", (3,)), layout="npz", step=5).holds_tables
