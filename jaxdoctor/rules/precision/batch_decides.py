"""JD242."""

from __future__ import annotations

from jaxdoctor.facts.attribution import Attribution
from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.rule import Hits, rule


@rule("JD242", Severity.NOTE)
def batch_decides(outcome: Outcome) -> Hits:
    """A product that needs the bits is a matrix product in a batch only, and none in a batch of one.

    ## What it saw

    Traced for one environment, the product is too small for matrix units, or a product with a vector; traced
    for the batch that was replayed, it is a matrix product, and is rounded.

    ## Why it matters

    Training in thousands of environments and inference in one then compute with different mantissas: one may
    fail where the other does not.

    ## What to do

    Judge both: `--batch 1`, and the batch of the training. With the products raised (JD240) both compute in
    float32.

    ## Example

    ```text
    JD242 note batch-decides: mujoco/mjx/_src/support.py:67 (make_m) needs the bits in a batch, and runs on no
    matrix unit in a batch of one
    ```

    ## Sources

    - https://github.com/openxla/xla/blob/main/xla/service/gpu/transforms/gemm_rewriter.cc
    """
    found = outcome.attribution
    places = [need.place for need in found.needs if need.at_batch_one is False] if found is not None else []
    if found is not None and places:
        verb = (
            "needs the bits in a batch, and runs" if len(places) == 1 else "need the bits in a batch, and run"
        )
        yield Hit(
            location=Location(path=outcome.subject),
            message=f"{' and '.join(places)} {verb} on no matrix unit in a batch of one",
            evidence={"places": places},
            fix=_fix(outcome, found),
        )


def _fix(outcome: Outcome, found: Attribution) -> str:
    """What makes both batches compute in float32: the cure, where it was seen to help in the batch."""
    wrapping = found.wrapping(outcome.stepped)
    if wrapping is None:
        return f"judge the batch of one too: --batch 1{NOT_TRIED}"
    return f"both batches compute in float32 with {wrapping}; tried in the batch: finite"
