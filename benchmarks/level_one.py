"""What a look at the machine costs beyond importing jax: `python benchmarks/level_one.py`."""

import os
import subprocess
import sys
import time
from importlib.metadata import version
from statistics import median

ROUNDS = 3
LIMIT_SECONDS = 10.0
"""What level 1 of a probe may take beyond importing jax, on two cores without an accelerator."""

IMPORT = "import jax; jax.devices()"
EXAMINE = "from jaxdoctor.machine.judged import examine_machine; examine_machine()"
NAMED = "from jaxdoctor.machine.judged import examine_machine; examine_machine('rtx-4090')"


def seconds(program: str) -> float:
    """The median wall time of that program in a fresh interpreter."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(time.perf_counter() - started)
    return median(times)


def main() -> None:
    """Prints the times in one run, so that their differences and ratios mean something."""
    alone, here, named = seconds(IMPORT), seconds(EXAMINE), seconds(NAMED)
    print(f"jaxlib {version('jaxlib')}, {os.cpu_count()} cores, median of {ROUNDS} rounds")
    print(f"importing jax and asking for devices   {alone:6.2f} s")
    print(f"the machine, all products measured     {here:6.2f} s, {here - alone:.2f} s beyond that")
    print(f"a named card                           {named:6.2f} s, {named - alone:.2f} s beyond that")
    print(f"allowed are {LIMIT_SECONDS:.0f} s: {'kept' if here - alone <= LIMIT_SECONDS else 'exceeded'}")


if __name__ == "__main__":
    main()
