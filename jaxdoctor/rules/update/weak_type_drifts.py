"""JD502."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import WEAK_CHANGES, Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD502", Severity.WARNING)
def weak_type_drifts(signature: Signature) -> Hits:
    """A leaf of the state loses or gains JAX's weak type in the first call, which compiles the step twice.

    ## What it saw

    The leaf has the same dtype before and after one abstract call, and another `weak_type`. JAX gives the
    weak type to arrays that were made of Python numbers alone, such as `jnp.asarray(0)`.

    ## Why it matters

    The weak type is a part of what `jax.jit` compiles for. The second call of the step finds no program for
    it and compiles another one, without a word. For a large model those are minutes, on every start.

    ## What to do

    Give the leaf its dtype where the state is made: `jnp.zeros((), jnp.int32)` instead of `0` or
    `jnp.asarray(0)`. Around an optax transformation, `jaxdoctor.remedies.stable_dtypes(transform)` does it.

    ## Example

    ```text
    JD502 warning weak-type-drifts: 3 leaves stop being weak in the first call, first info/decrease_error:
    ~float32[] becomes float32[]; jit compiles the step 2 times
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/type_promotion.html#weak-types
    - https://github.com/google-deepmind/optax/issues/1440
    """
    for change in WEAK_CHANGES:
        leaves = [leaf for leaf in signature.leaves if leaf.change is change]
        if not leaves:
            continue
        leaf, count = leaves[0], len(leaves)
        what = f"{leaf.path} {change}" if count == 1 else f"{count} leaves {change.plural}"
        first = "" if count == 1 else f", first {leaf.path}"
        times = "" if signature.rounds is None else f"; jit compiles the step {signature.rounds + 1} times"
        yield Hit(
            location=signature.location(leaf.path, leaf.sites[0] if leaf.sites else None),
            message=(
                f"{what} in the first call{first}: {leaf.before} becomes {leaf.after}{times}"
                f"{signature.context}"
            ),
            evidence={
                "leaves": [each.path for each in leaves],
                "before": leaf.before,
                "after": leaf.after,
                "rounds": signature.rounds,
                "setting": signature.setting,
            },
            fix=(
                "wrap the transformation: jaxdoctor.remedies.stable_dtypes(transform)"
                if signature.results
                else f"where the state is made, give {leaf.path} the dtype {leaf.dtype_in}"
            ),
        )
