"""What is said of the models that Brax's environments run, before anything is replayed: no false alarm."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from jaxdoctor.models.poses import start_pose
from jaxdoctor.rollouts.inspected import inspect
from jaxdoctor.rollouts.source import load_model
from jaxdoctor.rules.diagnose import diagnose

ASSETS = Path(find_spec("brax").submodule_search_locations[0]) / "envs" / "assets"
FILES = sorted(path.name for path in ASSETS.glob("*.xml"))

SAID = {
    "humanoid.xml": {("JD221", "note")},  # at qpos0, where Brax starts, its knees are stretched too far
    "humanoidstandup.xml": {("JD221", "note")},  # likewise
    "inverted_pendulum.xml": {("JD212", "note")},  # a limit's solref is one timestep long
}


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_said_of_braxs_models_but_what_is_true(name):
    found = diagnose([inspect(str(ASSETS / name))])

    assert {(finding.code, finding.severity.word) for finding in found} == SAID.get(name, set())


@pytest.mark.parametrize("name", ["ant.xml", "reacher.xml"])
def test_braxs_models_start_where_brax_starts_them(name):
    assert start_pose(load_model(str(ASSETS / name))).name == "init_qpos"
