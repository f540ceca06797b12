"""JD120: a MuJoCo whose files are gone, or whose parts differ."""

import pytest

from jaxdoctor.rules.environment.broken_mujoco import broken_mujoco
from tests.environments import only, software

SPLIT = {"mujoco": "4.0.0", "mujoco-core": "4.0.0", "mujoco-studio": "4.0.0"}
SAID = {"mujoco": "ImportError: The 'mujoco' package is installed, but its core bindings are missing"}
TOGETHER = "pip install --force-reinstall --no-deps mujoco==4.0.0 mujoco-core==4.0.0 mujoco-studio==4.0.0"


def test_files_that_an_upgrade_removed_are_counted():
    fact = software(versions=SPLIT, unimportable=SAID, missing_files={"mujoco-core": 197})

    finding = only(broken_mujoco, fact)

    assert finding.fix == TOGETHER
    assert finding.evidence["missing_files"] == {"mujoco-core": 197}


def test_parts_of_two_versions_are_named():
    """The repair without versions, which MuJoCo itself prints, brings this about."""
    fact = software(versions=SPLIT | {"mujoco-core": "4.0.1"}, unimportable=SAID)

    (finding,) = broken_mujoco.judge(fact)

    assert finding.message == "mujoco 4.0.0 cannot be imported: mujoco-core is 4.0.1"
    assert finding.fix == TOGETHER


def test_a_return_to_3_removes_the_parts_first():
    versions = SPLIT | {"mujoco": "3.5.0"}
    fact = software(versions=versions, unimportable=SAID, missing_files={"mujoco": 1})

    (finding,) = broken_mujoco.judge(fact)

    assert finding.message == "mujoco 3.5.0 cannot be imported: 1 file of mujoco is gone"
    assert finding.fix == (
        "pip uninstall -y mujoco-core mujoco-studio && pip install --force-reinstall --no-deps mujoco==3.5.0"
    )


def test_what_reinstalling_does_not_mend_gets_no_such_command():
    said = {"mujoco": "ImportError: libGL.so.1: cannot open shared object file"}

    (finding,) = broken_mujoco.judge(software(versions=SPLIT, unimportable=said))

    assert finding.message == f"mujoco 4.0.0 cannot be imported: {said['mujoco']}"
    assert finding.fix == "mend what the import names"


@pytest.mark.parametrize(
    "fact",
    [
        software(versions=SPLIT),
        software(versions={"mujoco": "3.5.0", "mujoco-core": "4.0.0"}),
        software(unimportable={"mujoco.mjx": "AttributeError: gone"}),
    ],
)
def test_what_can_be_imported_is_healthy(fact):
    assert not list(broken_mujoco.judge(fact))
