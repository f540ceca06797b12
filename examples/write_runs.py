"""Writes two runs into `runs/`: one in which four things went wrong, and one that is as it should be.

python examples/write_runs.py
jaxdoctor scan-checkpoint runs
"""

import sys
from pathlib import Path

import numpy as np

SAVES = 3
FEW_STEPS, MANY_STEPS = 100_000_000, 1_000_000_000


def state(steps: int, kernel: np.ndarray, variance: np.ndarray) -> dict[str, np.ndarray]:
    """What a small PPO run saves; env_steps in 32 bits, as brax counted before 0.12.2."""
    return {
        "params/policy/kernel": kernel,
        "opt_state/0/mu/policy/kernel": 0.1 * kernel,
        "opt_state/0/nu/policy/kernel": variance,
        "env_steps": np.int64(steps).astype(np.int32),
    }


def write(folder: Path, every: int, *, ill: bool) -> None:
    """Three checkpoints, `every` steps apart."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    for save in range(1, SAVES + 1):
        kernel = generator.normal(size=(32, 8)).astype(np.float32)
        variance = np.square(kernel)
        if ill and save == SAVES:
            kernel[3, 4] = np.nan
            # What casting a whole state to bfloat16 and back leaves of it.
            variance = (variance.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        np.savez(folder / f"step_{save * every}.npz", **state(save * every, kernel, variance))


def main() -> None:
    """Writes both runs below the folder that is named, or below this one."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "runs")
    write(root / "ill", MANY_STEPS, ill=True)
    write(root / "healthy", FEW_STEPS, ill=False)


if __name__ == "__main__":
    main()
