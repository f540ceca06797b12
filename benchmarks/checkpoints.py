"""`scan-checkpoint` beside the libraries that write and read checkpoints: ratios measured in one run.

`python benchmarks/checkpoints.py` makes a 2 GiB model in /tmp, measures, and deletes it again; another size
can be given. Each figure is taken in a fresh process with a warm page cache; the peers do the least work that
answers the same question. Times are CPU time of all threads, which a busy machine lengthens least.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from importlib.metadata import version
from pathlib import Path

ROUNDS = 3
START_ROUNDS = 11
SMALL = 1000
LEAVES = 20_000

GOALS = {
    "default mode against Orbax restoring, times faster": 50.0,
    "share of bytes read in default mode, percent": 2.0,
    "peak memory of default mode, MiB": 128.0,
    "--deep against tensorstore and NumPy, throughput": 0.5,
    "--deep on safetensors, GB/s": 1.5,
    "--deep, peak memory on safetensors, MiB": 128.0,
    "one of a thousand small checkpoints, ms": 20.0,
    "20,000 leaves in default mode against Orbax restoring, times faster": 15.0,
    "the same, peak memory, MiB": 128.0,
    "default mode against Orbax restoring, whole processes, CPU, times faster": 12.0,
    "whole process against a hello-world Typer app": 2.5,
}

MAKE = """
    import numpy as np, jax.numpy as jnp, orbax.checkpoint as ocp, safetensors.numpy, sys
    from pathlib import Path

    folder = Path(sys.argv[1])
    noise = np.random.default_rng(0)
    shapes = [(4096, 2048)] * (32 * int(sys.argv[2])) + [(2048,)] * 100 + [(1024, 1024)] * 8
    tree = {f"layer_{index}": noise.standard_normal(shape, np.float32) for index, shape in enumerate(shapes)}
    tree["step"] = np.array(7, np.int32)
    safetensors.numpy.save_file(tree, folder / "model.safetensors")
    ocp.PyTreeCheckpointer().save(folder / "orbax" / "1000", {k: jnp.asarray(v) for k, v in tree.items()})
    if len(sys.argv) > 3:
        leaves = {f"layer_{k}": {"w": jnp.full((8,), k, jnp.float32)} for k in range(int(sys.argv[3]))}
        ocp.PyTreeCheckpointer().save(folder / "leaves" / "1000", leaves)
    small = {"w": jnp.ones((64, 64)), "count": jnp.int32(1)}
    with ocp.StandardCheckpointer() as checkpointer:
        for step in range(4):
            checkpointer.save(folder / "small" / str(step), small)
"""

RESTORE = """
    import sys, time
    import orbax.checkpoint as ocp

    checkpointer = ocp.PyTreeCheckpointer()
    started = time.process_time()
    checkpointer.restore(sys.argv[1])
    print(time.process_time() - started)
    sys.stdout.flush()
"""

TENSORSTORE = """
    import json, sys, time
    import numpy as np, tensorstore as ts

    started = time.process_time()
    base = f"file://{sys.argv[1]}/"
    store = ts.KvStore.open({"driver": "ocdbt", "base": base}).result()
    bad = size = 0
    for key in store.list().result():
        if not key.endswith(b"/.zarray"):
            continue
        array = ts.open(
            {
                "driver": "zarr",
                "kvstore": {"driver": "ocdbt", "base": base, "path": key[: -len(b".zarray")].decode()},
            },
            open=True,
        ).result()
        values = array.read().result()
        bad += values.size - np.count_nonzero(np.isfinite(values))
        size += values.nbytes
    print(time.process_time() - started)
"""

SCAN = """
    import os, resource, sys, time
    from pathlib import Path

    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import numpy, tensorstore

    from jaxdoctor.checkpoints.statistics import Depth
    from jaxdoctor.checkpoints.reader import READERS
    from jaxdoctor.rules.rule import RULES
    from jaxdoctor.checkpoints.scan import Options, scan

    # The peers' imports are not in their times either.
    list(RULES.load_all()), list(READERS.load_all())
    started, cpu = time.perf_counter(), time.process_time()
    report = scan([Path(sys.argv[1])], Options(depth=Depth(sys.argv[2])))
    wall, busy = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    read = sum(one.bytes_read for one in report.checkpoints)
    total = sum(one.bytes_total for one in report.checkpoints)
    print(busy, wall, peak, read, total, len(report.checkpoints))
