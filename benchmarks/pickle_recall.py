"""`scan-checkpoint` beside picklescan, fickling and modelscan: which pickles each of them reports.

    python benchmarks/pickle_recall.py FOLDER [--python PYTHON]

FOLDER holds `hostile/SET/FILE` and `healthy/SET/FILE`. The peers' own test files make the sets: `tests/data`
and `tests/data2` of mmaitre314/picklescan, the bytes that trailofbits/fickling's tests hand to its
`check_safety`, and what protectai/modelscan's fixtures write; `tests/fixtures/pickles.tar.xz` unpacks into
healthy ones. The hostile ones are no part of this repository, and nothing here loads them.
PYTHON has the peers installed.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.finding import Severity

FLAGGED = 1
"""The exit code by which each peer reports something."""

PEERS = {
    "picklescan": ["-m", "picklescan.cli", "--path"],
    "fickling": ["-m", "fickling", "--check-safety"],
    "modelscan": ["-m", "modelscan.cli", "scan", "--path"],
}
CODES = {"hostile-content", "carried-code"}
WHERE = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


def by_jaxdoctor(path: Path) -> str:
    """What a scan of one file says: "flag", "silent", or that it is not read."""
    try:
        report = scan([path], Options())
    except JaxdoctorError:
        return "not read"
    stated = any(one.name in CODES and one.severity > Severity.NOTE for one in report.findings)
    return "flag" if stated else "silent"


def by_peer(python: str, name: str, path: Path) -> str:
    """The same of a peer, by its exit code."""
    command = [python, *PEERS[name], str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode == 0:
        return "silent"
    failed = "Traceback" in done.stderr and name != "fickling"
    return "flag" if done.returncode == FLAGGED and not failed else "not read"


def installed(python: str) -> dict[str, str]:
    """The peers that the interpreter has, with their versions."""
    found = {}
    for name in PEERS:
        done = subprocess.run([python, "-c", WHERE, name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found[name] = done.stdout.strip()
        else:
            print(f"{name} is not installed and left out", file=sys.stderr)
    return found


def main() -> None:
    """Counts each tool's answers over all sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable)
    stated = parser.parse_args()
    peers = installed(stated.python)
    counts: dict[str, dict[str, collections.Counter[str]]] = {}
    flagged: collections.Counter[str] = collections.Counter()
    union: set[Path] = set()
    for path in sorted(path for path in stated.folder.glob("*/*/**/*") if path.is_file()):
        kind = path.relative_to(stated.folder).parts[0]
        answers = {"jaxdoctor": by_jaxdoctor(path)}
        answers |= {name: by_peer(stated.python, name, path) for name in peers}
        for name, answer in answers.items():
            counts.setdefault(kind, {}).setdefault(name, collections.Counter())[answer] += 1
        if kind == "hostile" and "flag" in answers.values():
            union.add(path)
            flagged.update(name for name, answer in answers.items() if answer == "flag")
        wrong = answers["jaxdoctor"] != ("flag" if kind == "hostile" else "silent")
        if wrong:
            print(f"{kind} {path.relative_to(stated.folder)}: {answers}")
    print(json.dumps({"versions": {"jaxdoctor": version("jaxdoctor"), **peers}, **counts}, indent=1))
    for name in ("jaxdoctor", *peers):
        share = 100 * flagged[name] / max(1, len(union))
        print(f"{name}: {flagged[name]} of the {len(union)} that any of them reports, {share:.1f} %")


if __name__ == "__main__":
    main()
