"""Wall time and memory of `jaxdoctor probe` on a model, with an empty and with a filled compilation cache.

    python benchmarks/probe_time.py [MODEL]

Memory is the largest sum, over the probe and its workers, of proportional set sizes, which count a page that
several processes share once.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

COLD_SECONDS, WARM_SECONDS, MOST_BYTES = 90, 30, 3 * 2**30
LOOK_SECONDS = 0.1


def main() -> None:
    """Probes twice and fails above the goals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", nargs="?")
    options = parser.parse_args()
    model = options.model or humanoid()
    with tempfile.TemporaryDirectory() as cache:
        (cold, most), (warm, least) = probed(model, cache), probed(model, cache)
    print(f"{Path(model).stem}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    print(f"cold {cold:5.1f} s, {most / 2**30:.2f} GiB   warm {warm:5.1f} s, {least / 2**30:.2f} GiB")
    sys.exit(cold > COLD_SECONDS or warm > WARM_SECONDS or max(most, least) > MOST_BYTES)


def probed(model: str | Path, cache: str) -> tuple[float, int]:
    """Seconds and bytes of one probe."""
    started, most = time.monotonic(), 0
    process = subprocess.Popen(
        [sys.executable, "-m", "jaxdoctor", "probe", str(model), "--fail-on", "never"],
        env={**os.environ, "XDG_CACHE_HOME": cache},
        stdout=subprocess.DEVNULL,
    )
    while process.poll() is None:
        most = max(most, sum(map(proportional, family(process.pid))))
        time.sleep(LOOK_SECONDS)
    if process.returncode:
        sys.exit(f"the probe ended with {process.returncode}")
    return time.monotonic() - started, most


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


def humanoid() -> Path:
    """MJX's own."""
    import importlib.util

    spec = importlib.util.find_spec("mujoco.mjx")
    assert spec is not None
    folder = Path(spec.origin or "").parent
    return folder / "test_data" / "humanoid" / "humanoid.xml"


if __name__ == "__main__":
    main()
