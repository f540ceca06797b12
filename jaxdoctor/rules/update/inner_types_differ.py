"""JD511."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD511", Severity.ERROR)
def inner_types_differ(signature: Signature) -> Hits:
    """A loop or a condition inside the update is refused, since its two sides have other types.

    ## What it saw

    A `scan`, `while_loop` or `fori_loop` inside the update carries a leaf that comes out of its body with
    another dtype, or the branches of a `cond`, `switch` or `select` return other dtypes. The body was traced
    alone on the types that go in; the place is the line that changes the type; the call is named too.

    ## Why it matters

    JAX raises a TypeError at the first step, whose message names the call and not the line that promotes.

    ## What to do

    The cure was applied to the loop or the branch, and the update was then traced to its end: cast the result
    of the line that the finding names, or make what is carried with the wider type.

    ## Example

    ```text
    JD511 error inner-types-differ: the scan at train.py:12 takes h as bfloat16[2,8] and returns it as
    float32[2,8], where a float32[8] operand promotes it: h = (h @ q["w"]) * q["scale"]
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
    - https://docs.jax.dev/en/latest/type_promotion.html
    """
    for drift in signature.inner:
        leaf, call = drift.leaf, drift.call
        site = leaf.sites[0] if leaf.sites else call
        name = f"{leaf.path} as " if leaf.path else ""
        cause = leaf.sites[0].cause if leaf.sites else ""
        if drift.is_loop:
            what = (
                f"the {drift.kind} at {call.place} takes {name}{leaf.before} and returns it as {leaf.after}"
            )
        else:
            what = f"a branch of the {drift.kind} at {call.place} gives {name}{leaf.after}, not {leaf.before}"
        yield Hit(
            location=signature.location(leaf.path or None, site),
            message=f"{what}{cause}{signature.context}",
            evidence={
                "call": call.place,
                "before": leaf.before,
                "after": leaf.after,
                "sites": [each.place for each in leaf.sites],
                "setting": signature.setting,
            },
            fix=None if leaf.cure is None else leaf.cure.stated,
        )