"""

HELLO = """
import typer

app = typer.Typer()


@app.command()
def hello(name: str = "world") -> None:
    print(f"hello {name}")


app()
"""


def run(code: str, *arguments: str) -> list[float]:
    """The numbers that a fresh interpreter prints."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [float(word) for word in done.stdout.split()[-6:]] if done.stdout else []


def best(code: str, *arguments: str) -> list[float]:
    """The fastest of some runs: what the machine does besides only makes a run slower."""
    return min(run(code, *arguments) for _ in range(ROUNDS))


def wall(command: list[str]) -> float:
    """Seconds of a whole process."""
    started = time.perf_counter()
    subprocess.run(command, check=False, capture_output=True)
    return time.perf_counter() - started


def busy(command: list[str]) -> float:
    """The least CPU seconds of a whole process."""
    seconds = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def start_ratio(folder: Path) -> float:
    """A whole `scan-checkpoint` of a small npz over a hello-world Typer app."""
    import numpy as np

    np.savez(folder / "small.npz", w=np.ones((64, 64), np.float32), step=np.int32(3))
    (folder / "hello.py").write_text(HELLO)
    ours = [sys.executable, "-m", "jaxdoctor", "scan-checkpoint", str(folder / "small.npz")]
    rounds = [(wall(ours), wall([sys.executable, str(folder / "hello.py")])) for _ in range(START_ROUNDS)]
    mine, peer = (statistics.median(column) for column in zip(*rounds, strict=True))
    return mine / peer


def many(folder: Path) -> None:
    """A run of a thousand small checkpoints, copies of four that Orbax wrote."""
    import shutil

    for step in range(4, SMALL):
        shutil.copytree(folder / "small" / str(step % 4), folder / "small" / str(step))


def measure(folder: Path, size: int) -> dict[str, float]:
    """Every figure, in the order of the goals."""
    run(MAKE, str(folder), str(size), str(LEAVES))
    many(folder)
    orbax, model = str(folder / "orbax" / "1000"), str(folder / "model.safetensors")
    (restored,) = best(RESTORE, orbax)
    quick = best(SCAN, orbax, "sample")
    (counted,) = best(TENSORSTORE, orbax)
    deep = best(SCAN, orbax, "deep")
    flat = best(SCAN, model, "deep")
    small = best(SCAN, str(folder / "small"), "sample")
    leaves = str(folder / "leaves" / "1000")
    (restored_leaves,) = best(RESTORE, leaves)
    scanned_leaves = best(SCAN, leaves, "sample")
    ours = [sys.executable, "-m", "jaxdoctor", "scan-checkpoint", orbax]
    peers = [sys.executable, "-c", textwrap.dedent(RESTORE), orbax]
    figures = (
        restored / quick[0],
        100 * quick[3] / quick[4],
        quick[2],
        counted / deep[0],
        flat[4] / 1e9 / flat[0],
        flat[2],
        1000 * small[0] / small[5],
        restored_leaves / scanned_leaves[0],
        scanned_leaves[2],
        busy(peers) / busy(ours),
        start_ratio(folder),
    )
    return dict(zip(GOALS, figures, strict=True))


def main() -> None:
    """Prints each figure beside its goal. The GiB of the model can be given: 4."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    packages = ("orbax-checkpoint", "tensorstore", "numpy", "safetensors", "typer")
    print(json.dumps({"python": sys.version.split()[0]} | {name: version(name) for name in packages}))
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), size)
    for name, figure in figures.items():
        print(f"{name:76}{figure:9.2f}   goal {GOALS[name]:g}")


if __name__ == "__main__":
    main()
