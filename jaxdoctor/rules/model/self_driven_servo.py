"""JD225."""

from __future__ import annotations

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule


@rule("JD225", Severity.WARNING)
def self_driven_servo(model: Model) -> Hits:
    """A servo's velocity feedback has the wrong sign: it pushes where it should brake.

    ## What it saw

    An actuator with `biastype="affine"` whose third `biasprm`, the force per velocity, is positive, and
    larger than the damping of the joint or tendon that it moves. Where a limit of force holds every such
    servo (`forcerange`, `actuatorfrcrange`), this is a note: its speed has a bound.

    ## Why it matters

    Whatever moves is pushed on, so the speed grows by a factor in every step until a limit of force, a joint
    limit or another body takes the energy. It stays finite for long, and no precision mends it.

    ## What to do

    Write a damping feedback with a negative number: `biasprm="0 -kp -kv"`; `<position kv="...">` and
    `<velocity kv="...">` do so themselves. If it is meant, as in a model of friction that falls with speed,
    ignore the finding with that reason.

    ## Example

    ```text
    JD225 warning self-driven-servo: actuator swing pushes joint a along its velocity with 1.2 per unit of
    speed, and its damping takes 0
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#actuator-general-biasprm
    - https://github.com/google-deepmind/mujoco_warp/issues/1662
    """
    if not model.self_driven or "actuation" in model.disabled:
        return
    worst = max(model.self_driven, key=lambda one: (not one.bounded, one.feedback - one.damping))
    others = len(model.self_driven) - 1
    yield Hit(
        location=Location(path=model.path, line=worst.spot.line),
        message=(
            f"{worst.spot} pushes {worst.target} along its velocity with {worst.feedback:.3g} per unit of "
            f"speed, and its damping takes {worst.damping:.3g}"
            + (f"; {others} more drive themselves" if others else "")
        ),
        evidence={
            "actuator": worst.spot.name,
            "feedback": worst.feedback,
            "damping": worst.damping,
            "servos": others + 1,
        },
        fix=f"make the third number of biasprm negative{NOT_TRIED}",
        severity=Severity.NOTE if worst.bounded else None,
    )
