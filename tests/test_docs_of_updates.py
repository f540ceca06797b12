"""The console blocks of docs/check-update.md are run, and its links lead somewhere."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "check-update.md"
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def steps(block):
    """Each command with the lines that follow it."""
    return [(first, rest) for first, *rest in (part.splitlines() for part in block.split("$ ")[1:])]


def stands_in(wanted, lines):
    """Whether the lines stand there in this order; "..." stands for any number of others."""
    text = "\n".join(lines)
    pieces = [
        re.escape(piece.strip("\n")) for piece in re.split(r"^\.\.\.$", "\n".join(wanted), flags=re.MULTILINE)
    ]
    return re.search(r"(.|\n)*?".join(pieces), text) is not None


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_shows_what_is_printed(block):
    code = None
    for command, wanted in steps(block):
        if command == "echo $?":
            assert [str(code)] == wanted
            continue
        program, *arguments = shlex.split(command)
        assert program == "jaxdoctor"
        done = subprocess.run(
            [sys.executable, "-m", "jaxdoctor", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "COLUMNS": "120"},
        )
        code = done.returncode
        assert stands_in(wanted, done.stdout.splitlines()), done.stdout


def test_there_are_blocks():
    assert len(BLOCKS) == 2


def test_links_lead_to_files():
    for link in re.findall(r"\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / link).exists(), link
