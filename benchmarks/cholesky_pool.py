"""Shows with how many threads XLA:CPU's batched Cholesky hangs, and with how many of them at once.

Run it with `python benchmarks/cholesky_pool.py`; it takes a few minutes, most of them waiting.
"""

import os
import subprocess
import sys
from importlib.metadata import version

THREADS = (1, 2, 3, 4, 8, 16)
AT_ONCE = (1, 2, 8)
PATIENCE_SECONDS = 12
TRIES = 3
"""It is a race, so one return proves nothing."""

PROGRAM = """
import sys
import jax
import jax.numpy as jnp

@jax.jit
def steps(states):
    def one(states, _):
        squares = [state @ jnp.swapaxes(state, -1, -2) + 14 * jnp.eye(14) for state in states]
        return [jnp.linalg.cholesky(square) * 0.5 + 0.1 for square in squares], None
    return jax.lax.scan(one, states, None, length=200)[0]

states = [jax.random.normal(jax.random.key(i), (704, 14, 14)) for i in range(int(sys.argv[1]))]
jax.block_until_ready(steps(states))
"""


def returns(threads: int, at_once: int) -> bool:
    """Whether 200 steps with that many batched factorizations at once come to an end."""
    variables = {**os.environ, "PJRT_NPROC": str(threads), "NPROC": str(threads), "JAX_PLATFORMS": "cpu"}
    try:
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(at_once)], env=variables, timeout=PATIENCE_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        return False
    return True


def main() -> None:
    """Prints a table in Markdown."""
    print(f"jaxlib {version('jaxlib')}, {TRIES} tries of {PATIENCE_SECONDS} s\n")
    print("| threads | " + " | ".join(f"{at_once} at once" for at_once in AT_ONCE) + " |")
    print("|---" * (len(AT_ONCE) + 1) + "|")
    for threads in THREADS:
        hung = [sum(not returns(threads, at_once) for _ in range(TRIES)) for at_once in AT_ONCE]
        cells = [f"hangs {count} of {TRIES}" if count else "returns" for count in hung]
        print(f"| {threads} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
