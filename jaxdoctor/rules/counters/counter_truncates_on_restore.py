"""JD316."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule

WIDE = {"int64": dtype_named("int32"), "uint64": dtype_named("uint32")}


@rule("JD316", Severity.WARNING)
def counter_truncates_on_restore(checkpoint: Checkpoint) -> Hits:
    """A 64-bit count is beyond what a process without x64 can restore.

    ## What it saw

    An int64 or uint64 array that is a counter, in a format that JAX restores, with a value that 32 bits
    do not hold. A Python number is left out: it is restored as it is.

    ## Why it matters

    JAX without `jax_enable_x64` has no 64-bit integers. Orbax and `jnp.asarray` keep the low 32 bits
    and say nothing: 8589934597 is restored as 5.

    ## What to do

    Restore in a process with `JAX_ENABLE_X64=1`, or save the count as a Python number or as two uint32.

    ## Example

    ```text
    JD316 warning counter-truncates-on-restore: step is 8589934597 in int64; without x64 it is restored as 5
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/default_dtypes.html
    - https://github.com/pytorch/pytorch/issues/187138
    """
    if not checkpoint.written_by_jax:
        return
    for counter in checkpoint.counters:
        narrow = WIDE.get(counter.dtype)
        if narrow is None or counter.host_scalar or counter.limit is None:
            continue
        left = narrow.wrapped(int(counter.value))
        if left != counter.value:
            yield Hit(
                location=Location(path=checkpoint.path, leaf=counter.path, step=checkpoint.step),
                message=(
                    f"{counter.path} is {counter.value:,} in {counter.dtype}; "
                    f"without x64 it is restored as {left:,}"
                ),
                evidence={"value": counter.value, "dtype": counter.dtype, "restored": left},
                fix="restore with JAX_ENABLE_X64=1, or save it as a Python number",
            )
