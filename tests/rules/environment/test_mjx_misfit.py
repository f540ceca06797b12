"""JD121: an MJX beside a MuJoCo that it does not know."""

import pytest

from jaxdoctor.rules.environment.mjx_misfit import mjx_misfit
from tests.environments import only, software

LACKS = "AttributeError: type object 'mujoco._enums.mjtEnableBit' has no attribute 'mjENBL_MULTICCD'"


def misfit(mujoco, mjx, said=LACKS):
    return software(versions={"mujoco": mujoco, "mujoco-mjx": mjx}, unimportable={"mujoco.mjx": said})


def test_the_newest_mjx_takes_a_mujoco_of_4():
    finding = only(mjx_misfit, misfit("4.0.0", "3.5.0"))

    assert finding.fix == "pip install --upgrade mujoco-mjx"


@pytest.mark.parametrize("mjx", ["3.3.3", "3.17.0"])
def test_a_mujoco_of_3_gets_the_mjx_of_its_number(mjx):
    """The newest would upgrade MuJoCo under its owner."""
    (finding,) = mjx_misfit.judge(misfit("3.10.0", mjx))

    assert finding.fix == "pip install --upgrade mujoco-mjx==3.10.0"


def test_what_another_package_lacks_is_not_blamed_on_the_pair():
    said = "ModuleNotFoundError: No module named 'etils'"

    (finding,) = mjx_misfit.judge(misfit("3.10.0", "3.17.0", said))

    assert finding.message.endswith(said)
    assert finding.fix == "mend what the import names"


@pytest.mark.parametrize(
    "fact",
    [
        software(versions={"mujoco": "4.0.0", "mujoco-mjx": "3.10.0"}),
        software(unimportable={"mujoco": "ImportError: gone"}),
        software(unimportable={"warp": "TypeError: 'function' object is not subscriptable"}),
    ],
)
def test_what_can_be_imported_is_healthy(fact):
    """MJX 3.10 works with MuJoCo 4.0, whatever the numbers suggest."""
    assert not list(mjx_misfit.judge(fact))
