"""What was played is kept, and can be replayed."""

import mujoco
import numpy as np
import pytest

from jaxdoctor.replay.ensemble import Ensemble
from jaxdoctor.replay.keep_played import keep_rollout
from jaxdoctor.replay.plan import Lane, RecordPlan
from jaxdoctor.replay.prepare import prepare
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.replay.system import system_of
from jaxdoctor.rollouts.controls import read_controls
from jaxdoctor.rollouts.policy import read_policy
from jaxdoctor.workers.progress import SILENT
from tests.steppable import CODE

REPLAYS, STEPS = 4, 12

PENDULUM = """
<mujoco>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0"/>
      <geom size="0.1" pos="0 0 -1"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>
"""


def recorded(tmp_path, **fields):
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    plan = RecordPlan(replays=REPLAYS, **{"controls": None, "steps": STEPS, "seed": 0} | fields)
    prepare(str(folder), plan, progress=SILENT)
    return plan, folder, Scratch(str(folder)).recording()


def test_a_models_controls_and_starts_come_back(tmp_path):
    """Replayed from the file they are the same, to the last bit, whatever the seed."""
    model, kept = tmp_path / "pendulum.xml", tmp_path / "played.npz"
    model.write_text(PENDULUM)

    _, _, played = recorded(tmp_path, model=str(model), keep=kept)
    _, _, again = recorded(tmp_path, model=str(model), controls=str(kept), steps=None, seed=9)

    assert played.ctrl.any()
    assert np.array_equal(again.ctrl, played.ctrl)
    assert np.array_equal(again.qpos, played.qpos)
    assert np.array_equal(again.qvel, played.qvel)


@pytest.mark.parametrize("name", ["point", "Blind"])
def test_a_policys_actions_are_kept(tmp_path, name):
    """Of an environment that MuJoCo does not step they stand for its controls, and none is NaN."""
    kept = tmp_path / "played.npz"
    (tmp_path / "train.py").write_text(CODE)
    plan, folder, recording = recorded(
        tmp_path, model=f"--env {tmp_path}/train.py:{name}", policy=read_policy(None), keep=kept
    )
    assert not kept.exists(), "nothing was played yet"
    simulation = system_of(plan.model).load(plan, folder)
    ensemble = Ensemble(simulation, batch=REPLAYS, chunk=STEPS)
    (rollout,) = ensemble.roll_out(recording, [Lane()])

    keep_rollout(kept, recording, rollout, simulation.driven)

    with np.load(kept) as held:
        arrays = dict(held)
    finite = 5 if name == "Blind" else len(rollout.bad)
    actions = np.swapaxes(rollout.states["action"][1:], 0, 1)
    assert arrays["action"].shape == (REPLAYS, len(rollout.bad), 1)
    assert np.array_equal(arrays["action"][:, :finite], actions[:, :finite])
    assert np.isfinite(arrays["action"]).all()
    pendulum = mujoco.MjModel.from_xml_string(PENDULUM)
    assert np.array_equal(read_controls(kept, pendulum).ctrl, arrays["action"])
