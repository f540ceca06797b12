"""JD226."""

from __future__ import annotations

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule


@rule("JD226", Severity.NOTE)
def slippery_contact(model: Model) -> Hits:
    """A contact has next to no friction, and is computed with friction all the same.

    ## What it saw

    Two geoms that can touch, whose contact has a `condim` of 3 or more and a sliding friction below 0.001.

    ## Why it matters

    The solver divides by the friction. MuJoCo in C does not let it fall below 1e-5; MJX and MuJoCo Warp were
    seen to go NaN in float32 and in float64 on such contacts.

    ## What to do

    `condim="1"` computes the contact without friction: faster, and with nothing to divide by. Or give the
    friction a value that a material has. A probe that fails tries both.

    ## Example

    ```text
    JD226 note slippery-contact: geom floor and geom slab touch with condim 3 or more and friction 0
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_warp/issues/942
    - https://mujoco.readthedocs.io/en/stable/modeling.html#contact
    """
    if not model.slippery:
        return
    worst = min(model.slippery, key=lambda one: one.friction)
    others = len(model.slippery) - 1
    yield Hit(
        location=Location(path=model.path, line=worst.second.line),
        message=(
            f"{worst.first} and {worst.second} touch with condim 3 or more and friction {worst.friction:.2g}"
            + (f"; {others} more pairs do" if others > 1 else "; 1 more pair does" if others else "")
        ),
        evidence={
            "geoms": [worst.first.name, worst.second.name],
            "friction": worst.friction,
            "pairs": others + 1,
        },
        fix=f'condim="1", or friction of 0.01 and more{NOT_TRIED}',
    )
