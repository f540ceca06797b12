"""JD202."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.rules.prescribes import enough_bits
from jaxdoctor.rules.rule import Hits, rule

THIN = 2
"""Bits to spare that longer episodes, or truncation in place of rounding, use up."""


@rule("JD202", Severity.WARNING, prescribes=enough_bits)
def thin_margin(outcome: Outcome) -> Hits:
    """A rollout has only two bits of precision to spare, or fewer.

    ## What it saw

    The replays stayed finite at what the card delivers. A width that is at most three bits narrower makes
    some of them fail.

    ## Why it matters

    The replays are a sample. Longer episodes, other states that a policy finds, a heavier payload or a
    jaxlib that truncates instead of rounding take a bit or two, and then the run breaks.

    ## What to do

    Probe again with more replays, longer rollouts and the controls of a trained policy (`--controls`). If
    the margin stays thin, set `jax_default_matmul_precision` to `highest`, or mend what makes the mass
    matrix ill-conditioned.

    ## Example

    ```text
    JD202 warning thin-margin: the rollout requires 9 mantissa bits and rtx-4090 delivers 10: 1 to spare
    ```

    ## Sources

    - https://github.com/openxla/xla/commit/bffa344d42
    """
    margin = outcome.margin_bits
    if outcome.verdict is not Verdict.HEALTHY or margin is None or margin > THIN:
        return
    yield Hit(
        location=Location(path=outcome.subject),
        message=(
            f"the {outcome.subject_word} requires {outcome.required_bits} mantissa bits and "
            f"{outcome.delivered_by} delivers {outcome.delivered_bits}: {margin} to spare"
            if margin >= 0
            else f"no {outcome.replay_word} failed on {outcome.delivered_by}, but emulated ones below "
            f"{outcome.required_bits} bits do"
        ),
        evidence={
            "required_bits": outcome.required_bits,
            "delivered_bits": outcome.delivered_bits,
            "margin_bits": margin,
        },
        fix="probe with more replays and steps, or set jax_default_matmul_precision to highest to be safe",
    )
