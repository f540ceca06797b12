"""JD510."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import LARGE_STATE_BYTES, Signature
from jaxdoctor.rules.rule import Hits, rule

TAKES_NAMES = ("jit", "nnx.jit")
"""What takes `donate_argnames`; `pmap` takes numbers alone."""


@rule("JD510", Severity.NOTE)
def large_state_not_donated(signature: Signature) -> Hits:
    """A jitted update does not give its large state's buffers back, so that memory holds the state twice.

    ## What it saw

    The update is a jitted function, its state is 256 MiB or more, and neither `donate_argnums` nor
    `donate_argnames` names all arguments that hold it.

    ## Why it matters

    While the step runs, the old state and the new one are both in the card's memory.

    ## What to do

    `jax.jit(update, donate_argnames=("params", "opt_state"))`, every argument that comes back named, and do
    not use the old state after the call. Under Equinox, `eqx.filter_jit(update, donate="all")`, which gives
    the data's buffers back too.

    ## Example

    ```text
    JD510 note large-state-not-donated: the state of 12.0 GiB is held twice while the update runs
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/faq.html#buffer-donation
    """
    if signature.donated is not False or signature.state_bytes < LARGE_STATE_BYTES:
        return
    yield Hit(
        location=signature.location(),
        message=(
            f"the state of {signature.state_bytes / 2**30:.1f} GiB is held twice while the update runs"
            f"{signature.context}"
        ),
        evidence={"state_bytes": signature.state_bytes},
        fix=_fix(signature),
    )


def _fix(signature: Signature) -> str:
    kind = "jit" if signature.call is None else signature.call.kind
    if not signature.donatable or kind not in TAKES_NAMES:
        return "donate the state's buffers where the update is jitted"
    names = ", ".join(f'"{name}"' for name in signature.donatable)
    jit = f"jax.{kind}" if kind == "jit" else kind
    several = len(signature.donatable) > 1
    return f"{jit}(update, donate_argnames={f'({names})' if several else names})"
