"""Changes that may mend a model, applied to a copy of it."""

import mujoco
import numpy as np
import pytest

from jaxdoctor.models.changes import changed, changes
from tests.mjcf import BALL, arm, mjcf


def compiled(world, **parts):
    return mujoco.MjModel.from_xml_string(mjcf(world, **parts))


def named(model, start):
    (change,) = (change for change in changes(model) if change.name.startswith(start))
    return change


def names(model):
    return [change.name for change in changes(model)]


def test_a_change_leaves_the_model_itself_alone():
    model = compiled(BALL.format(z=1), options='<option timestep="0.004"/>')

    other = changed(model, named(model, "timestep"))

    assert (model.opt.timestep, other.opt.timestep) == (0.004, 0.002)


def test_friction_is_raised_where_there_is_next_to_none():
    slippery = compiled(BALL.format(z=1), defaults='<geom friction="0 0 0"/>')

    change = named(slippery, 'friction="0.01"')

    assert (changed(slippery, change).geom_friction[:, 0] == 0.01).all()
    assert not [name for name in names(compiled(BALL.format(z=1))) if "friction" in name]


@pytest.mark.parametrize(("cone", "other"), [("elliptic", "pyramidal"), ("pyramidal", "elliptic")])
def test_the_other_cone_is_tried_where_geoms_can_touch(cone, other):
    options = f'<option cone="{cone}"/>'

    assert f'cone="{other}"' in names(compiled(BALL.format(z=1), options=options))
    assert f'cone="{other}"' not in names(compiled(arm(2), options=options))


def test_a_cone_that_mjx_refuses_is_not_tried():
    """MJX has no contacts without friction under the elliptic cone."""
    assert 'cone="elliptic"' not in names(compiled(BALL.format(z=1), defaults='<geom condim="1"/>'))


def test_armature_is_a_share_of_what_each_joint_moves_and_lowers_none():
    model = compiled(arm(2) + '<body pos="0 0 9"><joint armature="9999"/><geom size="1"/></body>')

    armature = changed(model, named(model, "armature")).dof_armature

    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    np.testing.assert_allclose(armature[:2], np.diagonal(mass)[:2] / 100)
    assert armature[2] == 9999


def test_damping_is_made_for_the_inertia_and_lowers_none():
    model = compiled(arm(2, joint='damping="-3"'))

    damping = np.ravel(changed(model, named(model, "damping")).dof_damping)

    assert (damping[:2] > 0).all()


def test_each_loop_is_softened_in_turn():
    welds = '<equality><weld name="a" body1="x"/><weld name="b" body1="y"/></equality>'
    world = "".join(f'<body name="{name}"><freejoint/><geom size="0.1"/></body>' for name in "xy")
    model = compiled(world, after=welds)

    softer = changed(model, named(model, 'solref="0.05 1" on equality b'))

    np.testing.assert_array_equal(softer.eq_solref, [[0.02, 1], [0.05, 1]])


def test_solver_integrator_and_iterations_come_last():
    model = compiled(arm(1), options='<option iterations="3" ls_iterations="5"/>')

    assert names(model)[-3:] == [
        'solver="CG"',
        'integrator="implicitfast"',
        'iterations="12" ls_iterations="20"',
    ]
    other = changed(model, named(model, "iterations"))
    assert (other.opt.iterations, other.opt.ls_iterations) == (12, 20)
    drag = compiled(arm(1), options='<option density="1"/>')
    assert 'integrator="implicitfast"' not in names(drag)


def test_velocity_feedback_of_the_wrong_sign_is_turned_first():
    servo = '<actuator><general joint="hinge0" biastype="affine" biasprm="0 {kp} {kv}"/></actuator>'
    pushing = compiled(arm(1), after=servo.format(kp=-3, kv=2))
    (change, *_) = changes(pushing)

    assert changed(pushing, change).actuator_biasprm[0, :3].tolist() == [0, -3, -2]
    assert not [
        name for name in names(compiled(arm(1), after=servo.format(kp=-3, kv=-2))) if "biasprm" in name
    ]


