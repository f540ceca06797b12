"""JD503."""

from __future__ import annotations

from collections.abc import Sequence

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import LeafSignature, Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD503", Severity.ERROR)
def no_fixed_point(signature: Signature) -> Hits:
    """The state's types never settle: every call of the update returns another kind of state.

    ## What it saw

    The update was traced on the types of its own output, again and again. They alternate, or they grow.
    The finding names a fix only where one was tried: that of every leaf that changes, under which the state
    settles. An array that grows by as much at every call is cut to its last rows for the trial.

    ## Why it matters

    `lax.scan` and `lax.while_loop` refuse the update. A jitted loop in Python compiles at every step, and
    the time per step is then the time of the compiler. A state that grows also ends in a lack of memory.

    ## What to do

    Return a state of the structure, shapes and dtypes that came in. A history belongs into an array of
    fixed length that is written at an index: `history.at[step % length].set(value)`.

    ## Example

    ```text
    JD503 error no-fixed-point: the state's types still change after 9 calls
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
    """
    if signature.rounds is not None or signature.refused is not None or signature.raises is not None:
        return
    if any(each.certain for each in signature.recompiles) and not signature.drifting:
        return
    changed = [leaf.path for leaf in signature.drifting]
    first = f", {changed[0]} among them" if changed else ""
    yield Hit(
        location=signature.location(changed[0] if changed else None),
        message=f"the state's types still change after {signature.traces} calls{first}{signature.context}",
        evidence={"leaves": changed, "loop_error": signature.loop_error, "setting": signature.setting},
        fix=_fix(signature.drifting),
    )


def _fix(leaves: Sequence[LeafSignature]) -> str | None:
    """The cures of all leaves that change, if the state settles under them."""
    cures = [leaf.cure for leaf in leaves]
    if not cures or any(cure is None or "settles" not in cure.tried for cure in cures):
        return None
    known = [cure for cure in cures if cure is not None]
    texts = dict.fromkeys(cure.text for cure in known if not cure.follows)
    return f"{'; '.join(texts)} ({known[0].tried})"
