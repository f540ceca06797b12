"""JD337."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

NOT_NUMBERS = "its elements are "
"""How a reader begins the reason of a type that is none of numbers: text, dates, records."""


@rule("JD337", Severity.NOTE)
def unsupported_leaf(checkpoint: Checkpoint) -> Hits:
    """Some leaves were not judged.

    ## What it saw

    Arrays whose values are stored in a way that is not read here: an unusual codec, a type without
    arithmetic, more memory than `--max-memory` allows. What could be told of them without their values
    was judged.

    ## Why it matters

    Nothing is known of their values. They are not counted as healthy.

    ## What to do

    Raise `--max-memory` if that is the reason, or save these leaves in an ordinary codec.

    ## Example

    ```text
    JD337 note unsupported-leaf: the values are compressed with blosc2, which is not read
    ```

    ## Sources

    - https://zarr-specs.readthedocs.io/en/latest/v3/codecs/index.html
    """
    reasons: dict[str, list[str]] = {}
    for fault in checkpoint.faults_of("unsupported-leaf"):
        reasons.setdefault(fault.message, []).append(fault.leaf or "")
    # A leaf that another fault names, such as a file that is missing, is not named again.
    named = {fault.leaf for fault in checkpoint.faults}
    for leaf in checkpoint.leaves:
        if leaf.unsupported and leaf.path not in named:
            reasons.setdefault(leaf.unsupported, []).append(leaf.path)
    types = [reason for reason in reasons if reason.startswith(NOT_NUMBERS)]
    others = [leaf for reason in types[1:] for leaf in reasons.pop(reason)]
    for reason, of_it in reasons.items():
        leaves = of_it
        more = f"; so it is with {counted(len(leaves) - 1, 'other leaf', 'other leaves')}"
        if reason in types and others:
            leaves = [*of_it, *others]
            more = f"; {counted(len(leaves) - 1, 'other leaf holds', 'other leaves hold')} no numbers either"
        yield Hit(
            location=Location(path=checkpoint.path, leaf=leaves[0] or None, step=checkpoint.step),
            message=reason + (more if len(leaves) > 1 else ""),
            evidence={"leaves": leaves[:16], "count": len(leaves)},
        )
