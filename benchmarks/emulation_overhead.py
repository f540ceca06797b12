"""What emulating a precision costs per step, against the plain vmapped `mjx.step`.

    python benchmarks/emulation_overhead.py [--rounds 15]

Both programs are compiled in this process for the same batch and scanned over the same steps. They run in
turn, so that whatever else the machine does falls on both, and the ratio of the fastest rounds is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

BATCH, STEPS = 64, 50
MOST = 1.15


def main() -> None:
    """Measures each model and fails above the goal."""
    from jaxdoctor.workers.stdout import chatter_to_stderr

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("models", nargs="*", help="MJCF files; MJX's humanoid and Barkour by default")
    options = parser.parse_args()
    os.environ.update(PJRT_NPROC="16", NPROC="16")
    os.environ.setdefault("XLA_FLAGS", "--xla_llvm_disable_expensive_passes=true")
    with chatter_to_stderr():
        rows = [measure(path, options.rounds) for path in options.models or ours()]
    print(
        f"batch {BATCH}, {STEPS} scanned steps, ratio of the fastest of {options.rounds} rounds, at 10 bits"
    )
    for name, sites, plain, emulated, middle in rows:
        print(
            f"{name:24} {sites:3} products  plain {plain * 1e6:7.2f} us  emulated {emulated * 1e6:7.2f} us  "
            f"ratio {emulated / plain:.3f} (medians {middle:.3f})"
        )
    sys.exit(any(emulated / plain > MOST for _, _, plain, emulated, _ in rows))


def ours() -> list[Path]:
    """The models of the goal."""
    from mujoco import mjx

    folder = Path(mjx.__file__).parent / "test_data"
    return [folder / "humanoid" / "humanoid.xml", folder / "barkour_v0" / "assets" / "barkour_v0_mjx.xml"]


def measure(path: str | Path, rounds: int) -> tuple[str, int, float, float, float]:
    """A model: its rounded products, seconds per step plain and emulated, the ratio of the medians."""
    import mujoco

    from jaxdoctor.replay.ensemble import Ensemble
    from jaxdoctor.replay.plan import Lane
    from jaxdoctor.replay.systems.mjx import simulation
    from jaxdoctor.rollouts.record import record

    model = mujoco.MjModel.from_xml_path(str(path))
    recording = record(model, replays=BATCH, steps=STEPS, seed=0)
    programs = [
        Ensemble(simulation(model), batch=BATCH, emulated=emulated, chunk=STEPS) for emulated in (False, True)
    ]
    times: list[list[float]] = [[], []]
    for program in programs:
        program.compile()
    for turn in range(rounds + 1):
        for program, seconds in zip(programs, times, strict=True):
            (rollout,) = program.roll_out(recording, [Lane(bits=10)])
            if turn:  # the first round warms up
                seconds.append(rollout.seconds_per_step or 0.0)
    plain, emulated = (min(seconds) for seconds in times)
    middle = statistics.median(times[1]) / statistics.median(times[0])
    return Path(path).stem, len(programs[1].program.sites), plain, emulated, middle


if __name__ == "__main__":
    main()
