"""Bad models on the command line: two lines, the right exit code, no traceback, nothing left behind."""

import os
import subprocess
import sys

import pytest

from tests.mjcf import arm, mjcf
from tests.paths import ROOT

BAD = {
    "empty.xml": ("", 3, "empty.xml is empty"),
    "text.xml": ("hello", 3, "line 1, is not well-formed XML"),
    "mesh.xml": ('<mujoco><asset><mesh file="gone.stl"/></asset></mujoco>', 3, "needs gone.stl"),
    "joint.xml": (
        "<mujoco><worldbody><joint/></worldbody></mujoco>",
        3,
        "MuJoCo refuses joint.xml, line 1",
    ),
    "pgs.xml": (mjcf(arm(1), options='<option solver="PGS"/>'), 3, 'solver="PGS" (pgs.xml, line 3)'),
    "still.xml": (mjcf('<geom size="1"/>'), 3, "nothing moves in still.xml"),
    "gone.xml": (None, 2, "gone.xml does not exist"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_model_is_one_clear_error(tmp_path, name):
    text, code, message = BAD[name]
    if text is not None:
        (tmp_path / name).write_text(text)
    before = set(tmp_path.iterdir())

    done = subprocess.run(
        [sys.executable, "-m", "jaxdoctor", "probe", "--quiet", name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    error, hint = done.stderr.splitlines()
    assert done.returncode == code
    assert done.stdout == ""
    assert error.startswith("error: ")
    assert message in error
    assert hint.startswith(" help: ")
    assert set(tmp_path.iterdir()) == before
