"""A MuJoCo model as a simulation."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from jaxdoctor.replay.fields import picked, replaced
from jaxdoctor.replay.systems.mjx import simulation
from tests.mjcf import mjcf

SERVOED = mjcf(
    '<body><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body>'
    '<body pos="0 0 .021"><freejoint/><geom size=".02"/></body><geom type="plane" size="1 1 1"/>',
    after='<actuator><general joint="a" dyntype="filter" dynprm=".1" gainprm="2"/></actuator>',
)


def test_the_next_step_follows_from_what_is_carried_alone():
    """Whatever else the state holds may be garbage: a failed replay's row is filled with no more."""
    mjx = simulation(mujoco.MjModel.from_xml_string(SERVOED))
    step, ctrl = jax.jit(mjx.step), jnp.array([0.5])
    state = step(mjx.parameters, mjx.blank, ctrl)
    carried = picked(state, mjx.carried)
    rubbish = jax.tree.map(
        lambda leaf: jnp.full_like(leaf, 7) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, state
    )
    # Input, not result, of a step: forces and poses that a user sets are none of a rollout.
    kept = picked(mjx.blank, ("qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"))

    expected = step(mjx.parameters, state, ctrl)
    found = step(mjx.parameters, replaced(rubbish, {**kept, **carried}), ctrl)

    for name in mjx.carried:
        np.testing.assert_array_equal(picked(found, [name])[name], picked(expected, [name])[name])
