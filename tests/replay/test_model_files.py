"""A model into a bundle and out of it."""

import shutil

import mujoco
import numpy as np
import pytest

from jaxdoctor.bundles.bundle import COMPILED, FILES, PackedModel
from jaxdoctor.errors import UnreadableError
from jaxdoctor.replay.model_files import pack, same, unpacked_model
from tests.bundles.made import a_bundle
from tests.mjcf import arm, mjcf

CUBE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def robot(tmp_path):
    """A model in three folders: an XML, what it includes, and a mesh beside its folder."""
    (tmp_path / "robot").mkdir()
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "cube.obj").write_bytes(CUBE)
    (tmp_path / "robot" / "options.xml").write_text('<mujoco><option timestep="0.003"/></mujoco>')
    (tmp_path / "robot" / "robot.xml").write_text(
        '<mujoco><compiler meshdir="../meshes"/><include file="options.xml"/>'
        '<asset><mesh name="cube" file="cube.obj"/></asset>'
        '<worldbody><body><freejoint/><geom type="mesh" mesh="cube"/></body></worldbody></mujoco>'
    )
    return tmp_path / "robot" / "robot.xml"


def unpacked(packed, files, folder):
    return unpacked_model(a_bundle(model=packed, files=files), folder)


def test_a_model_takes_its_files_along(robot, tmp_path):
    model = mujoco.MjModel.from_xml_path(str(robot))

    packed, files = pack(model, str(robot))
    shutil.rmtree(robot.parent)
    (tmp_path / "out").mkdir()
    again = unpacked(packed, files, tmp_path / "out")

    assert packed.main == f"{FILES}robot/robot.xml"
    assert set(files) == {
        COMPILED, f"{FILES}robot/robot.xml", f"{FILES}robot/options.xml", f"{FILES}meshes/cube.obj",
    }  # fmt: skip
    assert same(again, model)
    again.opt.gravity[2] += 1e-12
    assert not same(again, model)


def test_what_was_changed_in_python_is_not_lost(robot, tmp_path):
    """The XML would give another model, so only the compiled one goes along."""
    model = mujoco.MjModel.from_xml_path(str(robot))
    model.opt.timestep = 0.001

    packed, files = pack(model, str(robot))

    assert list(files) == [COMPILED]
    assert packed.left_out == "they give another model than the one that failed"
    assert unpacked(packed, files, tmp_path).opt.timestep == 0.001


def test_a_compiled_model_goes_as_it_is(robot, tmp_path):
    model = mujoco.MjModel.from_xml_path(str(robot))
    mujoco.mj_saveModel(model, str(tmp_path / "m.mjb"))

    packed, files = pack(model, str(tmp_path / "m.mjb"))

    assert packed == PackedModel(
        mujoco=mujoco.__version__, main=None, left_out="only a compiled model was given"
    )
    np.testing.assert_array_equal(unpacked(packed, files, tmp_path).qpos0, model.qpos0)


def test_a_scenario_and_a_model_without_a_file():
    model = mujoco.MjModel.from_xml_string(mjcf(arm(1)))

    assert pack(model, None)[0].left_out == "the model was compiled in Python"
    assert pack(model, "scenario:hand")[0].left_out == "they give another model than the one that failed"


def test_a_compiled_model_of_another_mujoco_names_the_version(tmp_path):
    bundle = a_bundle(
        model=PackedModel(mujoco="2.3.0", left_out="only a compiled model was given"),
        files={COMPILED: b"MJB"},
    )

    with pytest.raises(UnreadableError, match=r"opens in MuJoCo 2\.3\.0") as raised:
        unpacked_model(bundle, tmp_path)

    assert "mujoco==2.3.0" in raised.value.hint


def test_a_bundle_without_a_model_says_so(tmp_path):
    with pytest.raises(UnreadableError, match="holds no model"):
        unpacked_model(a_bundle(model=None, files={}), tmp_path)
