"""docs/preflight.md and docs/reports.md: every console block is run, and its output compared."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```console\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def commands(text):
    """Each command with the output below it."""
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.fixture
def place(tmp_path):
    """A folder with a run in it and `jaxdoctor` on the PATH."""
    (tmp_path / "work" / "runs").mkdir(parents=True)
    np.savez(tmp_path / "work" / "runs" / "step_100.npz", w=np.ones(3, "f4"))
    np.savez(tmp_path / "work" / "runs" / "step_200.npz", w=np.array([1, np.nan, 3], "f4"))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "jaxdoctor"
    program.write_text(f'#!/bin/bash\nexec {sys.executable} -m jaxdoctor "$@"\n')
    program.chmod(0o755)
    return tmp_path


def shows(expected, output):
    """Whether the output is what stands there; a line `...` stands for any lines."""
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in expected.splitlines()
    )
    return re.fullmatch(pattern, output) is not None


@pytest.mark.parametrize("name", ["preflight.md", "reports.md"])
def test_every_command_prints_what_stands_below_it(name, place):
    """One shell for the whole page, so that `$?` is the command's before."""
    environment = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    code = 0
    for command, expected in commands((ROOT / "docs" / name).read_text()):
        done = subprocess.run(
            ["bash", "-c", f"(exit {code}); {command}"],
            cwd=place / "work",
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        code = done.returncode

        assert shows(expected, done.stdout), f"$ {command}\n{done.stdout}"


def test_a_wrong_line_would_be_seen():
    assert shows("a\n...\nb\n", "a\nx\ny\nb\n")
    assert not shows("a\n", "a\nb\n")
    assert not shows("a\n...\nc\n", "a\nb\n")
