"""The command line as a process: errors, exit codes, streams, completion."""

import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jaxdoctor import __version__
from jaxdoctor.cli import build
from jaxdoctor.command import COMMANDS

PRELUDE = """
import sys
from jaxdoctor import cli
import typer
"""


def jaxdoctor(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "jaxdoctor", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def with_command(body, **environment):
    """Runs the application with one command whose body this is."""
    code = (
        f"{PRELUDE}\n"
        f"def run() -> None:\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
        "app = typer.Typer(pretty_exceptions_enable=False)\napp.command()(run)\n"
        "cli.build = lambda wanted: app\nsys.argv = ['jaxdoctor']\ncli.main()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def test_the_verbose_version_names_every_package_of_a_bug_report():
    done = jaxdoctor("--version", "--verbose")

    assert done.returncode == 0
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines()[2:])
    assert {"python", "jax", "mujoco", "typer", "tensorstore", "h5py"} <= lines.keys()
    assert "pytest" not in lines


def test_the_version_is_printed():
    assert jaxdoctor("--version").stdout == f"jaxdoctor {__version__}\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_help_cuts_no_sentence_of_a_command(option, columns):
    done = CliRunner().invoke(build(), [option], env={"COLUMNS": str(columns)}, terminal_width=columns)

    shown = " ".join(done.stdout.split())
    assert "..." not in shown.partition("Commands:")[2]
    for name in COMMANDS.names():
        assert " ".join(f"{name} {COMMANDS.load(name).summary}".split()) in shown


@pytest.mark.parametrize("name", COMMANDS.names())
def test_the_help_of_a_command_ends_with_two_examples_that_it_takes(name):
    done = CliRunner().invoke(build(), [name, "-h"])
    command = COMMANDS.load(name)

    assert len(command.examples) >= 2
    assert done.stdout.rstrip().endswith(command.examples[-1])
    for example in command.examples:
        words = shlex.split(example)
        assert words[:2] == ["jaxdoctor", name]
        for option in (word for word in words[2:] if word.startswith("--") and word != "--"):
            if words.index(option) < (words.index("--") if "--" in words else len(words)):
                assert option in done.stdout


def test_options_name_their_value_and_no_type_of_python():
    for name in COMMANDS.names():
        shown = CliRunner().invoke(build(), [name, "-h"]).stdout
        assert re.search(r"--[a-z-]+ +<(list\[|int range|float range)", shown) is None, name


def test_an_error_is_two_lines_and_its_code():
    done = jaxdoctor("rule", "JD1O1")

    assert done.returncode == 2
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first == "error: there is no rule named 'JD1O1'"
    assert second.startswith(" help: ")


def test_a_mistake_of_ours_says_so_and_ends_with_70():
    process = with_command("raise ZeroDivisionError('seven')")
    _, stderr = process.communicate(timeout=30)

    assert process.returncode == 70
    assert "ZeroDivisionError: seven" in stderr
    assert "error: this is a bug of jaxdoctor" in stderr


def test_ctrl_c_ends_with_130():
    process = with_command("import time\nprint('ready', flush=True)\ntime.sleep(60)")
    assert process.stdout.readline() == "ready\n"

    process.send_signal(signal.SIGINT)

    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr) == (130, "", "interrupted\n")


def test_a_name_that_no_encoding_holds_does_not_end_the_report():
    process = with_command(r"print('caf\xe9 \udc80 done')", PYTHONIOENCODING="ascii")
    stdout, stderr = process.communicate(timeout=30)

    assert (process.returncode, stdout, stderr) == (0, "caf\\xe9 \\udc80 done\n", "")


def test_a_reader_that_has_seen_enough_is_no_error():
    process = with_command(
        """
        from jaxdoctor.workers.stdout import to_stdout
        to_stdout(lambda out: [out.write('a line that fills the pipe\\n') for _ in range(100_000)])
        """
    )
    process.stdout.readline()
    process.stdout.close()

    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.parametrize("arguments", [["--version"], ["rule", "JD301"]])
def test_a_full_disk_is_two_lines_and_no_findings(arguments):
    """Whoever redirects a report to a full disk has lost it: neither well, nor findings, nor a bug."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jaxdoctor", *arguments], stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert done.returncode == 2
    first, second = done.stderr.decode().splitlines()
    assert first == "error: stdout cannot be written: No space left on device"
    assert second.startswith(" help: ")


@pytest.mark.parametrize(("streams", "code"), [(">&- 2>&- <&-", 0), ("2>/dev/full", 2)])
def test_a_closed_stream_changes_no_exit_code(streams, code):
    words = "JD301" if code == 0 else "JD999"
    call = f"{shlex.quote(sys.executable)} -m jaxdoctor rule {words} {streams}"
    done = subprocess.run(["sh", "-c", call], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (code, "")


def test_an_error_shows_control_characters_instead_of_writing_them():
    done = jaxdoctor("rule", "a\x1b[2Jb\nerror: c")

    assert done.stderr.splitlines()[0] == "error: there is no rule named 'a\\x1b[2Jb\\nerror: c'"
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("rule tf32-by", "tf32-by-default"), ("rule JD10", "JD101"), ("self-test --card rtx-409", "rtx-4090")],
)
def test_the_shell_completes_rules_and_cards(typed, offered):
    done = jaxdoctor(
        _JAXDOCTOR_COMPLETE="complete_bash",
        _PYTHON__M_JAXDOCTOR_COMPLETE="complete_bash",
        COMP_WORDS=f"jaxdoctor {typed}",
        COMP_CWORD=str(len(typed.split())),
    )

    assert offered in done.stdout.split()


@pytest.mark.parametrize("width", ["60", "80", "120"])
@pytest.mark.parametrize("name", COMMANDS.names())
def test_help_is_whole_at_every_width(name, width):
    """No sentence is cut, no option is described by a type of Python, and two calls stand below."""
    done = CliRunner().invoke(build(name), [name, "-h"], env={"COLUMNS": width})
    words = " ".join(done.stdout.split())

    assert done.exit_code == 0
    assert " ".join(COMMANDS.load(name).summary.split()) in words
    assert not re.search(r"<(str|int|float|path|Path|list)", done.stdout)
    assert done.stdout.partition("Examples:")[2].count(f"jaxdoctor {name}") >= 2


def test_options_that_commands_share_stand_by_their_subject():
    out = CliRunner().invoke(build("scan-checkpoint"), ["scan-checkpoint", "-h"]).stdout

    assert out.index("\nOptions:") < out.index("\nWhat is shown:") < out.index("--format")
    assert out.index("\nWhat counts:") < out.index("--fail-on")
