"""How long five ways through the pages take, and how each ends: every command as its page has it.

Run it with the Python of a fresh environment that holds jaxdoctor, Brax and nothing else of ours:
`python benchmarks/journeys.py`. Prints the rows of docs/figures.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOVER = "examples/environments/hover.py:make_env"
ROUTES = {
    "NaN at inference": (
        "python examples/environments/save_policies.py runs/hover",
        f"jaxdoctor probe --env {HOVER} --policy runs/hover/000000000200 --steps 50 --card rtx-4090 --quiet",
        "jaxdoctor rule JD234",
        "jaxdoctor scan-checkpoint runs/hover",
        f"jaxdoctor probe --env {HOVER} --policy runs/hover/000000000100 --steps 50 --card rtx-4090 --quiet",
    ),
    "a pull request's gate": (
        "jaxdoctor preflight --init",
        "printf 'scan:\\n- path: runs/ill\\n' > jaxdoctor.yaml",
        "jaxdoctor preflight --only scan --write-baseline jaxdoctor-baseline.json",
        "jaxdoctor preflight --only scan --baseline jaxdoctor-baseline.json",
    ),
    "a run that looks odd": (
        "python examples/write_runs.py",
        "jaxdoctor scan-checkpoint runs/ill",
        "jaxdoctor rule JD311",
    ),
    "an update": (
        "jaxdoctor check-update examples/update/train.py:ill --calls-per-second 244",
        "jaxdoctor check-update examples/update/train.py:cured --calls-per-second 244 --fail-on note",
    ),
    "a node": ("jaxdoctor probe --level 1 --expect-card h100 --expect-count 8",),
}
"""Of each page the commands in their order. The gate needs the runs of `examples/write_runs.py`."""


def walked(commands: tuple[str, ...], folder: Path) -> tuple[float, list[int]]:
    """Wall time in seconds, and the exit codes."""
    codes = []
    started = time.perf_counter()
    for command in commands:
        words = command.replace("jaxdoctor ", f"{sys.executable} -m jaxdoctor ", 1)
        words = words.replace("python ", f"{sys.executable} ", 1) if command.startswith("python ") else words
        codes.append(
            subprocess.run(words, shell=True, cwd=folder, check=False, capture_output=True).returncode
        )
    return time.perf_counter() - started, codes


def main() -> None:
    """Prints a row for each way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        subprocess.run(
            [sys.executable, "examples/write_runs.py"], cwd=folder, check=True, capture_output=True
        )
        print("| way | commands | seconds | exit codes |\n|---|---|---|---|")
        for route, commands in ROUTES.items():
            seconds, codes = walked(commands, folder)
            print(f"| {route} | {len(commands)} | {seconds:.0f} | {', '.join(map(str, codes))} |", flush=True)


if __name__ == "__main__":
    main()
