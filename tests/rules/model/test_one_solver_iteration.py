"""JD215: one iteration for stiff constraints."""

from tests.mjcf import BALL, findings, mjcf

RULE = "one-solver-iteration"


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
