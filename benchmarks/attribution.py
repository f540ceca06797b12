"""The search for the products that need the bits, against the plain sweep and one compile a hypothesis.

    python benchmarks/attribution.py [--scenario hand] [--apart 2]

Each way is a process of its own, without a cache, on the same recording: the plain sweep; the sweep with the
search and both cures tried; and hypotheses each of which traces and compiles a program of its own, of which a
few are measured and the time of one is multiplied. CPU time is what a busy machine leaves comparable.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

REPLAYS, STEPS = 16, 500
MOST = 3.0


def main() -> None:
    """Times the three ways and fails above the goal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scenario", default="hand")
    parser.add_argument("--apart", type=int, default=2, help="hypotheses that are compiled one by one")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        way, folder = options.child
        print(json.dumps(WAYS[way](folder, options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        spent = {way: timed(way, folder, options) for way in WAYS}
    _, plain, searched, apart = spent.values()
    hypotheses = searched[2]["hypotheses"]
    print(f"{options.scenario}, {REPLAYS} replays; {searched[2]['needs']}, {hypotheses} hypotheses")
    for name, index in (("wall", 0), ("CPU", 1)):
        each = apart[index] / options.apart
        print(
            f"{name:5} plain sweep {plain[index]:6.1f} s   with the search {searched[index]:6.1f} s   "
            f"ratio {searched[index] / plain[index]:.2f}   one compile a hypothesis "
            f"{hypotheses} x {each:.1f} s = {hypotheses * each:.0f} s"
        )
    sys.exit(searched[1] / plain[1] > MOST)


def timed(way: str, folder: str, options: argparse.Namespace) -> tuple[float, float, Any]:
    """Wall time, CPU time and answer of one process."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_llvm_disable_expensive_passes=true",
    }
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, __file__, "--child", way, folder]
    command += ["--scenario", options.scenario, "--apart", str(options.apart)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - started, spent, json.loads(done.stdout.splitlines()[-1])


def record(folder: str, options: argparse.Namespace) -> None:
    """What all ways replay."""
    from jaxdoctor.replay.plan import RecordPlan
    from jaxdoctor.replay.prepare import prepare
    from jaxdoctor.workers.progress import SILENT

    plan = RecordPlan(
        model=f"scenario:{options.scenario}", controls=None, replays=REPLAYS, steps=STEPS, seed=0
    )
    prepare(folder, plan, progress=SILENT)


def swept(folder: str, *, attribute: bool) -> dict[str, Any]:
    """The sweep as a probe on a card with TF32 asks it."""
    from jaxdoctor.facts.precision import BF16, F32, TF32
    from jaxdoctor.replay.plan import SweepPlan
    from jaxdoctor.replay.sweep import sweep
    from jaxdoctor.workers.progress import SILENT

    taken = {F32.mantissa_bits, TF32.mantissa_bits, BF16.mantissa_bits}
    plan = SweepPlan(
        batch=REPLAYS,
        replays=REPLAYS,
        most_replays=REPLAYS,
        named=(F32, TF32, BF16),
        delivered=TF32,
        widths=tuple(bits for bits in range(22, 0, -1) if bits not in taken),
        searched=True,
        deadline=time.monotonic() + 3600,
        compares=False,
        clear_above=1.0,
        attribute=attribute,
    )
    found = sweep(folder, plan, progress=SILENT).attribution
    if found is None:
        return {}
    return {
        "hypotheses": found.hypotheses,
        "needs": f"{found.words}, {found.share:.1%} of the operations, cured: {found.cured}",
    }


def apart(folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """A program of its own for each hypothesis: this product exact, all others rounded."""
    from jaxdoctor.replay.ensemble import Ensemble
    from jaxdoctor.replay.plan import Lane
    from jaxdoctor.replay.scratch import Scratch

    scratch = Scratch(folder)
    for site in range(options.apart):
        ensemble = Ensemble(scratch.simulation(), batch=REPLAYS)
        bits = tuple(23 if other == site else 10 for other in range(len(ensemble.program.sites)))
        ensemble.roll_out(scratch.recording(), [Lane(bits=10, by_site=bits)])
    return {}


WAYS = {
    "record": record,
    "plain": lambda folder, _: swept(folder, attribute=False),
    "searched": lambda folder, _: swept(folder, attribute=True),
    "apart": apart,
}


if __name__ == "__main__":
    main()
