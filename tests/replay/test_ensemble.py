"""Replays of small models through the compiled program."""

from jaxdoctor.replay.ensemble import failed_counts

PENDULUM = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <body>
      <joint name="hinge" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def test_a_pendulum_is_finite_at_every_width(tmp_path):
    """It has no matrix product at all, so no width can hurt it."""
    model = tmp_path / "pendulum.xml"
    model.write_text(PENDULUM)

    assert failed_counts(str(model), [23, 10, 1], replays=2, steps=30) == {23: 0, 10: 0, 1: 0}
