"""JD211: joints that keep next to nothing of their inertia."""

from tests.mjcf import arm, findings_in_file, mjcf

RULE = "light-joint"
TWIN = """<body><joint name="tilt" axis="0 1 0" {joint}/><geom size="0.004" mass="1e-4"/>
<body pos="0.001 0 0"><joint name="flex" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.01" mass="0.3"/></body></body>"""


def test_the_joint_before_a_long_link_is_named(tmp_path):
    (finding,) = findings_in_file(RULE, mjcf(TWIN.format(joint="")), tmp_path / "model.xml")

    assert finding.evidence["joint"] == "tilt"
    assert finding.evidence["share"] < 1e-3
    assert finding.location.line == 6
    assert finding.fix.endswith("on joint tilt (not tried)")


def test_armature_and_distance_are_healthy(tmp_path):
    path = tmp_path / "model.xml"

    assert findings_in_file(RULE, mjcf(TWIN.format(joint='armature="1e-3"')), path) == []
    assert findings_in_file(RULE, mjcf(arm(5)), path) == []
