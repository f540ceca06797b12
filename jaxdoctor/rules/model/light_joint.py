"""JD211."""

from __future__ import annotations

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.facts.precision import TF32
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

LARGEST_SHARE = 4 * TF32.unit_roundoff
"""A joint that keeps less of its inertia than this is within two bits of losing it to TF32's rounding."""

LARGEST_ARMATURE = 1e-2
"""Armature below this share of a joint's inertia holds nothing."""

NAMED = 3
"""So many joints are named; the others are counted."""


@rule("JD211", Severity.NOTE)
def light_joint(model: Model) -> Hits:
    """A joint moves so little of its own that rounding can wipe its inertia out.

    ## What it saw

    A joint without armature to speak of whose inertia comes almost entirely from links that another joint
    moves as well: two hinges close together and nearly parallel, with a long or heavy link behind them.
    When the other joints move freely, less than 1/500 of its inertia is left, and armature adds next to
    nothing. TF32 rounds with a relative error of up to 1/2048.

    ## Why it matters

    This small rest is what the factorization of the mass matrix divides by. It is the difference of two
    large numbers, so rounding their factors changes it by much more than its own relative error, and can
    make it negative. The joint also needs a short timestep, for little turns it fast.

    ## What to do

    Give the joint `armature`: the rotor inertia times the square of the gear ratio is the physical value.
    About 1/100 of the joint's inertia takes the problem away.

    ## Example

    ```text
    JD211 note light-joint: joint index_tilt has almost no inertia of its own
      (3.1e-05 of the total when the other joints move freely)
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#body-joint-armature
    - https://mujoco.readthedocs.io/en/stable/modeling.html
    """
    light = sorted(
        (
            joint
            for joint in model.joints
            if joint.share < LARGEST_SHARE and joint.armature < LARGEST_ARMATURE * joint.inertia
        ),
        key=lambda joint: joint.share,
    )
    if not light:
        return
    worst = light[0]
    others = list(dict.fromkeys(str(joint.spot) for joint in light[1:NAMED]))
    rest = f"; also {counted(len(light) - 1, 'more joint')}, among them {', '.join(others)}" if others else ""
    yield Hit(
        location=Location(path=model.path, line=worst.spot.line),
        message=(
            f"{worst.spot} has almost no inertia of its own ({worst.share:.2g} of the total when the other "
            f"joints move freely){rest}"
        ),
        evidence={
            "joint": worst.spot.name,
            "share": float(f"{worst.share:.3g}"),
            "armature": worst.armature,
            "inertia": float(f"{worst.inertia:.3g}"),
            "joints": len(light),
        },
        fix=f'armature="{worst.inertia / 100:.1g}" on {worst.spot}{NOT_TRIED}',
    )
