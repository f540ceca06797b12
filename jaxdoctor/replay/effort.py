"""Where a worker's time goes, and how much of what is left its first launch may take."""

from __future__ import annotations

import os
import time
from pathlib import Path

FIRST_LAUNCH_SHARE = 0.4
"""Of the time that is left. Replays that need more are cut short, and their steps are told."""


def first_launch_deadline(deadline: float) -> float:
    """The moment at which the first launch ends, finished or not."""
    now = time.monotonic()
    return now + FIRST_LAUNCH_SHARE * max(deadline - now, 0.0)


def since_start() -> float:
    """Seconds of wall time since this process was started; on systems without /proc, of its CPU time."""
    try:
        # Field 22 of proc_pid_stat(5), counted from 1: the start in clock ticks after boot.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return time.process_time()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
