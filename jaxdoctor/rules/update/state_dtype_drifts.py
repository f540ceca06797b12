"""JD501."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import LeafSignature, Signature
from jaxdoctor.rules.rule import Hits, rule

CAST = "return jax.tree.map(lambda new, old: new.astype(old.dtype), new_state, state)"


@rule("JD501", Severity.ERROR)
def state_dtype_drifts(signature: Signature) -> Hits:
    """The update returns its state in other dtypes than it takes it.

    ## What it saw

    One abstract call, without data: a leaf of the state goes in as one dtype and comes out as another.
    The place is the source line of the operation that changed it, found by walking the traced program back
    from the leaf.

    ## Why it matters

    `lax.scan` and `lax.while_loop` refuse such an update. A jitted loop in Python accepts it, and compiles
    the whole step again. A bfloat16 state that has become float32 takes twice the memory from the second
    step on, and a state that has become narrower has lost bits that no later step brings back.

    ## What to do

    Cast at the place that the finding names, or make the state's dtypes a contract at the end of the update:

    ```python
    return jax.tree.map(lambda new, old: new.astype(old.dtype), new_state, state)
    ```

    Around an optax transformation that you cannot edit, `jaxdoctor.remedies.stable_dtypes(transform)` does
    the same.

    ## Example

    ```text
    JD501 error state-dtype-drifts: params/w goes in as bfloat16[128,64] and comes out as float32[128,64],
    where a float32[] operand promotes it: return p - LR * g
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/type_promotion.html
    - https://github.com/google-deepmind/optax/issues/1207
    """
    for leaves in _together(signature):
        leaf = leaves[0]
        site = leaf.sites[0] if leaf.sites else None
        several = f" and {len(leaves) - 1} more go" if len(leaves) > 1 else " goes"
        comes = "come" if len(leaves) > 1 else "comes"
        yield Hit(
            location=signature.location(leaf.path, site),
            message=(
                f"{leaf.path}{several} in as {leaf.before} and {comes} out as {leaf.after}"
                f"{site.cause if site else ''}{signature.context}"
            ),
            evidence={
                "leaves": [each.path for each in leaves],
                "before": leaf.before,
                "after": leaf.after,
                "sites": [site.place for site in leaf.sites],
                "through": list(site.through) if site else [],
                "loop_error": signature.loop_error,
                "setting": signature.setting,
            },
            fix=_fix(signature, leaf),
        )


def _together(signature: Signature) -> Iterator[list[LeafSignature]]:
    """The drifting leaves, those of one cause in one list."""
    groups: dict[object, list[LeafSignature]] = {}
    for leaf in signature.leaves:
        if leaf.dtype_changes and leaf.shape_in == leaf.shape_out:
            cause = (leaf.dtype_in, leaf.dtype_out, leaf.sites[0].place if leaf.sites else None)
            groups.setdefault(cause, []).append(leaf)
    yield from groups.values()


def _fix(signature: Signature, leaf: LeafSignature) -> str:
    if signature.results:
        return "wrap the transformation: jaxdoctor.remedies.stable_dtypes(transform)"
    site = leaf.sites[0] if leaf.sites else None
    if site is not None and site.partner and site.partner.endswith("[]") and site.file:
        return f"at {site.place}, cast the {site.partner} operand with .astype(jnp.{site.dtype_from})"
    return f"end the update with: {CAST}"
