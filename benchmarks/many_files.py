"""`scan-checkpoint` over many small files, as ratios of CPU time within one run.

`python benchmarks/many_files.py` makes the files in /tmp, measures, and deletes them. Each figure is the
least of some runs in fresh processes: what the machine does besides only makes a run slower. Imports are in
none of them but the last. A share of the sizes can be given: `python benchmarks/many_files.py 0.1`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from importlib.metadata import version
from pathlib import Path

ROUNDS = 3
FILES = 100_000
STEPS = 2000
DEEP = 512 << 20
RECORDS = 150_000

GOALS = {
    f"{FILES} files beside one npz, against a walk that reads 16 bytes of each": 6.0,
    f"{STEPS} npz steps, against loading each with np.load": 2.0,
    "--deep on safetensors: memmap and isfinite of the same against it": 0.9,
    "--deep on npz: np.load and isfinite of the same against it": 0.8,
    "--deep on a torch zip: torch.load and isfinite of the same against it": 0.8,
    "a pickle of records of Python numbers, against pickle.load": 3.0,
    "a pickle of NumPy arrays, against pickle.load": 3.0,
    "scan-checkpoint of one npz, whole process, against `import numpy`": 1.5,
}

WALK = """
    import os, sys, time
    started = time.process_time()
    for root, _, files in os.walk(sys.argv[1]):
        for name in files:
            with open(os.path.join(root, name), "rb") as file:
                file.read(16)
    print(time.process_time() - started)
"""

LOAD = """
    import sys, time
    from pathlib import Path
    import numpy as np
    started = time.process_time()
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        with np.load(path) as arrays:
            sum(arrays[name].size for name in arrays.files)
    print(time.process_time() - started)
"""

FINITE = """
    import sys, time
    import numpy as np
    started = time.process_time()
    values = np.memmap(sys.argv[1], np.float32, "r", offset=int(sys.argv[2]))
    bad = sum(piece.size - np.count_nonzero(np.isfinite(piece)) for piece in np.array_split(values, 512))
    print(time.process_time() - started)
"""

OF_NPZ = """
    import sys, time
    import numpy as np
    started = time.process_time()
    with np.load(sys.argv[1]) as arrays:
        bad = sum(arrays[name].size - np.count_nonzero(np.isfinite(arrays[name])) for name in arrays.files)
    print(time.process_time() - started)
"""

OF_TORCH = """
    import sys, time
    import torch
    torch.set_num_threads(1)
    started = time.process_time()
    bad = sum(one.numel() - int(one.isfinite().sum()) for one in torch.load(sys.argv[1]).values())
    print(time.process_time() - started)
"""

UNPICKLE = """
    import pickle, sys, time
    import numpy
    started = time.process_time()
    with open(sys.argv[1], "rb") as file:
        pickle.load(file)
    print(time.process_time() - started)
"""

SCAN = """
    import sys, time
    from pathlib import Path
    import numpy
    from jaxdoctor.checkpoints.options import Options
    from jaxdoctor.checkpoints.reader import READERS
    from jaxdoctor.checkpoints.scan import FAMILIES, scan
    from jaxdoctor.checkpoints.statistics import Depth
    from jaxdoctor.rules.rule import RULES
    list(RULES.load_all(*FAMILIES)), list(READERS.load_all())
    started = time.process_time()
    scan([Path(sys.argv[1])], Options(depth=Depth(sys.argv[2])))
    print(time.process_time() - started)
"""

WHOLE = """
    import resource, subprocess, sys
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(used.ru_utime + used.ru_stime)
"""


def least(code: str, *arguments: str) -> float:
    """The least CPU seconds that a fresh interpreter prints."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return min(float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(ROUNDS))


def many_files(folder: Path, count: int) -> float:
    """Text files in folders of a thousand, and one npz."""
    import numpy as np

    for index in range(count):
        below = folder / f"{index // 1000:03d}"
        below.mkdir(exist_ok=True)
        (below / f"{index}.{('txt', 'py', 'json', 'log')[index % 4]}").write_text(f'{{"a": {index}}}\n' * 5)
    np.savez(folder / "step_1.npz", w=np.ones(3, np.float32))
    return least(SCAN, str(folder), "sample") / least(WALK, str(folder))


