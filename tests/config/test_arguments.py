"""Arguments that are converted without Typer's own conversion, and come out the same."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from jaxdoctor.config.arguments import PlainCommand


def parsed(command, arguments, plain):
    """What a command is given for a command line, or what is said of it."""
    app = typer.Typer(rich_markup_mode=None)
    app.command(cls=PlainCommand if plain else None)(command)
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def everything(
    names: Annotated[list[str], typer.Argument()],
    count: Annotated[int | None, typer.Option("--count", min=1, max=9)] = None,
    rate: Annotated[float | None, typer.Option("--rate", min=0)] = None,
    file: Annotated[Path | None, typer.Option("--file")] = None,
    files: Annotated[list[Path] | None, typer.Option("--files")] = None,
    there: Annotated[Path | None, typer.Option("--there", exists=True)] = None,
    size: Annotated[str, typer.Option("--size")] = "512MiB",
    *,
    deep: Annotated[bool, typer.Option("--deep")] = False,
) -> None:
    """Prints all of them."""
    print(repr((names, count, rate, file, files, there, size, deep)))


@pytest.mark.parametrize(
    "arguments",
    [
        ["a", "b"],
        ["a", "--count", "3", "--rate", "2.5", "--size", "x", "--deep"],
        ["a", "--rate", "1e3", "--file", "nowhere", "--files", "x", "--files", "y"],
        ["a", "--count", "0"],
        ["a", "--count", "10"],
        ["a", "--count", "three"],
        ["a", "--count", "3.0"],
        ["a", "--rate", "-1"],
        ["a", "--rate", "nan"],
        ["a", "--there", "nowhere"],
        ["a", "--there", "."],
        [],
    ],
)
def test_every_command_line_is_taken_as_typer_takes_it(arguments):
    assert parsed(everything, arguments, plain=True) == parsed(everything, arguments, plain=False)


def test_a_scan_does_not_load_pydantic(tmp_path):
    """Typer's own conversion would take longer than the scan."""
    (tmp_path / "model.safetensors").write_bytes(b"")
    code = (
        "import sys\n"
        f"sys.argv = ['jaxdoctor', 'scan-checkpoint', {str(tmp_path)!r}, '--planned-steps', '5', '-o', '-']\n"
        "from jaxdoctor.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print('pydantic' in sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == "False"
