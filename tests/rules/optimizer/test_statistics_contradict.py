"""Running statistics that cannot all be true."""

import numpy as np
import pytest

from jaxdoctor.rules.optimizer.statistics_contradict import statistics_contradict
from tests.builders import checkpoint, judged, leaf, scanned


def normalizer(count, **extremes):
    """A count beside statistics: name to their smallest and largest value."""
    leaves = [
        leaf(f"obs/{name}", shape=(6,), role="statistic", seen={"minimum": low, "maximum": high})
        for name, (low, high) in extremes.items()
    ]
    return checkpoint(leaf("obs/count", "int32", role="counter", value=count), *leaves)


@pytest.mark.parametrize(
    "extremes",
    [
        {"summed_variance": (3.0, 5e6)},
        {"var": (0.5, 3.0)},
        {"mean": (-1.0, 2.0)},
        {"std": (0.2, 4.0), "mean": (0.0, 0.0)},
    ],
)
def test_a_count_of_zero_beside_statistics_is_told(extremes):
    (finding,) = judged(statistics_contradict, normalizer(0, **extremes))

    assert finding.location.leaf == "obs/count"


def test_a_deviation_that_its_variance_does_not_give_is_told():
    """sqrt(4e6 / 1e6) is 2."""
    contradiction = normalizer(1_000_000, summed_variance=(1e6, 4e6), std=(1.0, 300.0))

    (finding,) = judged(statistics_contradict, contradiction)

    assert finding.message == "obs/std goes up to 300, and obs/summed_variance over a count of 1e+06 gives 2"


def test_a_negative_variance_is_told():
    (finding,) = judged(statistics_contradict, normalizer(10, var=(-0.1, 1.0)))

    assert finding.message == "a variance is below zero: the smallest is -0.1"


@pytest.mark.parametrize(
    "healthy",
    [
        normalizer(0, summed_variance=(0.0, 0.0), std=(1.0, 1.0), mean=(0.0, 0.0)),
        normalizer(0, var=(1.0, 1.0), mean=(0.0, 0.0)),
        normalizer(1_000_000, summed_variance=(1e6, 4e6), std=(1.0, 2.1), mean=(-1.0, 1.0)),
    ],
    ids=["Brax's beginning", "another beginning", "under way"],
)
def test_neighbours_are_healthy(healthy):
    assert not judged(statistics_contradict, healthy)


def test_imported_batch_statistics_are_healthy():
    """Weights that were converted to torch keep a `num_batches_tracked` of zero."""
    saved = checkpoint(
        leaf("bn/num_batches_tracked", "int64", role="counter", value=0),
        leaf("bn/running_var", shape=(6,), role="statistic", seen={"minimum": 0.5, "maximum": 3.0}),
    )

    assert not judged(statistics_contradict, saved)


def test_a_real_file_is_found(tmp_path):
    """The shape of Stable-Baselines3's and RSL-RL's normalizers, written by NumPy."""
    values = np.random.default_rng(0).uniform(0.5, 4.0, 12).astype("float32")
    for name, count in (("good", 5e5), ("bad", 0.0)):
        arrays = {"obs_rms/mean": values, "obs_rms/var": values, "obs_rms/count": np.float64(count)}
        np.savez(tmp_path / f"{name}.npz", **arrays)

    assert [finding.name for finding in scanned(tmp_path / "bad.npz")] == ["statistics-contradict"]
    assert "statistics-contradict" not in [finding.name for finding in scanned(tmp_path / "good.npz")]
