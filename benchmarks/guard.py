"""What a guard costs: the time and the memory of a vmapped humanoid step with it, against the same without.

    python benchmarks/guard.py [--batch 256] [--steps 8] [--pairs 15] [--rows 64]

Brax's humanoid on MJX, stepped by a scan under `jit(vmap)`. The two programs run in turn, and the ratio is
the median over pairs: what slows the machine down slows both. Memory is what the compiler plans: arguments,
outputs and temporaries, less what is shared.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

MOST_TIME, MOST_MEMORY = 1.03, 1.01


def main() -> None:
    """Measures, prints, and says whether the goals hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--environment", default="humanoid")
    asked = parser.parse_args()

    import brax
    import jax
    import mujoco
    from brax import envs

    from jaxdoctor.remedies import guard

    plain = envs.get_environment(asked.environment, backend="mjx")
    with tempfile.TemporaryDirectory() as folder:
        guarded = guard(plain, Path(folder) / "failure.zip", rows=asked.rows)
        runs = [compiled(env, asked.batch, asked.steps) for env in (plain, guarded)]
        ratios = [pair(runs, first=number % 2) for number in range(asked.pairs + 1)][1:]
        assert not list(Path(folder).iterdir()), "the environment failed, so the ratio says nothing"
    memory = [planned(run) for run, _ in runs]
    versions = f"jax {jax.__version__}, mujoco {mujoco.__version__}, brax {brax.__version__}"
    print(f"{versions}, {jax.devices()[0].device_kind}")
    print(f"{asked.environment}, batch {asked.batch}, {asked.steps} steps a program, {asked.rows} rows")
    time_ratio, memory_ratio = statistics.median(ratios), memory[1] / memory[0]
    low, high = statistics.quantiles(ratios, n=4)[::2]
    print(f"time {time_ratio:.3f} (quartiles {low:.3f} to {high:.3f}, goal {MOST_TIME})")
    each = memory[0] / asked.batch / 1024
    print(f"memory {memory_ratio:.3f} ({each:.0f} KiB an environment without it, goal {MOST_MEMORY})")


def compiled(env: Any, batch: int, steps: int) -> tuple[Any, Any]:
    """The program of some steps of a batch, and a state to run it from."""
    import jax
    import jax.numpy as jnp

    def run(state: Any) -> Any:
        actions = jnp.zeros((steps, batch, env.action_size))
        return jax.lax.scan(lambda state, action: (jax.vmap(env.step)(state, action), None), state, actions)[
            0
        ]

    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), batch))
    return jax.jit(run, donate_argnums=0).lower(state).compile(), state


def pair(runs: list[tuple[Any, Any]], *, first: int) -> float:
    """The time of the guarded program over that of the plain one, run one after the other."""
    seconds = [0.0, 0.0]
    for number in (first, 1 - first):
        run, state = runs[number]
        started = time.perf_counter()
        runs[number] = (run, ready(run(state)))
        seconds[number] = time.perf_counter() - started
    return seconds[1] / seconds[0]


def ready(state: Any) -> Any:
    """The state, once it is there."""
    import jax

    return jax.block_until_ready(state)  # type: ignore[no-untyped-call]


def planned(run: Any) -> int:
    """The bytes that a compiled program holds while it runs."""
    plan = run.memory_analysis()
    held = plan.argument_size_in_bytes + plan.output_size_in_bytes + plan.temp_size_in_bytes
    return int(held - plan.alias_size_in_bytes)


if __name__ == "__main__":
    main()
