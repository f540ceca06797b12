"""JD215: one iteration for stiff constraints."""

from tests.mjcf import BALL, arm, findings, mjcf

RULE = "one-solver-iteration"


STIFF = '<option timestep="0.02" iterations="1"><flag {flag}="disable"/></option>'
HAND = '<body name="hand"><freejoint/><geom size="0.1"/></body>'
SWITCHED_OFF = {
    "contact": mjcf(BALL.format(z=1), options=STIFF),
    "limit": mjcf(arm(1, joint='range="-1 1" limited="true"'), options=STIFF),
    "frictionloss": mjcf(arm(1, joint='frictionloss="1"'), options=STIFF),
    "equality": mjcf(HAND, options=STIFF, after='<equality><weld body1="hand"/></equality>'),
}


def touching(iterations, solref):
    options = f'<option timestep="0.01" iterations="{iterations}"/>'
    return mjcf(BALL.format(z=1), options=options, defaults=f'<geom solref="{solref}"/>')


def test_stiff_contacts_need_more_than_one_iteration():
    (finding,) = findings(RULE, touching(1, "0.02 1"))

    assert finding.message == "1 iteration has to hold geom floor (solref 0.02 1)"


def test_a_loop_needs_more_than_one_iteration():
    weld = '<equality><weld name="grip" body1="hand"/></equality>'
    world = '<body name="hand"><freejoint/><geom size="0.1"/></body>'

    (finding,) = findings(RULE, mjcf(world, options='<option iterations="1"/>', after=weld))

    assert "equality grip" in finding.message


def test_soft_contacts_and_more_iterations_are_healthy():
    assert findings(RULE, touching(1, "0.05 1")) == []
    assert findings(RULE, touching(4, "0.02 1")) == []


def test_what_a_flag_switches_off_needs_no_iterations():
    """Contacts, limits, friction loss and loops, each under its own flag and under that of all."""
    for flag, model in SWITCHED_OFF.items():
        assert findings(RULE, model.format(flag="gravity")), flag
        assert findings(RULE, model.format(flag=flag)) == []
        assert findings(RULE, model.format(flag="constraint")) == []
