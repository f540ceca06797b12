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


def test_what_is_there_again_is_not_told_twice():
    """One save lacks the moments; that those after it have them is no change of its own."""
    trees = (("w", "mu"), ("w",), ("w", "mu"), ("w", "mu", "nu"))
    saved = (checkpoint(*map(leaf, names), step=step) for step, names in enumerate(trees, 1))

    found = judged(tree_changed, series(*saved))

    assert [finding.message for finding in found] == [
        "since run/1: 1 leaf vanished (mu)",
        "since run/3: 1 leaf appeared (nu)",
    ]
