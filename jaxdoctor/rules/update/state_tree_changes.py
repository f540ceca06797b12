"""JD508."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import TREE_CHANGES, Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD508", Severity.ERROR)
def state_tree_changes(signature: Signature) -> Hits:
    """The update returns a state with other leaves, or leaves of other shapes, than it takes.

    ## What it saw

    One abstract call, without data: a leaf of the state is gone, is new, or has another shape.

    ## Why it matters

    `lax.scan` and `lax.while_loop` refuse such an update, a jitted loop compiles it again, and a checkpoint
    that was saved before the first step does not restore into the state after it.

    ## What to do

    Make every leaf where the state is made, with its final shape, and return all of them. A leaf that is
    None before the first step is no leaf: begin with zeros instead.

    ## Example

    ```text
    JD508 error state-tree-changes: 1 leaf appears, first cache: absent becomes float32[4]
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/pytrees.html
    """
    for change in TREE_CHANGES:
        leaves = [leaf for leaf in signature.leaves if leaf.change is change]
        if not leaves:
            continue
        leaf, count = leaves[0], len(leaves)
        words = f"1 leaf {change}" if count == 1 else f"{count} leaves {change.plural}"
        yield Hit(
            location=signature.location(leaf.path, leaf.sites[0] if leaf.sites else None),
            message=f"{words}, first {leaf.path}: {leaf.before} becomes {leaf.after}{signature.context}",
            evidence={
                "leaves": [each.path for each in leaves],
                "before": leaf.before,
                "after": leaf.after,
                "loop_error": signature.loop_error,
                "setting": signature.setting,
            },
            fix=None if leaf.cure is None else leaf.cure.stated,
        )
