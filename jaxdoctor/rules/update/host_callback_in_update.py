"""JD509."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD509", Severity.NOTE)
def host_callback_in_update(signature: Signature) -> Hits:
    """The update calls back to the host: a `jax.debug.print`, a `pure_callback` or an `io_callback`.

    ## What it saw

    The traced program holds such an operation, at the line that the finding names.

    ## Why it matters

    At every step the device waits for Python, or queues values up for it. A print that was left in is a
    common reason for a loop that is many times slower than it was.

    ## What to do

    Take it out, or return the value with the metrics and print it outside, every so many steps.

    ## Example

    ```text
    JD509 note host-callback-in-update: debug_callback: jax.debug.print("loss {}", loss)
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/external-callbacks.html
    """
    for site in signature.callbacks:
        yield Hit(
            location=signature.location(site=site),
            message=f"{site.primitive}{f': {site.source}' if site.source else ''}{signature.context}",
            evidence={"primitive": site.primitive, "function": site.function, "through": list(site.through)},
            fix=f"at {site.place}, return the value and print it outside, every so many steps",
        )
