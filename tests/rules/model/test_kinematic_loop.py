"""JD213: loops held by constraints."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import arm, findings, mjcf

RULE = "kinematic-loop"
WORLD = arm(2).replace("<body", '<body name="first"', 1) + (
    '<body name="post" pos="0.4 0 {z}"><joint axis="0 1 0"/><geom size="0.01"/></body>'
)


def closed(z, active="true"):
    site = '<site name="tip" pos="0.4 0 0"/>'
    world = WORLD.format(z=z).replace(
        '<body name="first" pos="0 0 0">', f'<body name="first" pos="0 0 0">{site}'
    )
    world = world.replace('<geom size="0.01"/>', '<geom size="0.01"/><site name="hole"/>')
    connect = f'<connect name="pin" site1="tip" site2="hole" active="{active}"/>'
    return mjcf(world, after=f"<equality>{connect}</equality>")


def test_a_closed_loop_is_a_note():
    (finding,) = findings(RULE, closed(z=0))

    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("1 loop is held by constraints; equality pin is open by 0")


def test_a_loop_that_starts_open_is_a_warning():
    (finding,) = findings(RULE, closed(z=0.2))

    assert finding.severity is Severity.WARNING
    assert finding.evidence["violation"] == 0.2


def test_a_tree_and_an_inactive_connect_are_healthy():
    assert findings(RULE, mjcf(arm(2))) == []
    assert findings(RULE, closed(z=0.2, active="false")) == []


def test_a_weld_to_a_mocap_body_closes_nothing():
    """Where the body stands is for the user's code to say."""
    bodies = """<body name="hand" pos="0 0 1"><freejoint/><geom size="0.1"/></body>
    <body name="{name}" {mocap}><geom size="0.1" contype="0" conaffinity="0"/></body>"""
    weld = '<equality><weld body1="target" body2="hand" relpose="0 0 0 1 0 0 0"/></equality>'

    assert findings(RULE, mjcf(bodies.format(name="target", mocap=""), after=weld))
    assert findings(RULE, mjcf(bodies.format(name="target", mocap='mocap="true"'), after=weld)) == []
