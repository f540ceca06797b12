"""Probes every MJX model that mujoco-mjx, brax and dm_control ship, and writes docs/models.md.

    python benchmarks/models.py [--only WORD] [--card rtx-4090] [--inspect]

Each model is a line of benchmarks/models.jsonl, written when its probe has ended: a run that is interrupted
goes on where it was, and `--again WORD` forgets the lines whose model holds the word. A package that is not
installed is left out, and its lines stay. `--inspect` only says what the model itself shows, in a second or
two each; a line of it counts as not probed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE / "models.jsonl"
PAGE = HERE.parent / "docs" / "models.md"

FOLDERS = {
    "mjx": ("mujoco.mjx", "test_data"),
    "brax": ("brax", "envs/assets"),
    "dm_control": ("dm_control", "suite"),
}

PARTS = {"right_hand.xml", "barkour_v0_mjx.xml"}
"""Files that a scene of the same folder includes."""

HEAD = """# Models

Models that mujoco-mjx, brax and dm_control ship, probed for {card} with the default time limit of 300 s by
`python benchmarks/models.py`. "load" is the machine's load average when the probe ended, on {cores} cores
that other work shared. Errors and warnings are those about the model, each with its sentence. A dash for the
verdict says that the model was inspected and not replayed yet: `benchmarks/models.py` goes on where it was.

{versions}

| model | verdict | requires | seconds | load | errors and warnings |
|---|---|---|---|---|---|
"""


def main() -> None:
    """Probes what was not probed yet, then writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="models whose name holds this word")
    parser.add_argument("--again", help="forget what is known of models whose name holds this word")
    parser.add_argument("--card", default="rtx-4090")
    parser.add_argument("--inspect", action="store_true", help="replay nothing")
    options = parser.parse_args()
    known = {name: line for name, line in kept().items() if not (options.again and options.again in name)}
    try:
        for name, path in models():
            done = name in known and (options.inspect or known[name]["verdict"] is not None)
            if not done and options.only in name:
                known[name] = inspected(name, path) if options.inspect else probed(name, path, options.card)
                write(known, options.card)
                print(f"{name}: {known[name]['verdict']}, {known[name]['seconds'] or 0:.0f} s", flush=True)
    finally:
        write(known, options.card)


def kept() -> dict[str, dict[str, Any]]:
    """What an earlier run has found, by model."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    return {found["model"]: found for found in map(json.loads, lines)}


def models() -> Iterator[tuple[str, Path]]:
    """Every model file with its name: "brax/ant.xml". Crowds of one model are left to the first."""
    for package, (module, inside) in FOLDERS.items():
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        if spec is None or not spec.submodule_search_locations:
            print(f"{package} is not installed", file=sys.stderr)
            continue
        folder = Path(next(iter(spec.submodule_search_locations))) / inside
        for path in sorted(folder.glob("*.xml") if package == "dm_control" else folder.rglob("*.xml")):
            if path.name not in PARTS and not path.name.endswith("_humanoids.xml"):
                yield f"{package}/{path.relative_to(folder)}", path


def probed(name: str, path: Path, card: str) -> dict[str, Any]:
    """One line: verdict or refusal, bits, seconds, load and findings about the model."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable,
            "-m",
            "jaxdoctor",
            "probe",
            str(path),
            "--card",
            card,
            "--quiet",
            "--no-cures",
        ]
        done = subprocess.run(
            [*command, "--fail-on", "never", "--format", "json", "--output", str(report)],
            capture_output=True,
            text=True,
            check=False,
        )
        found = json.loads(report.read_text()) if report.exists() else {}
    (rollout,) = found.get("rollouts") or ({},)
    reasons = [
        line.removeprefix("error: ") for line in done.stderr.splitlines() if line.startswith("error: ")
    ]
    return {
        "model": name,
        "verdict": rollout.get("verdict") or "refused",
        "requires": rollout.get("required_bits"),
        "reason": (rollout.get("reason") or " ".join(reasons)).replace(str(path.parent) + "/", ""),
        "seconds": round(time.monotonic() - started, 1),
        "load": round(os.getloadavg()[0], 1),
        "warnings": {
            finding["name"]: finding["message"]
            for finding in found.get("findings", ())
            if finding["severity"] != "note" and not finding["code"].startswith("JD1")
        },
    }


def inspected(name: str, path: Path) -> dict[str, Any]:
    """One line of what the model itself shows, or why MuJoCo refuses it."""
    from jaxdoctor.errors import JaxdoctorError
    from jaxdoctor.facts.finding import Severity
    from jaxdoctor.rollouts.inspected import inspect
    from jaxdoctor.rules.diagnose import diagnose

    line: dict[str, Any] = {"model": name, "verdict": None, "requires": None, "seconds": None, "load": None}
    try:
        found = list(diagnose([inspect(str(path))]))
    except JaxdoctorError as error:
        reason = str(error).replace(str(path.parent) + "/", "")
        return {**line, "verdict": "refused", "reason": reason, "warnings": {}}
    warnings = {one.name: one.message for one in found if one.severity is not Severity.NOTE}
    return {**line, "reason": "", "warnings": warnings}


def write(known: dict[str, dict[str, Any]], card: str) -> None:
    """Both files anew."""
    KEPT.write_text("".join(f"{json.dumps(known[name])}\n" for name in sorted(known)))
    names = ("jax", "jaxlib", "mujoco", "mujoco-mjx", "brax", "dm_control")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    head = HEAD.format(card=card, cores=len(os.sched_getaffinity(0)), versions=versions)
    PAGE.write_text(head + "".join(f"{row(known[name])}\n" for name in sorted(known)))


def row(found: dict[str, Any]) -> str:
    """A line of the table."""
    said = f": {found['reason']}" if found["reason"] and found["verdict"] in ("refused", "unknown") else ""
    warnings = "; ".join(
        f"[{name}](rules/{name}.md): {message}" for name, message in found["warnings"].items()
    )
    cells = (
        found["model"],
        f"{found['verdict'] or '-'}{said}",
        "-" if found["requires"] is None else str(found["requires"]),
        "-" if found["seconds"] is None else f"{found['seconds']:.0f}",
        "-" if found["load"] is None else f"{found['load']:.0f}",
        warnings or "-",
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def version(name: str) -> str:
    """The installed one, or a dash."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(name)
    except PackageNotFoundError:
        return "-"


if __name__ == "__main__":
    main()
