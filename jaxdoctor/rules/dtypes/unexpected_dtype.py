"""JD328."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import agreed
from jaxdoctor.rules.rule import Hits, rule


@rule("JD328", Severity.ERROR)
def unexpected_dtype(series: Series) -> Hits:
    """Leaves have another dtype than `--expect-dtype` says.

    ## What it saw

    Leaves of a role whose dtype is not the one that was expected of it. Python numbers are left out.

    ## Why it matters

    You said so: a pipeline downstream counts on it.

    ## What to do

    Find where the dtype changed: `jaxdoctor check-update` for an update function, the template for a
    restore.

    ## Example

    ```text
    JD328 error unexpected-dtype: 3 of 41 parameter leaves are not float32: params/scale is float64
    ```

    ## Sources

    - https://github.com/google-deepmind/optax/issues/1207
    """
    for saved in series.checkpoints:
        for role, dtype in series.expectations.dtypes.items():
            yield from _judge(saved, role, dtype)


def _judge(saved: Checkpoint, role: Role, dtype: str) -> Hits:
    leaves = [leaf for leaf in saved.with_role(role) if not leaf.host_scalar]
    others = [leaf for leaf in leaves if leaf.dtype != dtype]
    if others:
        yield Hit(
            location=Location(path=saved.path, leaf=others[0].path, step=saved.step),
            message=(
                f"{len(others)} of {len(leaves)} {role.value} leaves {agreed(len(others))} not {dtype}: "
                f"{others[0].path} is {others[0].dtype}"
            ),
            evidence={"leaves": [leaf.path for leaf in others[:8]], "count": len(others), "expected": dtype},
        )
