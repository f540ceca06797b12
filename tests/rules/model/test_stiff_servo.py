"""JD222: servos that are stiffer than the timestep."""

import re

import mujoco
import pytest

from tests.mjcf import arm, findings, mjcf

RULE = "stiff-servo"


def servo(kp, *, kv=0.0, integrator="Euler", joint=""):
    options = f'<option timestep="0.01" integrator="{integrator}" gravity="0 0 0"/>'
    after = f'<actuator><position name="grip" joint="hinge0" kp="{kp}" kv="{kv}"/></actuator>'
    return mjcf(arm(1, joint=joint), options=options, after=after)


def swings_up(text):
    """Whether MuJoCo in float64 lets a small swing grow."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = 1e-6, 1e-6
    for _ in range(400):
        mujoco.mj_step(model, data)
        if abs(data.qpos[0]) > 1e-3:
            return True
    return False


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize("kv", [0.0, 0.1])
@pytest.mark.parametrize("joint", ["", 'damping="0.1"'])
def test_the_bound_is_the_one_that_mujoco_has(integrator, kv, joint):
    """Just above the bound a swing grows in MuJoCo, and just below it does not."""
    (found,) = findings(RULE, servo(1e5, kv=kv, integrator=integrator, joint=joint))
    inertia = found.evidence["inertia"]
    implicit = (kv if integrator == "implicitfast" else 0.0) + (0.1 if joint else 0.0)
    explicit = kv if integrator == "Euler" else 0.0
    bound = (4 * inertia + 2 * 0.01 * implicit - 2 * 0.01 * explicit) / 0.01**2

    above = servo(bound * 1.02, kv=kv, integrator=integrator, joint=joint)
    below = servo(bound * 0.98, kv=kv, integrator=integrator, joint=joint)

    assert len(findings(RULE, above)) == 1
    assert findings(RULE, below) == []
    assert swings_up(above)
    assert not swings_up(below)


def test_the_message_says_by_how_much():
    (finding,) = findings(RULE, servo(1e5))

    assert finding.message.startswith("actuator grip is ")
    assert finding.evidence["joint"] == "hinge0"
    assert finding.evidence["ratio"] > 10


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize(("kp", "kv"), [(1e5, 0.0), (0.0, 40.0), (2e3, 0.5)])
def test_either_advice_keeps_the_swing_from_growing(integrator, kp, kv):
    """Damping that is taken implicitly is never too much."""
    text = servo(kp, kv=kv, integrator=integrator)
    found = findings(RULE, text)
    assert bool(found) is swings_up(text)
    if not found:
        return
    divisor, timestep = re.fullmatch(
        r"divide kp and kv by (\S+), or set the timestep to (\S+) \(not tried\)", found[0].fix
    ).groups()

    softer = servo(kp / float(divisor), kv=kv / float(divisor), integrator=integrator)
    assert not swings_up(softer)
    assert not swings_up(text.replace('timestep="0.01"', f'timestep="{timestep}"'))


def test_another_integrator_is_not_judged():
    assert findings(RULE, servo(1e5, integrator="RK4")) == []


def test_a_servo_whose_group_is_switched_off_is_healthy():
    text = servo(1e6).replace("<option", '<option actuatorgroupdisable="0"')

    assert findings(RULE, servo(1e6))
    assert findings(RULE, text) == []
