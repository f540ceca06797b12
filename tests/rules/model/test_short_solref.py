"""JD212: constraints that are faster than the timestep."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import BALL, findings, mjcf

RULE = "short-solref"


def touching(solref, flag=""):
    options = f'<option timestep="0.01"><flag {flag}/></option>'
    return mjcf(BALL.format(z=1), options=options, defaults=f'<geom solref="{solref}"/>')


def test_a_short_time_constant_is_a_note_while_refsafe_lengthens_it():
    (finding,) = findings(RULE, touching("0.005 1"))

    assert finding.severity is Severity.NOTE
    assert "geom floor has a solref of 0.5 timesteps, below 2, so 2 timesteps are used" in finding.message
    assert finding.evidence["constraints"] == 2


def test_without_refsafe_it_is_a_warning():
    (finding,) = findings(RULE, touching("0.005 1", 'refsafe="disable"'))

    assert finding.severity is Severity.WARNING
    assert "are used" not in finding.message


def test_direct_stiffness_is_compared_with_the_timestep():
    (finding,) = findings(RULE, touching("-1e6 -100"))

    assert finding.severity is Severity.WARNING
    assert "stiffness 1e+06, 1e+02 times what a timestep of 0.01 s follows" in finding.message


def test_slower_constraints_are_healthy():
    assert findings(RULE, touching("0.02 1")) == []
    assert findings(RULE, touching("-5000 -100")) == []


def test_contacts_that_are_switched_off_are_healthy():
    assert findings(RULE, touching("0.005 1", 'contact="disable"')) == []
