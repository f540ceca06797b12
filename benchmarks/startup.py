"""`jaxdoctor --help` against a Typer application that says hello: wall time of a process, as a ratio.

And `jaxdoctor rule` with arguments converted by `config/arguments.py` against the same converted by Typer.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROUNDS = 15
GOAL = 2.0

HELLO = """
import typer

app = typer.Typer()


@app.command()
def hello(name: str = "world") -> None:
    print(f"hello {name}")


app()
"""


BY_TYPER = """
import sys

from jaxdoctor.config import arguments

arguments._converted_here = lambda parameters: parameters
sys.argv = ["jaxdoctor", "rule", "JD301"]

from jaxdoctor.cli import main

main()
"""


def seconds(command: list[str]) -> float:
    """Wall time of one run."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Measures both in turn, so that whatever else the machine does falls on both."""
    with tempfile.TemporaryDirectory() as folder:
        hello = Path(folder) / "hello.py"
        hello.write_text(HELLO)
        peer = [sys.executable, str(hello), "--help"]
        ours = [sys.executable, "-m", "jaxdoctor", "--help"]
        rule = [sys.executable, "-m", "jaxdoctor", "rule", "JD301"]
        rounds = [
            tuple(map(seconds, (peer, ours, rule, [sys.executable, "-c", BY_TYPER]))) for _ in range(ROUNDS)
        ]
    peer_median, ours_median, rule_median, typers_median = (
        statistics.median(column) for column in zip(*rounds, strict=True)
    )
    print(f"Python {sys.version.split()[0]}, typer {version('typer')}, {ROUNDS} rounds")
    print(f"hello --help      {1000 * peer_median:6.0f} ms")
    print(f"jaxdoctor --help  {1000 * ours_median:6.0f} ms")
    print(f"ratio             {ours_median / peer_median:6.2f}    goal {GOAL}")
    print(f"jaxdoctor rule    {1000 * rule_median:6.0f} ms")
    print(f"converted by Typer{1000 * typers_median:6.0f} ms")
    print(f"ratio             {typers_median / rule_median:6.2f}")


if __name__ == "__main__":
    main()
