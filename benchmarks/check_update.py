"""Times `jaxdoctor check-update`, process start and imports of the target included, over real updates.

python benchmarks/check_update.py
"""

import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]

RUNS = 3

TARGETS = (
    ("examples/update/train.py:cured", "a dictionary of parameters and counters"),
    ("tests.sample_updates:train_state", "Flax linen, TrainState, AdamW with a schedule"),
    ("tests.sample_updates:nnx_optimizer", "Flax NNX, Optimizer"),
    ("tests.sample_updates:equinox_model", "Equinox, MLP under filter_jit"),
    ("tests.sample_updates:brax_ppo", "Brax, PPO's loss and gradient update"),
    ("tests.sample_updates:transformer", "Flax linen, 12 layers of width 768, 1.8 GiB of state"),
)


def measured(target: str) -> tuple[float, float, int, int]:
    """Seconds of the whole command and of the processor, leaves of the state, programs compiled."""
    started, used = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", "jaxdoctor", "check-update", target, "--format", "json", "--fail-on", "never"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    seconds, after = time.perf_counter() - started, os.times()
    busy = after.children_user + after.children_system - used.children_user - used.children_system
    (signature,) = json.loads(done.stdout)["signatures"]
    return seconds, busy, len(signature["leaves"]), signature["compilations"]


if __name__ == "__main__":
    print(
        f"jax {version('jax')}, Python {platform.python_version()}, {os.cpu_count()} cores; best of {RUNS}\n"
    )
    print("| update | leaves | compiled | seconds | CPU seconds |\n| --- | --- | --- | --- | --- |")
    for target, words in TARGETS:
        seconds, busy, leaves, compiled = min(measured(target) for _ in range(RUNS))
        print(f"| {words} | {leaves} | {compiled} | {seconds:.1f} | {busy:.1f} |", flush=True)
