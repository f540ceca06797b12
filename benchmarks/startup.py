"""`jaxdoctor --help` against a Typer application that says hello: wall time of a process, as a ratio."""

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
        rounds = [(seconds(peer), seconds(ours)) for _ in range(ROUNDS)]
    peer_median, ours_median = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"Python {sys.version.split()[0]}, typer {version('typer')}, {ROUNDS} rounds")
    print(f"hello --help      {1000 * peer_median:6.0f} ms")
    print(f"jaxdoctor --help  {1000 * ours_median:6.0f} ms")
    print(f"ratio             {ours_median / peer_median:6.2f}    goal {GOAL}")


if __name__ == "__main__":
    main()
