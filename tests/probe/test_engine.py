"""A fault of MJX's own, from the model to the change that mends it."""

import pytest

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe

BARELY_TOUCHING = """<mujoco>
  <option timestep="0.002" cone="elliptic" gravity="3e-7 0 -3e-7"/>
  <worldbody>
    <geom type="plane" size="1 1 0.1" friction="1 0.005 0.0001"/>
    <body pos="0 0 0.07"><freejoint/><geom type="sphere" size="0.07" mass="2" margin="1e-9"/></body>
  </worldbody>
</mujoco>"""
"""A ball that touches a plate with next to no load: near the apex of the elliptic cone, where the Hessian of
MJX 3.17's Newton solver is not positive definite (https://github.com/google-deepmind/mujoco_warp/pull/1660).
"""


@pytest.mark.slow
def test_what_c_takes_and_mjx_does_not_is_the_engines_and_another_cone_mends_it(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(BARELY_TOUCHING)
    ask = Ask(model=str(path), subject="ball", steps=10, replays=8, batch=8, time_limit=900)

    report = probe(ask, card="rtx-4090")

    (outcome,) = report.outcomes
    assert outcome.verdict is Verdict.ENGINE
    assert all(step.holds for step in outcome.steps_in_c)
    mending = [cure.change for cure in outcome.cures if cure.mends]
    assert 'cone="pyramidal"' in mending
    (finding,) = (finding for finding in report.findings if finding.code == "JD208")
    assert "mends it" in finding.fix
