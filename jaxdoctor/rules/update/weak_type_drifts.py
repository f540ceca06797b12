"""JD502."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import WEAK_CHANGES, Change, LeafSignature, Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD502", Severity.WARNING)
def weak_type_drifts(signature: Signature) -> Hits:
    """A leaf of the state loses or gains JAX's weak type in the first call, which compiles the step twice.

    ## What it saw

    The leaf has the same dtype before and after one abstract call, and another `weak_type`. JAX gives the
    weak type to arrays that were made of Python numbers alone, such as `jnp.asarray(0)`.

    A leaf of a loop that a script runs, which only stops being weak, is no finding: `lax.scan` and
    `lax.while_loop` give it its type before the first pass, and nothing is compiled for it.

    ## Why it matters

    The weak type is a part of what `jax.jit` compiles for. The second call of the step finds no program for
    it and compiles another one, silently. For a large model those are minutes, on every start.

    ## What to do

    A leaf that stops being weak gets its dtype where the state is made: `jnp.zeros((), jnp.int32)` instead
    of `0` or `jnp.asarray(0)`. A leaf that becomes weak is returned by a line such as
    `jnp.where(done, 1.0, 0.0)`: end that line with `.astype(jnp.float32)`. Around an optax transformation,
    `jaxdoctor.remedies.stable_dtypes(transform)` does it.

    ## Example

    ```text
    JD502 warning weak-type-drifts: 3 leaves stop being weak in call 1, first info/decrease_error:
    ~float32[] becomes float32[]; jit compiles the step 2 times
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/type_promotion.html#weak-types
    - https://github.com/google-deepmind/optax/issues/1440
    """
    for change in WEAK_CHANGES:
        leaves = [leaf for leaf in signature.leaves if leaf.change is change]
        if not leaves or (signature.loop_takes_it_on and change is Change.HARDENS):
            continue
        leaf, count = leaves[0], len(leaves)
        what = f"{leaf.path} {change}" if count == 1 else f"{count} leaves {change.plural}"
        first = "" if count == 1 else f", first {leaf.path}"
        site = leaf.sites[0] if leaf.sites else None
        line = f", at {site.source}" if site is not None and site.source and change is Change.WEAKENS else ""
        times = "" if signature.rounds is None else f"; jit compiles the step {signature.rounds + 1} times"
        yield Hit(
            location=signature.location(leaf.path, leaf.sites[0] if leaf.sites else None),
            message=(
                f"{what} in call {leaf.call}{first}: {leaf.before} becomes {leaf.after}{line}{times}"
                f"{signature.context}"
            ),
            evidence={
                "leaves": [each.path for each in leaves],
                "before": leaf.before,
                "after": leaf.after,
                "rounds": signature.rounds,
                "setting": signature.setting,
            },
            fix=_fix(signature, leaves),
        )


def _fix(signature: Signature, leaves: list[LeafSignature]) -> str | None:
    if signature.results:
        return "wrap the transformation: jaxdoctor.remedies.stable_dtypes(transform)"
    cures = [leaf.cure for leaf in leaves if leaf.cure is not None]
    texts = list(dict.fromkeys(cure.text for cure in cures if not cure.follows))
    return f"{'; '.join(texts)} ({cures[0].tried})" if texts else None
