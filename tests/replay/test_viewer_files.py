"""What MuJoCo's viewer opens at the failing state."""

import mujoco
import numpy as np
import pytest

from jaxdoctor.bundles.bundle import COMPILED, FILES, PackedModel
from jaxdoctor.bundles.write import write
from jaxdoctor.errors import UnsupportedModelError, UsageError
from jaxdoctor.replay.model_files import saved
from jaxdoctor.replay.plan import ReplayPlan
from jaxdoctor.replay.viewer_files import write_viewer_files
from jaxdoctor.workers.progress import SILENT
from tests.bundles.made import a_bundle
from tests.mjcf import arm, mjcf

URDF = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint></robot>"""


def viewed(folder, **changes):
    state = {"qpos": np.array([[0.0], [0.1], [1 / 3]]), "qvel": np.array([[0.0], [1.0], [2e5]])}
    fields = {"state": state, "control": np.zeros((3, 0))} | changes
    write(folder / "f.zip", a_bundle(**fields))
    plan = ReplayPlan(bundle=str(folder / "f.zip"), deadline=0)
    return write_viewer_files(str(folder / "view"), plan, progress=SILENT)


def files(text, name="m.xml"):
    return {
        "model": PackedModel(mujoco=mujoco.__version__, main=f"{FILES}{name}"),
        "files": {f"{FILES}{name}": text.encode(), COMPILED: b"x"},
    }


def test_the_xml_gets_a_keyframe_to_the_last_digit(tmp_path):
    path = viewed(tmp_path, **files(mjcf(arm(1))))

    model = mujoco.MjModel.from_xml_path(path)
    assert model.key("failing").qpos.tolist() == [1 / 3]
    assert model.key("failing").qvel.tolist() == [2e5]
    assert (tmp_path / "view" / "m.xml").read_text() == mjcf(arm(1))


def test_controls_and_keyframes_of_the_model_stay(tmp_path):
    text = mjcf(
        arm(1),
        after='<actuator><motor joint="hinge0"/></actuator>'
        '<keyframe><key name="home" qpos="0.5"/></keyframe>',
    )

    path = viewed(tmp_path, **files(text), control=np.array([[0.0], [0.1], [0.7]]))

    model = mujoco.MjModel.from_xml_path(path)
    assert model.key("failing").ctrl.tolist() == [0.7]
    assert model.key("home").qpos.tolist() == [0.5]


def test_a_urdf_becomes_an_xml_with_the_keyframe(tmp_path):
    path = viewed(tmp_path, **files(URDF, "r.urdf"))

    np.testing.assert_allclose(mujoco.MjModel.from_xml_path(path).key("failing").qpos, 1 / 3, rtol=1e-5)


def test_a_compiled_model_shows_it_in_its_first_keyframe(tmp_path):
    model = mujoco.MjModel.from_xml_string(mjcf(arm(1), after='<keyframe><key qpos="0.5"/></keyframe>'))
    packed = PackedModel(mujoco=mujoco.__version__, left_out="only a compiled model was given")

    path = viewed(tmp_path, model=packed, files={COMPILED: saved(model)})

    assert mujoco.MjModel.from_binary_path(path).key_qpos.tolist() == [[1 / 3]]


def test_a_compiled_model_without_a_keyframe_is_told(tmp_path):
    model = mujoco.MjModel.from_xml_string(mjcf(arm(1)))
    packed = PackedModel(mujoco=mujoco.__version__, left_out="only a compiled model was given")

    with pytest.raises(UnsupportedModelError, match="only a compiled model was given"):
        viewed(tmp_path, model=packed, files={COMPILED: saved(model)})


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "view").mkdir()
    (tmp_path / "view" / "mine").write_text("mine")

    with pytest.raises(UsageError, match="is not empty"):
        viewed(tmp_path, **files(mjcf(arm(1))))


def test_a_state_without_positions_cannot_be_shown(tmp_path):
    with pytest.raises(UnsupportedModelError, match="no qpos"):
        viewed(tmp_path, **files(mjcf(arm(1))), state={"output": np.zeros((3, 1))})
