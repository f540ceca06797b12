"""Values whose bytes stand in the wrong order."""

import numpy as np
import pytest

from jaxdoctor.rules.values.wrong_byte_order import wrong_byte_order
from tests.builders import checkpoint, judged, leaf, scanned


def test_reversed_arrays_are_one_error():
    leaves = [leaf(f"w{index}", shape=(64,), seen={"byte_swapped": index < 2}) for index in range(3)]

    (finding,) = judged(wrong_byte_order, checkpoint(*leaves))

    assert finding.message == "2 of 3 arrays are ordinary only with bytes reversed, the first is w0"


def test_ordinary_arrays_are_healthy():
    assert not judged(wrong_byte_order, checkpoint(leaf("w", shape=(64,), seen={})))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 30.0])
def test_a_real_file_with_its_bytes_reversed_is_found(tmp_path, dtype, scale):
    """One finding: the NaN that reversed bytes give are not told beside it."""
    weights = (np.random.default_rng(1).normal(size=(40, 30)) * scale).astype(dtype)
    np.savez(tmp_path / "good.npz", w=weights)
    np.savez(tmp_path / "foreign.npz", w=weights.astype(weights.dtype.newbyteorder(">")))
    np.savez(tmp_path / "bad.npz", w=weights.byteswap())

    assert scanned(tmp_path / "good.npz") == ()
    assert scanned(tmp_path / "foreign.npz") == ()
    assert [finding.name for finding in scanned(tmp_path / "bad.npz")] == ["wrong-byte-order"]


def test_tiny_moments_are_no_sign_of_it(tmp_path):
    """Squares of small gradients lie below what a weight has, whichever way they are read."""
    squares = np.random.default_rng(2).normal(size=500).astype("float32") ** 2 * np.float32(1e-30)
    np.savez(tmp_path / "m.npz", **{"opt_state/nu/w": squares})

    assert scanned(tmp_path / "m.npz") == ()