def npz_steps(folder: Path, count: int) -> float:
    """Steps of three small arrays."""
    import numpy as np

    noise = np.random.default_rng(0)
    for step in range(count):
        values = noise.standard_normal((64, 64), np.float32)
        np.savez(folder / f"step_{step}.npz", w=values, b=values[0], step=np.int32(step))
    return least(SCAN, str(folder), "sample") / least(LOAD, str(folder))


def deep(folder: Path, size: int) -> float:
    """One model in 32 tensors."""
    import numpy as np
    from safetensors.numpy import save_file

    noise = np.random.default_rng(0)
    path = folder / "model.safetensors"
    save_file({f"w{k}": noise.standard_normal(size // 128, np.float32) for k in range(32)}, path)
    start = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    return least(FINITE, str(path), str(start)) / least(SCAN, str(path), "deep")


def deep_npz(folder: Path, size: int) -> float:
    """The same arrays in NumPy's zip, which keeps a checksum of each."""
    import numpy as np

    noise = np.random.default_rng(0)
    path = folder / "model.npz"
    np.savez(path, **{f"w{k}": noise.standard_normal(size // 128, np.float32) for k in range(32)})
    return least(OF_NPZ, str(path)) / least(SCAN, str(path), "deep")


def deep_torch(folder: Path, size: int) -> float:
    """The same arrays in torch's zip."""
    import torch

    path = folder / "model.pt"
    torch.save({f"w{k}": torch.randn(size // 128) for k in range(32)}, path)
    return least(OF_TORCH, str(path)) / least(SCAN, str(path), "deep")


def pickled_records(folder: Path, count: int) -> float:
    """A log of episodes, as training loops pickle it."""
    import pickle

    path = folder / "log.pkl"
    rows = [{"step": k, "reward": k / 7, "length": k % 1000, "done": k % 3 == 0} for k in range(count)]
    path.write_bytes(pickle.dumps(rows))
    return least(SCAN, str(path), "sample") / least(UNPICKLE, str(path))


def pickled_arrays(folder: Path, size: int) -> float:
    """A tree of NumPy arrays."""
    import pickle

    import numpy as np

    noise = np.random.default_rng(0)
    path = folder / "params.pkl"
    tree = {f"w{k}": noise.standard_normal(size // 128, np.float32) for k in range(32)}
    path.write_bytes(pickle.dumps(tree))
    return least(SCAN, str(path), "sample") / least(UNPICKLE, str(path))


def start_up(folder: Path) -> float:
    """A whole process over one that only imports NumPy."""
    import numpy as np

    np.savez(folder / "step_1.npz", w=np.ones(3, np.float32))
    ours = [sys.executable, "-m", "jaxdoctor", "scan-checkpoint", str(folder / "step_1.npz")]
    return least(WHOLE, *ours) / least(WHOLE, sys.executable, "-c", "import numpy")


def main() -> None:
    """Prints each figure beside its goal. A share of the sizes can be given: 0.1."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(
        json.dumps(
            {"python": sys.version.split()[0]} | {name: version(name) for name in ("numpy", "safetensors")}
        )
    )
    parts = (
        lambda folder: many_files(folder, int(FILES * share)),
        lambda folder: npz_steps(folder, int(STEPS * share)),
        lambda folder: deep(folder, int(DEEP * share)),
        lambda folder: deep_npz(folder, int(DEEP * share)),
        lambda folder: deep_torch(folder, int(DEEP * share)),
        lambda folder: pickled_records(folder, int(RECORDS * share)),
        lambda folder: pickled_arrays(folder, int(DEEP * share / 8)),
        start_up,
    )
    for (name, goal), part in zip(GOALS.items(), parts, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name:84}{part(Path(folder)):9.2f}   goal {goal:g}")


if __name__ == "__main__":
    main()
