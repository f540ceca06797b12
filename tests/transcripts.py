"""Documents are run: each command of their console blocks, with its output compared."""

import os
import re
import subprocess
import sys

from tests.paths import ROOT

BLOCK = re.compile(r"^```console\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
WIDTH = "100"
"""Columns of every transcript, so that a page reads well on the web."""


def commands(page):
    """Each command of a page with the output below it, installations left out: those are `.ci/run`'s."""
    for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if not command.startswith("pip install"):
                yield command, output


TOOK = re.compile(r"\([\d.]+ (?:ms|s)\)$", flags=re.MULTILINE)
"""How long it took, at the end of a summary: another time on each machine."""


def shows(expected, output):
    """Whether the output is what stands there, but for the time; a line `...` stands for any lines."""
    expected, output = (TOOK.sub("(1 s)", text) for text in (expected, output))
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in expected.splitlines()
    )
    return re.fullmatch(pattern, output) is not None


def run(page, folder):
    """Runs the commands of a page one after the other in a folder that has this repository's examples.

    One shell's worth of state is kept: the exit code, for `echo $?`.
    """
    programs = folder / "bin"
    work = folder / "work"
    programs.mkdir()
    work.mkdir(exist_ok=True)
    for name, module in (("jaxdoctor", "-m jaxdoctor"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        program.chmod(0o755)
    (work / "examples").symlink_to(ROOT / "examples")
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": WIDTH,
    }
    code = 0
    for command, expected in commands(page):
        done = subprocess.run(
            ["bash", "-c", f"(exit {code}); {command}"],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        code = done.returncode
        assert shows(expected, done.stdout), f"{page}: $ {command}\n{done.stdout}"
