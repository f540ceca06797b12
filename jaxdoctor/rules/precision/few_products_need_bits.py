"""JD240."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.attribution import Attribution
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule


@rule("JD240", Severity.NOTE)
def few_products_need_bits(outcome: Outcome) -> Hits:
    """A few products decide whether the rollout stays finite, and raising them alone is enough.

    ## What it saw

    Rounded as delivered, replays fail; with only these products at full float32 they stay finite. The set was
    searched among all products that run on matrix units, and then tried: the step was rewritten with
    `jaxdoctor.remedies.raise_precision` and replayed. JAX's own setting around the calls of one function was
    tried too: it raises all products of that function, but none that names a precision of its own.

    ## Why it matters

    `jax_default_matmul_precision=highest` takes every product off TF32. A policy network's products are often
    nearly all of a step's operations, while one product of the physics needs the bits.

    ## What to do

    Wrap the step, and leave the setting as it is:

    ```python
    from jaxdoctor.remedies import raise_precision

    step = raise_precision(step, sites=["mujoco/mjx/_src/support.py:67"])
    ```

    Or, without jaxdoctor, put the setting around the function that holds them, before the step is traced:

    ```python
    from mujoco.mjx._src import support

    support.make_m = jax.default_matmul_precision("highest")(support.make_m)
    ```

    ## Example

    ```text
    JD240 note few-products-need-bits: 1 of 14 products needs the bits, 2.4% of the operations:
    mujoco/mjx/_src/support.py:67 (make_m) from 13 bits on
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.lax.Precision.html
    """
    found = outcome.attribution
    if found is None or not found.needs or len(found.needs) == found.products:
        return
    verb = "needs" if len(found.needs) == 1 else "need"
    yield Hit(
        location=Location(path=outcome.subject),
        message=(
            f"{len(found.needs)} of {counted(found.products, 'product')} {verb} the bits, "
            f"{found.share:.1%} of the operations: {found.words}"
        ),
        evidence={
            "places": list(found.places),
            "share": found.share,
            "unique": found.unique,
            "cured": found.cured,
        },
        fix="; or ".join(_cures(outcome, found)) or None,
    )


def _cures(outcome: Outcome, found: Attribution) -> Iterator[str]:
    """The cures that were seen to help, raise_precision first."""
    wrapping, it = found.wrapping(outcome.stepped), "it" if outcome.is_call else "the step"
    if wrapping is not None:
        yield f"wrap {it}: {wrapping}; tried: finite"
    if found.setting:
        yield f"before {it} is traced: {'; '.join(found.setting)}; tried: finite"
