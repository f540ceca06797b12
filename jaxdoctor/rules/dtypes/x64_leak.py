"""JD322."""

from __future__ import annotations

from collections.abc import Sequence

from jaxdoctor.facts.checkpoint import TABLE_FORMATS, Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

WIDE_FLOATS = {"float64", "complex128"}
WIDE_INTEGERS = {"int64", "uint64"}
NARROW_FLOATS = {"float32", "complex64", "bfloat16", "float16"}
NARROW_INTEGERS = {"int32", "uint32"}
KEPT_BY_NUMPY = TABLE_FORMATS | {"torch", "stable-baselines3"}
"""Formats in which people keep the statistics of observations as NumPy computed them."""


@rule("JD322", Severity.WARNING)
def x64_leak(checkpoint: Checkpoint) -> Hits:
    """Some leaves are 64 bits wide among leaves of 32.

    ## What it saw

    float64 arrays beside float32 ones; or, as a note, int64 arrays beside int32 ones. Python numbers,
    which every format stores in 64 bits, say nothing and are left out; so are NumPy arrays where the
    format distinguishes them, as Orbax does, and the state of an optimizer, of which optimizer-wider
    tells. Means and variances of observations are left out in pickles, npz and the like: the wrappers of
    Gym and of Stable-Baselines3 keep them in NumPy, in float64. In formats that JAX does not write, 64-bit
    integers are ordinary.

    ## Why it matters

    One float64 operand makes everything that touches it float64, at 1/32 or 1/64 of the speed on most
    cards. And a process without x64 restores such a leaf as float32 silently.

    ## What to do

    Make the leaf explicitly: `jnp.asarray(x, jnp.float32)`, `np.float32(...)` in place of a NumPy
    scalar. Look for `np.zeros(...)` without a dtype.

    ## Example

    ```text
    JD322 warning x64-leak: 3 float64 leaves among 41 of float32, the first is params/scale
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/default_dtypes.html
    - https://github.com/jax-ml/jax/issues/24909
    """
    made_by_jax = [
        leaf
        for leaf in checkpoint.leaves
        if not leaf.host_scalar and not leaf.host_array and leaf.foreign is None
    ]
    by_numpy = {Role.STATISTIC} if checkpoint.format in KEPT_BY_NUMPY else set()
    arrays = [leaf for leaf in made_by_jax if leaf.role not in {Role.OPTIMIZER} | by_numpy]
    if not checkpoint.written_by_jax:
        if all(leaf.type.kind != "float" for leaf in arrays):
            return  # Complex numbers alone are measurements.
        arrays = [leaf for leaf in arrays if leaf.size > 1]
    yield from _mixed(checkpoint, arrays, WIDE_FLOATS, NARROW_FLOATS, None)
    if checkpoint.written_by_jax:
        yield from _mixed(checkpoint, arrays, WIDE_INTEGERS, NARROW_INTEGERS, Severity.NOTE)


def _mixed(
    checkpoint: Checkpoint,
    arrays: Sequence[Leaf],
    wide: set[str],
    narrow: set[str],
    severity: Severity | None,
) -> Hits:
    leaks = [leaf for leaf in arrays if leaf.dtype in wide]
    others = [leaf for leaf in arrays if leaf.dtype in narrow and leaf.role is not Role.KEY]
    if leaks and others:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=leaks[0].path, step=checkpoint.step),
            message=(
                f"{counted(len(leaks), f'{leaks[0].dtype} leaf', f'{leaks[0].dtype} leaves')} "
                f"among {len(others)} of {others[0].dtype}, the first is {leaks[0].path}"
            ),
            evidence={"leaves": [leaf.path for leaf in leaks[:8]], "count": len(leaks)},
            fix="give the leaf a 32-bit dtype where it is made",
            severity=severity,
        )
