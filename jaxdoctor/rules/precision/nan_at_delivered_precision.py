"""JD201."""

from __future__ import annotations

from jaxdoctor.facts.cure import advice
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.text import agreed
from jaxdoctor.facts.trial import Kind, Trial, native_x64
from jaxdoctor.rules.prescribes import enough_bits
from jaxdoctor.rules.rule import Hits, rule


@rule("JD201", Severity.ERROR, prescribes=enough_bits)
def nan_at_delivered_precision(outcome: Outcome) -> Hits:
    """A rollout stops being finite at the precision that the card delivers.

    ## What it saw

    The same start states and controls were replayed in MJX with the operands of every matrix product
    rounded as the card rounds them. Some replays went NaN or infinite. At a higher precision they did
    not.

    ## Why it matters

    A policy that is trained or run on that card meets NaN observations, and MJX has no check that resets
    the state: one NaN stays for the rest of the episode. The same code is healthy on a card that
    multiplies float32 in full, which is why it works on one machine and not on the next.

    ## What to do

    Set `jax_default_matmul_precision` to `highest`, before the first JAX computation. `high` is the same
    as the default on most NVIDIA cards. Where float32 is not enough either, `jax_enable_x64` is; it costs
    far more on cards with few float64 units, so mending the model is often better: armature on light
    links, fewer nearly parallel joints, less extreme mass ratios. The message names the product that is
    enough to break the replay by itself, if one is.

    ## Example

    ```text
    JD201 error nan-at-delivered-precision: 16 of 16 replays are not finite at the 10 mantissa bits that
    rtx-4090 delivers, first qLD at step 0; finite from 13 bits on
    ```

    ## Sources

    - https://github.com/google/brax/issues/501
    - https://github.com/google-deepmind/mujoco_playground/issues/86
    - https://docs.jax.dev/en/latest/_autosummary/jax.default_matmul_precision.html
    """
    trial = outcome.as_delivered
    if outcome.verdict is not Verdict.PRECISION or trial is None:
        return
    required = outcome.required_bits
    more = required is not None and required > F32.mantissa_bits
    mended = "float32 is not enough on any card, x64 is" if more else f"finite from {required} bits on"
    full = (one for one in outcome.trials if one.precision == F32 and one.batch is None)
    highest, x64 = outcome.at_highest or next(full, None), native_x64(outcome.trials)
    where = (
        f"; rounding the product at {' and '.join(outcome.culprits)} is enough to cause it"
        if outcome.culprits
        else ""
    )
    yield Hit(
        location=Location(
            path=outcome.subject, leaf=trial.first_bad_field, step=outcome.first_bad_step(trial)
        ),
        message=(
            f"{trial.failed} of {trial.replays} {outcome.replay_word}s {agreed(trial.failed)} not finite "
            f"{_where(outcome, trial, more=more)}, first {outcome.first_bad(trial)}; {mended}{where}"
        ),
        evidence={
            "failed": trial.failed,
            "replays": trial.replays,
            "share": [trial.interval.low, trial.interval.high],
            "delivered_bits": outcome.delivered_bits,
            "required_bits": required,
            "culprits": list(outcome.culprits),
        },
        fix=(
            "; or ".join(part for part in (_setting("enable x64", x64), advice(outcome.cures)) if part)
            if more or (highest is not None and highest.failed)
            else _setting("set jax_default_matmul_precision to highest", highest)
        ),
    )


def _setting(words: str, trial: Trial | None) -> str:
    """A setting with what it came to where it was replayed."""
    if trial is None:
        return words
    how = "" if trial.kind is Kind.NATIVE else ", emulated"
    return f"{words}: {trial.failed} of {trial.replays} replays fail with it{how}"


def _where(outcome: Outcome, trial: Trial, *, more: bool) -> str:
    """The card's bits are named where they decide, and not where float32 itself is too narrow."""
    if more:
        return "in float32"
    return f"at the {trial.precision.mantissa_bits} mantissa bits that {outcome.delivered_by} delivers"
