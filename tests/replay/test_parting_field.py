"""Which field of a step is the first that parts."""

import mujoco
import numpy as np
import pytest

from jaxdoctor.replay.parting_field import FIELDS, _error, _errors
from tests.mjcf import BALL, mjcf


def stepped(z=0.09):
    model = mujoco.MjModel.from_xml_string(mjcf(BALL.format(z=z)))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    return data


def test_a_step_is_no_different_from_itself():
    assert {error for _, error in _errors(FIELDS, stepped(), stepped())} == {0.0}


def test_a_contact_that_one_of_them_has_not_is_a_difference():
    errors = dict(_errors(FIELDS, stepped(), stepped(z=0.5)))

    assert errors["ncon"] == errors["contact.dist"] == 1.0


@pytest.mark.parametrize(
    ("here", "there", "error"),
    [([4.0, 2.0], [4.0, 2.4], 0.1), ([0.0], [0.0], 0.0), ([0.0], [1e-9], 1.0), ([], [], 0.0)],
)
def test_a_difference_is_measured_by_the_largest_value(here, there, error):
    assert _error(np.array(here), np.array(there)) == pytest.approx(error)
