"""What a probe takes, against one plain program of the same model, replays and steps, in the same run.

    python benchmarks/probe_speed.py [MODEL...]

The plain program is what its author would run: `jit` of a scan over `vmap(mjx.step)`, in a process of its
own, its imports and its compile included. The probe runs with an empty compilation cache and then with the
filled one. Seconds are wall time, and CPU time of all processes together; memory is the largest sum of
proportional set sizes, which count a page that several processes share once. dm_control's models need that
package.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COLD, WARM, MEMORY = 2.0, 0.6, 2.0
REPLAYS = 16
LOOK_SECONDS = 0.1

PLAIN = """
import math, sys
import jax, jax.numpy as jnp, mujoco
from mujoco import mjx
model = mujoco.MjModel.from_xml_path(sys.argv[1])
replays, steps = int(sys.argv[2]), max(500, math.ceil(1 / model.opt.timestep - 1e-9))
device = mjx.put_model(model)
data = jax.vmap(lambda _: mjx.make_data(model))(jnp.arange(replays))
step = jax.vmap(mjx.step, in_axes=(None, 0))
def rollout(device, data, controls):
    return jax.lax.scan(lambda data, ctrl: (step(device, data.replace(ctrl=ctrl)), data.qpos), data, controls)
jax.block_until_ready(jax.jit(rollout)(device, data, jnp.zeros((steps, replays, model.nu))))
"""


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    wall: float
    cpu: float
    most_bytes: int


def main() -> None:
    """Measures each model and fails above the goals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", help="MJCF files; the five of the goal by default")
    options = parser.parse_args()
    missed = False
    for model in options.models or ours():
        missed |= measure(str(model))
    sys.exit(missed)


def measure(model: str) -> bool:
    """Prints a line; whether a goal was missed."""
    with tempfile.TemporaryDirectory() as cache:
        plain = cost([sys.executable, "-c", PLAIN, model, str(REPLAYS)], cache)
        probe = [
            sys.executable,
            "-m",
            "jaxdoctor",
            "probe",
            model,
            "--quiet",
            "--no-cures",
            "--fail-on",
            "never",
        ]
        cold, warm = cost(probe, cache), cost(probe, cache)
    ratios = cold.wall / plain.wall, warm.wall / plain.wall, cold.most_bytes / plain.most_bytes
    lines = {
        "plain": f"{plain.wall:6.1f} s ({plain.cpu:5.1f} CPU), {plain.most_bytes / 2**30:.2f} GiB",
        "cold": against(cold, plain),
        "warm": against(warm, plain),
        "memory": f"ratio {ratios[2]:.2f}",
    }
    print(f"{Path(model).stem}, load {os.getloadavg()[0]:.0f} on {len(os.sched_getaffinity(0))} cores")
    for name, line in lines.items():
        print(f"  {name:8}{line}", flush=True)
    return ratios[0] > COLD or ratios[1] > WARM or ratios[2] > MEMORY


def against(cost: Cost, plain: Cost) -> str:
    """Seconds, and how many times those of the plain program."""
    times = f"ratio {cost.wall / plain.wall:.2f}, of CPU time {cost.cpu / plain.cpu:.2f}"
    return f"{cost.wall:6.1f} s ({cost.cpu:5.1f} CPU), {times}"


def cost(command: list[str], cache: str) -> Cost:
    """Runs it, and looks at its memory while it does."""
    variables = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    before, started, most = children_cpu(), time.monotonic(), 0
    process = subprocess.Popen(
        command,
        env={**variables, "XDG_CACHE_HOME": cache, "PJRT_NPROC": "16", "NPROC": "16"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        most = max(most, sum(map(proportional, family(process.pid))))
        time.sleep(LOOK_SECONDS)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}")
    return Cost(time.monotonic() - started, children_cpu() - before, most)


def children_cpu() -> float:
    """CPU seconds of all child processes that have ended, theirs included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = {child for task in tasks for child in (task / "children").read_text().split()}
    except OSError:
        return
    for child in children:
        yield from family(int(child))


def proportional(pid: int) -> int:
    """The bytes that a process holds, its share of shared pages among them."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def ours() -> Iterator[Path]:
    """MJX's humanoid, Barkour and shadow hand, dm_control's ball_in_cup, Brax's inverted pendulum.

    The last stands for dm_control's cartpole, which MJX refuses for its energy flag.
    """
    import importlib.util

    def folder(package: str) -> Path:
        spec = importlib.util.find_spec(package)
        locations = [] if spec is None else spec.submodule_search_locations
        assert locations, f"{package} is not installed"
        return Path(locations[0])

    shipped = folder("mujoco.mjx") / "test_data"
    yield shipped / "humanoid" / "humanoid.xml"
    yield shipped / "barkour_v0" / "assets" / "barkour_v0_mjx.xml"
    yield shipped / "shadow_hand" / "scene_right.xml"
    yield folder("dm_control.suite") / "ball_in_cup.xml"
    yield folder("brax") / "envs" / "assets" / "inverted_pendulum.xml"


if __name__ == "__main__":
    main()
