"""What is said of the models that Brax's environments run, before anything is replayed: no false alarm."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.models.poses import start_pose
from jaxdoctor.rollouts.inspected import inspect
from jaxdoctor.rollouts.source import load_model
from jaxdoctor.rules import model
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


PAGE = Path(__file__).parents[2] / "docs" / "models.md"
PACKAGES = {
    "brax": ASSETS,
    "mjx": Path(find_spec("mujoco.mjx").submodule_search_locations[0]) / "test_data",
}
ROWS = dict(re.findall(r"^\| (\S+\.xml) \|(.*)\|$", PAGE.read_text(), re.MULTILINE))
INSPECTED = [
    name
    for name, rest in ROWS.items()
    if name.partition("/")[0] in PACKAGES and not rest.strip().startswith("refused")
]


@pytest.mark.parametrize("name", INSPECTED)
def test_the_page_of_models_has_every_warning_with_its_sentence(name):
    """And no other: a false alarm on a model that is in use would stand there."""
    package, _, path = name.partition("/")
    found = diagnose([inspect(str(PACKAGES[package] / path))])

    said = {finding.name for finding in found if finding.severity is not Severity.NOTE}
    listed = set(re.findall(r"\[([a-z0-9-]+)\]\(rules/\1\.md\): \S", ROWS[name]))
    of_the_model = {page.stem.replace("_", "-") for page in Path(model.__file__).parent.glob("*.py")}
    assert said == listed & of_the_model


def test_the_page_of_models_is_not_empty():
    assert len(INSPECTED) > 30