def test_geoms_that_never_touched_are_left_out_of_contacts_and_the_others_are_not():
    far = '<body pos="0 0 9"><freejoint/><geom name="far" size="0.1"/></body>'
    model = compiled(BALL.format(z=1) + far)
    touched = [model.geom(name).id for name in ("floor", "ball")]

    (change,) = [one for one in changes(model, touched) if "never touched" in one.name]

    other = changed(model, change)
    assert other.geom("far").contype[0] == other.geom("far").conaffinity[0] == 0
    assert other.geom("ball").contype[0] == 1
    assert not [one for one in changes(model, [*touched, model.geom("far").id]) if "never" in one.name]


def test_servos_that_the_timestep_does_not_follow_get_less_gain():
    def servo(kp):
        return f'<actuator><position name="grip" joint="hinge0" kp="{kp}"/></actuator>'

    stiff = compiled(arm(1), after=servo(1e6), options='<option timestep="0.01"/>')
    change = named(stiff, "kp and kv divided by ")

    assert change.name.endswith(" on actuator grip")
    other = changed(stiff, change)
    assert other.actuator_gainprm[0, 0] == -other.actuator_biasprm[0, 1] < 1e6
    assert not [name for name in names(other) if name.startswith("kp")]
    assert not [name for name in names(compiled(arm(1), after=servo(0.1))) if name.startswith("kp")]


@pytest.mark.parametrize("field", ["damping", "stiffness"])
def test_damping_and_stiffness_that_push_get_the_other_sign(field):
    pushed = compiled(arm(1, joint=f'{field}="-3"'))

    other = changed(pushed, named(pushed, f"a positive {field}"))

    values = other.dof_damping if field == "damping" else other.jnt_stiffness
    assert float(np.ravel(values)[0]) == 3
    assert not [name for name in names(compiled(arm(1))) if name.startswith("a positive")]


def test_the_other_integrator_is_tried():
    assert 'integrator="implicitfast"' in names(compiled(arm(1)))
    assert 'integrator="Euler"' in names(compiled(arm(1), options='<option integrator="implicitfast"/>'))


def test_a_motor_that_throws_its_joint_gets_less_gear():
    def motor(gear, extra=""):
        return f'<actuator><motor name="lift" joint="hinge0" gear="{gear}" {extra}/></actuator>'

    strong = compiled(arm(1), after=motor(1e8))
    change = named(strong, "gear divided by ")

    assert change.name.endswith(" on actuator lift")
    assert not [name for name in names(changed(strong, change)) if name.startswith("gear")]
    held = motor(1e8, 'forcerange="-1e-8 1e-8"')
    for healthy in (motor(0.1), held):
        assert not [name for name in names(compiled(arm(1), after=healthy)) if name.startswith("gear")]


def test_servos_that_swing_together_are_softened_together():
    """Each alone is about as stiff as the timestep follows; on one arm they are stiffer."""
    servos = "".join(f'<position joint="hinge{joint}" kp="{{kp}}"/>' for joint in range(2))
    options = '<option timestep="0.01" gravity="0 0 0"><flag autoreset="disable"/></option>'

    def coupled(kp):
        return compiled(arm(2), after=f"<actuator>{servos.format(kp=kp)}</actuator>", options=options)

    def swings_up(model):
        data = mujoco.MjData(model)
        data.qvel[:] = 1e-6
        for _ in range(400):
            mujoco.mj_step(model, data)
        return not abs(data.qpos).max() < 1e-3

    stiff = next(
        coupled(kp)
        for kp in np.geomspace(1, 1e6, 60)
        if [name for name in names(coupled(kp)) if name.startswith("kp")]
    )
    together = [change for change in changes(stiff) if change.name.endswith(" on 2 servos")]

    assert swings_up(stiff)
    assert not swings_up(changed(stiff, together[-1]))
