"""JD205."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.trial import Trial
from jaxdoctor.rules.rule import Hits, rule


@rule("JD205", Severity.WARNING)
def batch_changes_failures(outcome: Outcome) -> Hits:
    """The same states fail in another share when they are replayed one at a time.

    ## What it saw

    At level 3 the replays ran in one vmapped program and again in programs of one replay each, from the
    same states with the same controls. The shares that failed differ.

    ## Why it matters

    Batching decides which products are matrix products: under `vmap` a shared operand makes one large
    product of many small ones, which a GPU gives to tensor cores. So training (vmapped) and rendering or
    deployment (a batch of one) are different numerics. "NaN only at inference" has this shape.

    ## What to do

    Set the precision explicitly (`jax_default_matmul_precision`), which makes the two agree, and probe
    with `--batch` as large as in the run that matters.

    ## Example

    ```text
    JD205 warning batch-changes-failures: 0 of 32 replays fail one at a time at tf32, and 29 of 32 in a batch
    ```

    ## Sources

    - https://github.com/jax-ml/jax/issues/15362
    """
    for trial in outcome.trials:
        # Of a closed loop JD233 tells.
        if trial.batch != 1 or outcome.loop is not None:
            continue
        many = _same_in_a_batch(outcome, trial)
        if many is None or not (_apart(trial, many) or bool(trial.failed) != bool(many.failed)):
            continue
        yield Hit(
            location=Location(path=outcome.subject, leaf=trial.first_bad_field, step=trial.first_bad_step),
            message=(
                f"{trial.failed} of {trial.replays} replays fail one at a time at {trial.precision.name}, "
                f"and {many.failed} of {many.replays} in a batch"
            ),
            evidence={
                "alone": trial.failed,
                "alone_replays": trial.replays,
                "batched": many.failed,
                "batched_replays": many.replays,
                "kind": trial.kind.value,
            },
            fix="probe with --batch of the run that matters; set the precision so that both agree",
        )


def _same_in_a_batch(outcome: Outcome, single: Trial) -> Trial | None:
    """The trial of the same kind and precision in a batch."""
    for trial in outcome.trials:
        if trial.batch is None and trial.kind is single.kind and trial.precision == single.precision:
            return trial
    return None


def _apart(left: Trial, right: Trial) -> bool:
    """Whether the 95 % intervals of the two shares do not touch."""
    return left.interval.low > right.interval.high or right.interval.low > left.interval.high
