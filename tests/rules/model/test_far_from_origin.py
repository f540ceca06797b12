"""JD227: bodies that float32 cannot place finely."""

import mujoco
import numpy as np
import pytest

from tests.mjcf import arm, findings, findings_in_file, mjcf

RULE = "far-from-origin"


def crate(x):
    return mjcf(f'<body name="crate" pos="{x} 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>')


def test_a_body_is_named_with_what_float32_resolves_there(tmp_path):
    (finding,) = findings_in_file(RULE, crate(3e5), tmp_path / "model.xml")

    assert finding.message == (
        "body crate starts 3e+05 m from the origin, where float32 counts in steps of 0.031 m, "
        "and its size is 0.17 m"
    )
    assert np.spacing(np.float32(3e5)) == pytest.approx(0.031, rel=0.01)


@pytest.mark.parametrize("x", [0, 100, 5000])
def test_what_is_near_enough_is_healthy(x):
    assert findings(RULE, crate(x)) == []


def test_what_does_not_move_may_be_far():
    far = '<geom type="box" size="1 1 1" pos="1e6 0 0"/><body pos="1e6 9 0"><geom size=".1"/></body>'

    assert findings(RULE, mjcf(arm(2) + far)) == []
    assert mujoco.MjModel.from_xml_string(mjcf(arm(2) + far)).nbody > 2
