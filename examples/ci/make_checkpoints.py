"""Stands for a training run: a healthy checkpoint, and one with a NaN and a counter that wrapped."""

from pathlib import Path

import numpy as np

RUNS = Path(__file__).parent / "runs"


def main() -> None:
    """Writes both."""
    RUNS.mkdir(exist_ok=True)
    kernel = np.linspace(-1, 1, 64, dtype=np.float32)
    np.savez(RUNS / "step_100.npz", kernel=kernel, env_steps=np.int32(2_000_000_000))
    kernel[7] = np.nan
    np.savez(RUNS / "step_200.npz", kernel=kernel, env_steps=np.int32(-294_967_296))


if __name__ == "__main__":
    main()
