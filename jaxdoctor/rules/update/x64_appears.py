"""JD505."""

from __future__ import annotations

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD505", Severity.WARNING)
def x64_appears(signature: Signature) -> Hits:
    """Under x64, 64-bit arrays appear though no 64-bit array went in.

    ## What it saw

    With `jax_enable_x64` on, the state that a transformation made for 32-bit parameters holds 64-bit leaves,
    or an operation of the update returns a float64 array and got none.

    ## Why it matters

    A float64 product takes two times the time of a float32 one on a data centre's card and 32 to 64 times
    on a card for games. A checkpoint of such a state does not restore into a process without x64: Orbax
    then cuts int64 and float64 to 32 bits silently.

    ## What to do

    Name the dtype where the finding points: `jnp.zeros(n, dtype=x.dtype)` instead of `jnp.zeros(n)`, and
    Python numbers or `x.dtype.type(2)` instead of `np.float64(2)`, which `np.sqrt(2)` returns too.

    ## Example

    ```text
    JD505 warning x64-appears: weights_memory is float64[10] although every parameter is float32 (x64)
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/default_dtypes.html
    - https://github.com/google-deepmind/optax/issues/1207
    """
    leaves = signature.wide_leaves
    if leaves:
        leaf = leaves[0]
        widest = sorted({each.dtype_in for each in signature.results if each.dtype_in})
        others = f" (and {len(leaves) - 1} more)" if len(leaves) > 1 else ""
        yield Hit(
            location=signature.location(leaf.path),
            message=(
                f"{leaf.path}{others} is {leaf.after} although every parameter is {' or '.join(widest)}"
                f"{signature.context}"
            ),
            evidence={"leaves": [each.path for each in leaves], "setting": signature.setting},
            fix=f"give the leaf a dtype where the state is made, or trace and train without x64{NOT_TRIED}",
        )
    for site in signature.wide_sites:
        yield Hit(
            location=signature.location(site=site),
            message=f"{site.dtype_from} becomes {site.dtype_to}{site.cause}{signature.context}",
            evidence={"from": site.dtype_from, "to": site.dtype_to, "through": list(site.through)},
            fix=f"at {site.place}, name the dtype{NOT_TRIED}",
        )
