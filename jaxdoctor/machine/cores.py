"""How many processor cores a process may really use."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

POOL_VARIABLES = ("PJRT_NPROC", "NPROC")
"""What XLA:CPU takes the size of its thread pool from, before it counts cores."""


def usable_cores(root: Path = Path("/")) -> int:
    """Cores after the scheduler's affinity and the control group's limit, rounded up."""
    limits = [limit for limit in _cgroup_limits(root) if limit > 0]
    return max(1, min([schedulable_cores(), *(math.ceil(limit) for limit in limits)]))


def schedulable_cores() -> int:
    """Cores that the scheduler may put this process on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pool_threads(environ: Mapping[str, str]) -> int:
    """The threads of XLA:CPU's pool in a process with these variables; it does not see control groups."""
    for name in POOL_VARIABLES:
        value = environ.get(name, "").strip()
        if value.isdecimal():
            return int(value)
    return schedulable_cores()


def _cgroup_limits(root: Path) -> Iterator[float]:
    """Every limit on the way from this process's group up to the root, in cores."""
    for hierarchy, path in _groups(root):
        folder = root / "sys/fs/cgroup" / hierarchy
        for group in (folder / path, *(folder / path).parents):
            if not group.is_relative_to(folder):
                break
            yield from _quota(group)


def _groups(root: Path) -> Iterator[tuple[str, str]]:
    """The cgroup folders of this process: version 2's single one, version 1's for the cpu controller."""
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            number, controllers, path = (*line.split(":", 2), "", "")[:3]
            if number == "0":
                yield "", path.strip("/")
            elif "cpu" in controllers.split(","):
                yield controllers, path.strip("/")
                yield "cpu", path.strip("/")


def _quota(group: Path) -> Iterator[float]:
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (group / "cpu.max").read_text().split()
        yield float(quota) / float(period)  # "max" is no number: no limit
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        quota = (group / "cpu.cfs_quota_us").read_text()
        yield float(quota) / float((group / "cpu.cfs_period_us").read_text())
