"""What a command does not need, it does not import."""

import subprocess
import sys

import pytest

NEVER = ("jax", "jaxlib", "mujoco", "numpy", "rich", "yaml", "tensorstore")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["rule"], ["rule", "JD101"], ["scan-checkpoint", "--help"]],
)
def test_light_commands_import_nothing_heavy(arguments):
    """In a fresh interpreter, help, version and the rule pages leave every heavy package unimported."""
    code = (
        "import sys\n"
        f"sys.argv = ['jaxdoctor', *{arguments!r}]\n"
        "from jaxdoctor.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print([name for name in {NEVER!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == "[]"
    assert done.stdout
