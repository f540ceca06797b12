"""JD512."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.signature import Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD512", Severity.ERROR)
def later_call_raises(signature: Signature) -> Hits:
    """A later call of the update raises on the state that an earlier call returned.

    ## What it saw

    The first call was traced. The next one, given the types that came out of it, raises: the update does not
    take what it returns.

    ## Why it matters

    The first step of a run succeeds, and the second ends it. `lax.scan` and `lax.while_loop` refuse the
    update.

    ## What to do

    Read the line that raises: it names what the update expects. Return the state as it came in, or make it
    as it comes out.

    ## Example

    ```text
    JD512 error later-call-raises: call 2 raises TypeError: wrap_key_data got a typed key
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
    """
    error = signature.raises
    if error is None:
        return
    changed = [leaf.path for leaf in signature.drifting]
    after = f"; before it, {changed[0]} changed" if changed else ""
    yield Hit(
        location=Location(path=error.file or signature.target, line=error.line),
        message=f"call {error.call} raises {error.message}{after}{signature.context}",
        evidence={
            "call": error.call,
            "error": error.message,
            "leaves": changed,
            "setting": signature.setting,
        },
        fix=_fix(signature),
    )


def _fix(signature: Signature) -> str | None:
    """The cures of what changed before the call, if under all of them no call raised any more."""
    cures = [leaf.cure for leaf in signature.drifting]
    if not cures or any(cure is None or "settles" not in cure.tried for cure in cures):
        return None
    texts = dict.fromkeys(cure.text for cure in cures if cure is not None and not cure.follows)
    first = next(cure for cure in cures if cure is not None)
    return f"{'; '.join(texts)} ({first.tried})" if texts else None
