"""JD290."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Demand
from jaxdoctor.rules.rule import Hits, rule


@rule("JD290", Severity.ERROR)
def margin_below_demand(demand: Demand) -> Hits:
    """A rollout has fewer bits to spare than the configuration demands.

    ## What it saw

    The bits that the card delivers minus those that the rollout requires are fewer than
    `tolerance: margin-bits` in `jaxdoctor.yaml` says. A rollout whose margin is not known is not judged here:
    the report names it among what was not examined.

    ## Why it matters

    A margin is what is left for other start states, a longer rollout, or a changed model. Who demands one
    wants to hear of it before it is used up.

    ## What to do

    Set `jax_default_matmul_precision` to `highest`, which delivers 23 bits, or look at what changed in the
    model since the margin was larger. If the smaller margin is accepted, lower the demand or ignore this
    finding with a reason.

    ## Example

    ```text
    JD290 error margin-below-demand: +1 bit to spare, 3 demanded: requires 9, rtx-4090 delivers 10
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.default_matmul_precision.html
    """
    outcome = demand.outcome
    margin = outcome.margin_bits
    if margin is None or margin >= demand.margin_bits:
        return
    yield Hit(
        location=Location(path=outcome.subject),
        message=(
            f"{margin:+d} {'bit' if abs(margin) == 1 else 'bits'} to spare, {demand.margin_bits} demanded: "
            f"requires {outcome.required_bits}, {outcome.delivered_by} delivers {outcome.delivered_bits}"
        ),
        evidence={
            "margin_bits": margin,
            "demanded_bits": demand.margin_bits,
            "required_bits": outcome.required_bits,
            "delivered_bits": outcome.delivered_bits,
        },
        fix="set jax_default_matmul_precision to highest, or lower tolerance: margin-bits",
    )
