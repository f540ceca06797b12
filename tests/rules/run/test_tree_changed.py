"""Leaves that appear, vanish or change shape."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.tree_changed import tree_changed
from tests.builders import checkpoint, judged, leaf, series


def test_what_changed_is_listed():
    run = series(
        checkpoint(leaf("w", shape=(3,)), leaf("old"), step=1),
        checkpoint(leaf("w", shape=(8, 3)), leaf("a"), leaf("b"), step=2),
    )

    (finding,) = judged(tree_changed, run)

    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "since run/1: 2 leaves appeared (a, b), 1 leaf vanished (old), 1 leaf changed shape (w)"
    )


def test_the_same_tree_is_healthy():
    run = series(*(checkpoint(leaf("w", shape=(3,)), step=step) for step in (1, 2)))

    assert not judged(tree_changed, run)
