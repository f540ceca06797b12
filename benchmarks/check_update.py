"""Times `jaxdoctor check-update`, process start and imports of the target included, over real updates.

python benchmarks/check_update.py
"""

import ast
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


SCRIPTS = (
    ("ppo.py", "PureJaxRL's PPO: one jitted function, all in closures"),
    ("dqn.py", "PureJaxRL's DQN: a buffer, learning behind a condition"),
    ("linen.py", "Flax linen, TrainState, a plain loop"),
    ("nnx_script.py", "Flax NNX"),
    ("equinox_script.py", "Equinox, filter_jit"),
    ("haiku_script.py", "Haiku"),
)


def processor_seconds(*command: str) -> float:
    """Of a command and all that it starts; other people's load does not count."""
    used = os.times()
    subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, cwd=ROOT)
    after = os.times()
    return after.children_user + after.children_system - used.children_user - used.children_system


def start_of(script: Path) -> float:
    """Processor seconds that the script's own imports take."""
    body = ast.parse(script.read_text()).body
    imports = [ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    return processor_seconds("-c", "; ".join(imports))


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

    print("\n| script, by --run | its imports | all | beside them |\n| --- | --- | --- | --- |")
    for name, words in SCRIPTS:
        script = ROOT / "tests" / "updates" / "scripts" / name
        command = ("-m", "jaxdoctor", "check-update", "--run", str(script), "--fail-on", "never")
        own = min(start_of(script) for _ in range(RUNS))
        whole = min(processor_seconds(*command) for _ in range(RUNS))
        print(f"| {words} | {own:.1f} | {whole:.1f} | {whole - own:.1f} |", flush=True)
