"""JD406."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.rule import Hits, rule

NAMED = 4
"""Leaves that a message names; the evidence has more."""


LOSING = ("missing-file", "truncated-file", "corrupt-data", "pointer-not-data", "unreadable-file")
"""Faults through which leaves are absent."""


@rule("JD406", Severity.WARNING)
def tree_changed(series: Series) -> Hits:
    """The leaves are not those of the checkpoint before.

    ## What it saw

    Paths that appear, vanish or change shape between two checkpoints of one run. A checkpoint of which a
    part is missing or could not be read is compared with nothing.

    ## Why it matters

    A template made from one of the two does not restore the other: Orbax raises, and a restore without
    a template gives a tree that the code does not expect. A shape that changes is often a batch or a
    device axis that was saved along.

    ## What to do

    See what changed in the code between the two. Save `jax.device_get` of one replica, not the stack.

    ## Example

    ```text
    JD406 warning tree-changed: since run/1000: 2 leaves appeared (params/b, params/c), 1 changed shape (w)
    ```

    ## Sources

    - https://orbax.readthedocs.io/en/latest/guides/checkpoint/transformations.html
    """
    lost: set[str] = set()
    for before, after in series.neighbours:
        # A rank's file that is gone takes its leaves along, and is an error of its own.
        if not set(before.parts) <= set(after.parts):
            continue
        first = {leaf.path: leaf.shape for leaf in before.leaves}
        second = {leaf.path: leaf.shape for leaf in after.leaves}
        changes = {
            # What is there again after one save without it was told when it vanished.
            "appeared": [path for path in second if path not in first and path not in lost],
            "vanished": [path for path in first if path not in second],
            "changed shape": [path for path in second if first.get(path, second[path]) != second[path]],
        }
        if first and second and any(changes.values()) and _whole(before) and _whole(after):
            lost.update(changes["vanished"])
            yield _hit(before, after, changes)


def _whole(saved: Checkpoint) -> bool:
    """Whether all of it was there and was read: what is lost has a finding of its own."""
    return not any(saved.faults_of(kind) for kind in LOSING)


def _hit(before: Checkpoint, after: Checkpoint, changes: dict[str, list[str]]) -> Hit:
    parts = [
        f"{len(paths)} {'leaf' if len(paths) == 1 else 'leaves'} {how} ({', '.join(paths[:NAMED])})"
        for how, paths in changes.items()
        if paths
    ]
    held = f"compare the code of the two; {before.path} holds what vanished"
    return Hit(
        location=Location(path=after.path, step=after.step),
        message=f"since {before.path}: {', '.join(parts)}",
        fix=held if changes["vanished"] else None,
        evidence={how.replace(" ", "_"): paths[:16] for how, paths in changes.items() if paths},
    )
