"""A preflight among your own tests: no plugin, one process. Copy it and change the arguments."""

import subprocess
import sys


def test_preflight() -> None:
    """Nothing that jaxdoctor.yaml names has a finding that is not in the baseline."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxdoctor", "preflight", "--quiet", "--level", "1"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
