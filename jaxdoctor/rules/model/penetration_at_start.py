"""JD220."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import QPOS0, Model, Overlap
from jaxdoctor.rules.rule import Hits, rule

SHALLOW = 0.1
"""A depth up to this share of the smaller geom is what a model at rest has, or close to it."""

DEEP = 0.5
"""From half of the smaller geom on, the contact's direction is a matter of luck."""


TINY = 1e-3
"""A share of the model's extent: so small an overlap is gone before anything has moved."""


@rule("JD220", Severity.NOTE)
def penetration_at_start(model: Model) -> Hits:
    """Geoms start inside one another.

    ## What it saw

    In the pose that replays start from, two geoms that collide overlap by more than a tenth of the smaller
    one's bounding radius. From half of it on, and from a thousandth of the model's extent on, that is a
    warning where the file states that pose: as its first keyframe, or as the custom numeric `init_qpos`
    that Brax starts from. A model that states none is replayed from qpos0, and its user may start it
    elsewhere: there it is a note.

    ## Why it matters

    The contact pushes them apart within a few timesteps. Deep overlaps give large velocities from the first
    step on, or push in the wrong direction; what then looks like a fault of precision is the start state.

    ## What to do

    Raise the start pose until `contact.dist` of `mj_forward` is about zero, or exclude the pair.

    ## Example

    ```text
    JD220 warning penetration-at-start: geom floor and geom foot overlap by 0.03 m at keyframe home
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/modeling.html
    """
    deep = [overlap for overlap in model.overlaps if overlap.depth > SHALLOW * overlap.size]
    if not deep or "contact" in model.disabled:
        return
    worst = max(deep, key=lambda overlap: overlap.depth / overlap.size)
    yield Hit(
        location=Location(path=model.path, line=worst.second.line),
        message=(
            f"{worst.first} and {worst.second} overlap by {worst.depth:.2g} m at {worst.pose}"
            + (f"; {len(deep) - 1} more do" if len(deep) > 1 else "")
        ),
        evidence={
            "geoms": [worst.first.name, worst.second.name],
            "pose": worst.pose,
            "depth": float(f"{worst.depth:.3g}"),
            "size": float(f"{worst.size:.3g}"),
            "overlaps": len(deep),
        },
        fix=f"move them {worst.depth:.2g} m apart at {worst.pose}, or exclude the pair",
        severity=Severity.WARNING if _throws(worst, model) else None,
    )


def _throws(worst: Overlap, model: Model) -> bool:
    """Whether the contact moves something that one can see, in a pose that somebody chose."""
    deep = worst.depth > max(DEEP * worst.size, TINY * model.extent)
    return deep and not worst.on_terrain and worst.pose != QPOS0
