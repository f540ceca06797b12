"""Every width in one program, against one process for each width.

    python benchmarks/sweep.py [MODEL]

A process for each width is what a sweep needs when the width is a constant of the program: each starts JAX,
traces, compiles and replays. Both ways replay the same states with the same controls, without a cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

WIDTHS = (23, 16, 13, 12, 11, 10, 9, 8)
REPLAYS, STEPS = 16, 100
LEAST = 5.0


def main() -> None:
    """Times both ways and fails below the goal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--bits", help=argparse.SUPPRESS)
    options = parser.parse_args()
    model = options.model or humanoid()
    if options.bits:
        count(model, [int(bits) for bits in options.bits.split(",")])
        return
    apart = sum(timed(model, str(bits)) for bits in WIDTHS)
    together = timed(model, ",".join(map(str, WIDTHS)))
    print(f"{len(WIDTHS)} widths, {REPLAYS} replays of {STEPS} steps, {Path(model).stem}")
    print(
        f"one process a width {apart:6.1f} s   one program {together:6.1f} s   ratio {apart / together:.1f}"
    )
    sys.exit(apart / together < LEAST)


def timed(model: str | Path, bits: str) -> float:
    """Wall time of one process that replays at these widths."""
    flags = {"XLA_FLAGS": "--xla_llvm_disable_expensive_passes=true", "PJRT_NPROC": "16", "NPROC": "16"}
    environment = {**os.environ, **flags}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, __file__, "--bits", bits, str(model)]
    started = time.monotonic()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def count(model: str | Path, bits: list[int]) -> None:
    """The child's side: one program for these widths."""
    from jaxdoctor.replay.ensemble import failed_counts

    failed_counts(str(model), bits, replays=REPLAYS, steps=STEPS)


def humanoid() -> Path:
    """MJX's own."""
    import importlib.util

    spec = importlib.util.find_spec("mujoco.mjx")
    assert spec is not None
    folder = Path(spec.origin or "").parent
    return folder / "test_data" / "humanoid" / "humanoid.xml"


if __name__ == "__main__":
    main()
