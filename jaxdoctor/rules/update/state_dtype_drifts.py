"""JD501."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Change, LeafSignature, Signature
from jaxdoctor.rules.rule import Hits, rule


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

    The finding names a cure that was applied to the traced update, which was then traced again: to cast the
    result of a line back, to make the leaf with the dtype that it comes out with, or, around an optimizer
    that you cannot edit, `jaxdoctor.remedies.stable_dtypes(transform)`.

    An integer that becomes a float is made as a float: cast back, every fraction is cut off. A decay such as
    0.999 is never made narrower: in bfloat16 it is 1. And a bfloat16 average whose decay is above 0.996
    stands still: keep it in float32. A weak leaf, made of a Python number, is a warning: `lax.scan` takes
    on what comes out, and jit compiles once more. Where the loop itself was judged, in a script, nothing is
    compiled for it, and it is a note.

    ## Example

    ```text
    JD501 error state-dtype-drifts: params/w goes in as bfloat16[128,64] and comes out as float32[128,64],
    where a float32[] operand promotes it: return p - LR * g
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/type_promotion.html
    - https://github.com/google-deepmind/optax/issues/1207
    """
    groups = list(_together(signature))
    following = [leaf.path for leaves in groups for leaf in leaves if _follows(leaf)]
    for leaves in groups:
        leaf = leaves[0]
        if _follows(leaf):
            continue
        after = f"; {len(following)} more drift after it" if following and leaves is groups[0] else ""
        site = leaf.sites[0] if leaf.sites else None
        several = f" and {len(leaves) - 1} more go" if len(leaves) > 1 else " goes"
        comes = "come" if len(leaves) > 1 else "comes"
        yield Hit(
            location=signature.location(leaf.path, site),
            message=(
                f"{leaf.path}{several} in as {leaf.before} and {comes} out as {leaf.after}"
                f"{site.cause if site else ''}{_cost(signature, leaves)}{after}{signature.context}"
            ),
            evidence={
                "leaves": [each.path for each in leaves],
                "before": leaf.before,
                "after": leaf.after,
                "call": leaf.call,
                "following": following,
                "cures": sorted({each.cure.stated for each in leaves if each.cure is not None}),
                "sites": [site.place for site in leaf.sites],
                "through": list(site.through) if site else [],
                "loop_error": signature.loop_error,
                "setting": signature.setting,
            },
            fix=_fix(signature, leaf),
            severity=_severity(signature, leaves),
        )


def _together(signature: Signature) -> Iterator[list[LeafSignature]]:
    """The drifting leaves, those of one cause in one list."""
    groups: dict[object, list[LeafSignature]] = {}
    for leaf in signature.leaves:
        if leaf.dtype_changes and leaf.shape_in == leaf.shape_out:
            cause = (leaf.dtype_in, leaf.weak_in, leaf.dtype_out, leaf.sites[0].place if leaf.sites else None)
            groups.setdefault(cause, []).append(leaf)
    yield from groups.values()


def _follows(leaf: LeafSignature) -> bool:
    """One cause, one finding: it drifts only because another leaf does."""
    return leaf.cure is not None and leaf.cure.follows


def _is_promoted_by_scan(leaf: LeafSignature) -> bool:
    """A weak leaf takes on the dtype that comes out, also in a scan: one compile more, and no error."""
    return leaf.weak_in and leaf.change is not Change.NARROWS


def _severity(signature: Signature, leaves: list[LeafSignature]) -> Severity | None:
    if not all(_is_promoted_by_scan(leaf) for leaf in leaves):
        return None
    return Severity.NOTE if signature.loop_takes_it_on else Severity.WARNING


def _cost(signature: Signature, leaves: list[LeafSignature]) -> str:
    if all(_is_promoted_by_scan(leaf) for leaf in leaves):
        taken = "; lax.scan accepts it, and "
        return taken + ("compiles nothing for it" if signature.loop_takes_it_on else "jit compiles once more")
    if signature.donated:
        return "; its donated buffer cannot be used again"
    return ""


def _fix(signature: Signature, leaf: LeafSignature) -> str | None:
    if leaf.cure is not None:
        return leaf.cure.stated
    if signature.results:
        return "wrap the transformation: jaxdoctor.remedies.stable_dtypes(transform)"
    return None
