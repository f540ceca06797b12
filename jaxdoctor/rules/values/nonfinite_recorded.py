"""JD302."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.text import agreed, counted
from jaxdoctor.rules.rule import Hits, rule

COUNTS = frozenset({"total_notfinite", "notfinite_count"})
TELLING = ("loss", "grad_norm", "reward", "objective")
"""Parts of names of metrics that are never meant to be NaN. Ratios and variances of small batches are."""


@rule("JD302", Severity.WARNING)
def nonfinite_recorded(checkpoint: Checkpoint) -> Hits:
    """The run itself recorded values that were not finite.

    ## What it saw

    A count of rejected updates above zero, which `optax.apply_if_finite` keeps in `total_notfinite`, or
    a logged metric that was NaN or infinite. Of a metric that is neither a loss, a gradient norm nor a
    reward it is a note: a ratio of variances over a small batch is often NaN without harm. So is a
    metric that Orbax saved beside a step, to find the best one by.

    ## Why it matters

    The parameters may be finite only because an update was thrown away. The cause is still there.

    ## What to do

    Look at what happened at that step: learning rate, batch, precision. `jaxdoctor probe` tells whether
    the physics needs more precision than the card delivers.

    ## Example

    ```text
    JD302 warning nonfinite-recorded: 12 updates were not finite and thrown away
    ```

    ## Sources

    - https://optax.readthedocs.io/en/latest/api/transformations.html#optax.apply_if_finite
    """
    for counter in checkpoint.counters:
        if counter.name in COUNTS and counter.value > 0:
            count = int(counter.value)
            were = agreed(count, "was", "were")
            yield Hit(
                location=Location(path=checkpoint.path, leaf=counter.path, step=checkpoint.step),
                message=f"{counted(count, 'update')} {were} not finite and thrown away",
                evidence={"count": counter.value},
            )
    for name in _metrics(checkpoint.metadata):
        yield Hit(
            location=Location(path=checkpoint.path, step=checkpoint.step),
            message=f"the metric {name} was saved as not finite",
            evidence={"metric": name, "step": checkpoint.step},
            severity=Severity.NOTE,
        )
    logged = checkpoint.metadata.get("logged_nonfinite")
    if isinstance(logged, Mapping):
        for name, step in logged.items():
            yield Hit(
                location=Location(path=checkpoint.path, step=step if isinstance(step, int) else None),
                message=f"the metric {name} was logged as not finite, first at step {step}",
                evidence={"metric": str(name), "step": step},
                severity=None if any(word in str(name).lower() for word in TELLING) else Severity.NOTE,
            )


def _metrics(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The names of saved metrics that are not finite: what metadata holds under a name with "metric"."""
    for name, value in metadata.items():
        if "metric" in name and isinstance(value, Mapping):
            yield from _not_finite(value)


def _not_finite(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from (f"{name}/{below}" for below in _not_finite(value))
        elif isinstance(value, float) and not math.isfinite(value):
            yield str(name)
