"""JD504."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Change, Signature, SourceLine
from jaxdoctor.rules.rule import Hits, rule


@rule("JD504", Severity.WARNING)
def update_promotes(signature: Signature) -> Hits:
    """The update computes in a wider dtype than its values have, because a scalar promotes them.

    ## What it saw

    In the traced program JAX inserted a conversion that nobody wrote: a bfloat16 or float16 array met a
    float32 scalar, such as `jnp.float32(0.1)`, a `np.float32`, or a learning rate that a schedule computes.
    A Python number would not have promoted it, since its type is weak. Of a gradient transformation, the
    returned updates are wider than the parameters that they are for.

    ## Why it matters

    From that line on the array takes twice the memory, and products run on float32 units. Added to the
    parameters, such an update promotes the parameters too.

    ## What to do

    If the wider dtype is not meant, cast the result at the place that the finding names:
    `(x * scalar).astype(x.dtype)`. The finding itself offers no fix, since none was tried.
    The scalar itself keeps its dtype: 0.999 in bfloat16 is 1. What is cast back further down, or is computed
    in float32 inside a function of JAX's own, is no finding.
    Of optax updates that are wider than their parameters, use `optax.apply_updates`, which casts back.

    ## Example

    ```text
    JD504 warning update-promotes: bfloat16 becomes float32 because of a float32[] operand:
    updates = jax.tree.map(lambda g: step_size * g, updates)
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/type_promotion.html
    - https://github.com/google-deepmind/optax/pull/1108
    """
    widened = [leaf for leaf in signature.results if leaf.change is Change.WIDENS]
    if widened:
        leaf = widened[0]
        site = leaf.sites[0] if leaf.sites else None
        others = f" (and {len(widened) - 1} more)" if len(widened) > 1 else ""
        yield Hit(
            location=signature.location(leaf.path, site),
            message=(
                f"the update for {leaf.path}{others} is {leaf.after}, the parameter {leaf.before}"
                f"{site.cause if site else ''}{signature.context}"
            ),
            evidence={
                "leaves": [each.path for each in widened],
                "parameter": leaf.before,
                "update": leaf.after,
                "setting": signature.setting,
            },
            fix="apply it with optax.apply_updates, which casts each update to its parameter's dtype",
        )
    for site in signature.promotions:
        yield _hit(signature, site)


def _hit(signature: Signature, site: SourceLine) -> Hit:
    return Hit(
        location=signature.location(site=site),
        message=f"{site.dtype_from} becomes {site.dtype_to}{site.cause}{signature.context}",
        evidence={
            "from": site.dtype_from,
            "to": site.dtype_to,
            "operand": site.partner,
            "through": list(site.through),
            "setting": signature.setting,
        },
    )
