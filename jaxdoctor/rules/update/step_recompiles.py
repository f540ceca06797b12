"""JD514."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.signature import Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD514", Severity.WARNING)
def step_recompiles(signature: Signature) -> Hits:
    """The step is compiled again though its arrays keep their types, for a static value or other data.

    ## What it saw

    A static field of the state that a call changes, or a Python number in an Equinox module, which
    `eqx.filter_jit` takes for static; of a script that was run, data of another shape in a later call, a
    static argument with another value, a function that is made anew at each call, and calls at which XLA
    compiled though nothing in their types asked for it, with what JAX's own log of cache misses says of
    them. An argument that comes with another sharding in the second call is a note: it happens once.
    Leaves that lose or gain JAX's weak type are weak-type-drifts.

    ## Why it matters

    A static value that changes at every call compiles at every call: the time per step is the compiler's. A
    last batch that is smaller compiles the step once more in every run.

    ## What to do

    Make a counter an array, `jnp.int32(0)`. Drop or pad the last batch. Define and jit the step once, before
    the loop, and give numbers that change as arguments that are not static.

    ## Example

    ```text
    JD514 error step-recompiles: n is a Python int: it is static under eqx.filter_jit, and with 0 becoming 1
    every call compiles anew
    ```

    ## Sources

    - https://github.com/patrick-kidger/equinox/issues/1062
    - https://docs.kidger.site/equinox/api/transformations/#equinox.filter_jit
    """
    call = signature.call
    for each in signature.recompiles:
        yield Hit(
            location=signature.location(each.leaf)
            if call is None
            else Location(path=call.file, line=call.line, leaf=each.leaf),
            message=f"{each.cause}{signature.context}",
            evidence={"leaf": each.leaf, "setting": signature.setting},
            fix=each.fix,
            severity=Severity.ERROR if each.certain else Severity.NOTE if each.once else None,
        )
