"""JD321."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule


@rule("JD321", Severity.WARNING)
def dtype_changed(series: Series) -> Hits:
    """A leaf has another dtype than in the checkpoint before.

    ## What it saw

    The same path with two dtypes in two checkpoints of one run. Python numbers are left out: a `step`
    that starts as Python's 0 and comes back as int32 is how training states work. Leaves of one role that
    changed in the same way are told together.

    ## Why it matters

    The update function returned another type than it got, so that everything was compiled again; or a
    restore cast the state, which Orbax does to the template's dtype silently. Narrower moments
    and counters do not come back.

    ## What to do

    Compare `jax.eval_shape(update, state)` with the state, leaf by leaf: `jaxdoctor check-update` does.
    If it was a restore, give it a template with the dtypes that were saved.

    ## Example

    ```text
    JD321 warning dtype-changed: float32 in run/1000 and bfloat16 in run/2000
    ```

    ## Sources

    - https://github.com/google-deepmind/optax/issues/1207
    - https://github.com/pytorch/pytorch/issues/187138
    """
    for before, after in series.neighbours:
        earlier = {leaf.path: leaf for leaf in before.leaves}
        changed: dict[tuple[str, str, Role], list[str]] = {}
        for leaf in after.leaves:
            old = earlier.get(leaf.path)
            if old is None or old.dtype == leaf.dtype or old.host_scalar or leaf.host_scalar:
                continue
            changed.setdefault((old.dtype, leaf.dtype, leaf.role), []).append(leaf.path)
        for (was, now, _), paths in changed.items():
            of_many = f", in {counted(len(paths), 'leaf', 'leaves')}" if len(paths) > 1 else ""
            yield Hit(
                location=Location(path=after.path, leaf=paths[0], step=after.step),
                message=f"{was} in {before.path} and {now} in {after.path}{of_many}",
                evidence={
                    "before": was,
                    "after": now,
                    "since": after.path,
                    "leaves": paths[:8],
                    "count": len(paths),
                },
            )
