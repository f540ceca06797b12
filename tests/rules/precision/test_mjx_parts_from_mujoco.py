"""JD250: MJX makes another step than C."""

from dataclasses import replace

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.outcome import Parting, Verdict
from jaxdoctor.rules.precision.mjx_parts_from_mujoco import mjx_parts_from_mujoco
from tests.outcomes import outcome


def parting(parted=800, field="qvel", horizon=2.0):
    return outcome(
        parting=Parting(
            steps=800,
            parted=parted,
            error=0.562,
            tolerance=1e-3,
            worst=((5, 2), (60, 5)),
            horizon=horizon,
            field=field,
        )
    )


def test_the_field_and_the_drift_are_named():
    (finding,) = mjx_parts_from_mujoco.judge(parting())

    assert finding.severity is Severity.WARNING
    assert (finding.location.leaf, finding.location.step) == ("qvel", 5)
    assert finding.message == (
        "800 of 800 steps differ between MJX at x64 and MuJoCo in C, by up to 56 % of the change in "
        "velocity, first in qvel; a rollout parts at step 2"
    )
    assert "Euler" in finding.fix


def test_contacts_and_an_unfinished_solver_are_a_note():
    (finding,) = mjx_parts_from_mujoco.judge(parting(84, "qfrc_constraint", None))

    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("first in qfrc_constraint")


def test_a_field_that_nobody_looked_for_is_not_named():
    (finding,) = mjx_parts_from_mujoco.judge(parting(field=None))

    assert finding.severity is Severity.NOTE
    assert "first in" not in finding.message


def test_a_contact_that_begins_one_step_apart_is_healthy():
    assert not list(mjx_parts_from_mujoco.judge(parting(16)))
    assert not list(mjx_parts_from_mujoco.judge(outcome()))


def test_the_engines_own_failure_is_said_once():
    ill = replace(parting(), verdict=Verdict.ENGINE)

    assert not list(mjx_parts_from_mujoco.judge(ill))
