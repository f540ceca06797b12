"""Model files, good and bad: one clear error each, and nothing left behind."""

import os

import mujoco
import pytest

from jaxdoctor.errors import JaxdoctorError, UnreadableError, UnsupportedModelError, UsageError
from jaxdoctor.models.lines import element_line
from jaxdoctor.rollouts.source import find_source, load_model

PENDULUM = """
<mujoco>
  <worldbody>
    <body><joint type="hinge"/><geom size="0.1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test works in an empty folder, and MuJoCo leaves no log in it."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()


def refusal(path, text, kind=JaxdoctorError):
    path.write_text(text)
    with pytest.raises(kind) as caught:
        load_model(str(path))
    return str(caught.value), caught.value.hint


def test_an_mjcf_file_becomes_a_model(folder):
    (folder / "pendulum.xml").write_text(PENDULUM)

    assert load_model("pendulum.xml").nv == 1


def test_a_compiled_model_is_read_back(folder):
    model = mujoco.MjModel.from_xml_string(PENDULUM)
    mujoco.mj_saveModel(model, str(folder / "pendulum.mjb"))

    assert load_model("pendulum.mjb").nv == 1


def test_a_missing_file_is_misuse_and_names_its_neighbours(folder):
    (folder / "pendulum.xml").write_text(PENDULUM)

    with pytest.raises(UsageError, match=r"pendulun\.xml does not exist") as caught:
        find_source("pendulun.xml")

    assert caught.value.hint == f"{folder} holds pendulum.xml"
    assert caught.value.exit_code == 2


def test_a_folder_and_another_kind_of_file_are_misuse(folder):
    (folder / "robots.xml").mkdir()
    (folder / "robot.usd").write_text("")

    with pytest.raises(UsageError, match="is a folder"):
        find_source("robots.xml")
    with pytest.raises(UsageError, match=r"robot\.usd is no model file"):
        find_source("robot.usd")


def test_an_unknown_scenario_is_misuse():
    with pytest.raises(UsageError, match="there is no scenario named 'nothing'"):
        find_source("scenario:nothing")


BAD = {
    "empty": ("", UnreadableError, "is empty", "export the model again"),
    "text": ("hello", UnreadableError, "line 1, is not well-formed XML", "parsing text"),
    "binary": ("\x00\x01", UnreadableError, "is not well-formed XML", "empty document"),
    "unclosed": (
        "<mujoco>\n<worldbody>\n</mujoco>",
        UnreadableError,
        "line 2, is not well-formed XML",
        "mismatched element",
    ),
    "html": ("<html/>", UnreadableError, "its outermost element is 'html'", "<mujoco>"),
    "mesh": (
        '<mujoco><asset><mesh file="gone.stl"/></asset></mujoco>',
        UnreadableError,
        "needs gone.stl, which is not there",
        "meshdir",
    ),
    "include": (
        '<mujoco>\n<include file="gone.xml"/></mujoco>',
        UnreadableError,
        "line 2, needs gone.xml",
        "are taken from",
    ),
    "massless": (
        '<mujoco><worldbody><body>\n<joint type="hinge"/></body></worldbody></mujoco>',
        UnsupportedModelError,
        "mass and inertia of moving bodies",
        "mend",
    ),
    "misspelt": (
        "<mujoco>\n<worldbody>\n<boddy/></worldbody></mujoco>",
        UnsupportedModelError,
        "line 3: Schema violation: unrecognized element",
        "mend Element 'boddy'",
    ),
    "dangling": (
        '<mujoco>\n<actuator><motor joint="knee"/></actuator></mujoco>',
        UnsupportedModelError,
        "line 2: unknown transmission target 'knee'",
        "mend",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_model_is_one_clear_error(folder, case):
    """What is wrong, on which line, and what to do; exit code 3 and no traceback."""
    text, kind, message, hint = BAD[case]

    said, way_out = refusal(folder / "model.xml", text, kind)

    assert message in said
    assert hint in way_out
    assert "\n" not in said + way_out
    assert kind.exit_code == 3


def test_a_binary_model_of_another_version_says_what_mujoco_says(folder):
    (folder / "old.mjb").write_bytes(b"not a model")

    with pytest.raises(UnreadableError, match=r"old\.mjb is not a compiled model of this MuJoCo: ") as caught:
        load_model("old.mjb")

    assert "save it again" in caught.value.hint


def test_a_file_that_may_not_be_read(folder, monkeypatch):
    (folder / "model.xml").write_text(PENDULUM)
    monkeypatch.setattr(
        "pathlib.Path.open", lambda *_: (_ for _ in ()).throw(PermissionError(13, os.strerror(13)))
    )

    with pytest.raises(UnreadableError, match="cannot be opened: Permission denied"):
        load_model("model.xml")


def test_lines_are_found_through_includes(folder):
    """The last option wins in MuJoCo, in whatever file it stands."""
    (folder / "main.xml").write_text('<mujoco>\n<option solver="CG"/>\n<include file="sub.xml"/>\n</mujoco>')
    (folder / "sub.xml").write_text('<mujoco>\n\n\n<option solver="pgs"/></mujoco>')

    assert element_line(folder / "main.xml", "option", {"solver": "PGS"}) == (folder / "sub.xml", 4)
    assert element_line(folder / "main.xml", "option", {"solver": "CG"}) == (folder / "main.xml", 2)
    assert element_line(folder / "main.xml", "option", {"solver": "Newton"}) is None
