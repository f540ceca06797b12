"""JD327."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD327", Severity.ERROR)
def shards_disagree(checkpoint: Checkpoint) -> Hits:
    """The shards of one checkpoint do not fit together.

    ## What it saw

    The same array with two dtypes or two shapes in files of different ranks, or shards that do not add
    up to what their index says.

    ## Why it matters

    The parts are from different saves, or one rank ran with another configuration. Whatever is put
    together from them is not a state that ever existed.

    ## What to do

    Restore a step whose shards agree, and look for the rank that restarted or was configured alone.

    ## Example

    ```text
    JD327 error shards-disagree: w is bfloat16 in rank 3 and float32 in rank 0
    ```

    ## Sources

    - https://github.com/volcengine/verl/issues/296
    """
    for fault in checkpoint.faults_of("shards-disagree"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix="restore a step whose shards agree",
        )
