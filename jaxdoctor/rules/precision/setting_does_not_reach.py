"""JD241."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.rule import Hits, rule


@rule("JD241", Severity.WARNING)
def setting_does_not_reach(outcome: Outcome) -> Hits:
    """A product that needs the bits names a precision of its own, so that no setting reaches it.

    ## What it saw

    The smallest set of products that must be exact holds one whose code passes a `precision` argument.

    ## Why it matters

    `jax_default_matmul_precision` is a default, and `jax.default_matmul_precision` too: neither changes a
    product that names its precision. Two products of MJX's convex collision ask for `Precision.HIGH`.

    ## What to do

    `jaxdoctor.remedies.raise_precision` rewrites the program, and reaches it:

    ```python
    step = raise_precision(step, sites=["mujoco/mjx/_src/collision_convex.py:628"])
    ```

    ## Example

    ```text
    JD241 warning setting-does-not-reach: mujoco/mjx/_src/collision_convex.py:628 (_create_contact_manifold)
    needs the bits and names a precision of its own
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/collision_convex.py
    """
    found = outcome.attribution
    named = [need.place for need in found.needs if need.explicit] if found is not None else []
    if not named or found is None:
        return
    wrapping = found.wrapping(outcome.stepped)
    verb = "needs the bits and names a precision" if len(named) == 1 else "need the bits and name precisions"
    yield Hit(
        location=Location(path=outcome.subject),
        message=f"{' and '.join(named)} {verb} of its own",
        evidence={"places": named},
        fix=None if wrapping is None else f"wrap the step: {wrapping}; tried: finite",
    )
