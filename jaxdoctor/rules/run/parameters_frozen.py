"""JD408."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.leaf_names import is_average
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

HALF_BITS = 16
Pair = tuple[Checkpoint, Checkpoint]


@rule("JD408", Severity.WARNING)
def parameters_frozen(series: Series) -> Hits:
    """The parameters, or an average of them, do not change while the run goes on.

    ## What it saw

    All parameters equal to the last bit in two checkpoints of one run whose steps differ; or all leaves
    of a running average, while the parameters move. Of large arrays a sample was compared, unless
    `--deep` was given. A run that trains a part of its parameters, such as an adapter, is left out, as
    are checkpoints whose counts of updates stand still too, which another rule reports.

    ## Why it matters

    What is saved is not what is trained: a copy from before the loop, one of two replicas, an average
    that is never updated. Hours later the newest checkpoint is the first one.

    ## What to do

    Save the state that the update returns. If the learning rate is zero or all gradients are, mend that.

    ## Example

    ```text
    JD408 warning parameters-frozen: all 6 parameters are the same in run/1000 and run/2000
    ```

    ## Sources

    - https://flax.readthedocs.io/en/latest/guides/training_techniques/use_checkpointing.html
    """
    pairs = [pair for pair in series.neighbours if _went_on(*pair)]
    frozen = [pair for pair in pairs if _all_equal(_parameters(pair[0]), _parameters(pair[1]))]
    still = [
        pair
        for pair in pairs
        if pair not in frozen and _all_equal(_averages(pair[0]), _averages(pair[1])) and _parameters(pair[0])
    ]
    if frozen:
        yield _hit(frozen, "parameter", len(_parameters(frozen[0][0])), "")
    elif still:
        yield _hit(still, "leaf of the average", len(_averages(still[0][0])), " while the parameters move")


def _went_on(before: Checkpoint, after: Checkpoint) -> bool:
    if before.step is None or after.step is None or after.step <= before.step:
        return False
    counts = [
        {counter.path: counter.value for counter in saved.counters if counter.updates}
        for saved in (before, after)
    ]
    return not counts[0] or counts[0] != counts[1]


def _parameters(saved: Checkpoint) -> Mapping[str, int]:
    """The fingerprints of parameters that hold anything but one number."""
    return _fingerprints(saved, average=False)


def _averages(saved: Checkpoint) -> Mapping[str, int]:
    """The fingerprints of averages that have the bits to move; of the others, average-narrower reports."""
    return _fingerprints(saved, average=True)


def _fingerprints(saved: Checkpoint, *, average: bool) -> Mapping[str, int]:
    found = {}
    for leaf in saved.leaves:
        seen = leaf.statistics
        if leaf.role not in {Role.PARAMETER, Role.STATISTIC} or is_average(leaf) is not average:
            continue
        if (average and leaf.type.bits <= HALF_BITS) or (leaf.role is Role.STATISTIC and not average):
            continue
        if seen is not None and seen.fingerprint is not None and seen.rms and seen.minimum != seen.maximum:
            found[leaf.path] = seen.fingerprint
    return found


def _all_equal(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    return bool(before) and before == after


def _hit(pairs: Sequence[Pair], noun: str, number: int, beside: str) -> Hit:
    before, after = pairs[0]
    plural = "leaves of the average" if noun.startswith("leaf") else None
    more = f"; so it is in {counted(len(pairs) - 1, 'later checkpoint')}" if len(pairs) > 1 else ""
    all_ = f"all {counted(number, noun, plural)} are" if number > 1 else f"the only {noun} is"
    return Hit(
        location=Location(path=after.path, step=after.step),
        message=f"{all_} the same in {before.path} and {after.path}{beside}{more}",
        evidence={"leaves": number, "before": before.path, "pairs": len(pairs)},
        fix="save the state that the update returns",
    )
