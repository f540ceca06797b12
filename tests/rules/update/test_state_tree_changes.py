"""JD508: leaves that come and go."""

import pytest

from jaxdoctor.rules.update.state_tree_changes import state_tree_changes
from tests.signatures import hits, leaf, signature


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (leaf("cache", None, "float32"), "1 leaf appears, first cache: absent becomes float32[]"),
        (leaf("cache", "float32", None), "1 leaf vanishes, first cache: float32[] becomes absent"),
        (
            leaf("cache", "float32", "float32", shape_out=(4,)),
            "1 leaf changes shape, first cache: float32[] becomes float32[4]",
        ),
    ],
)
def test_each_way_to_change_is_said(changed, message):
    (finding,) = hits(state_tree_changes, signature(leaf("w", "float32", "float32"), changed, rounds=1))

    assert finding.message == message


def test_the_same_leaves_are_healthy():
    assert not hits(state_tree_changes, signature(leaf("w", "float32", "bfloat16"), rounds=1))
