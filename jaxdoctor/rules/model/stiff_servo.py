"""JD222."""

from __future__ import annotations

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model, rounded_down, rounded_up
from jaxdoctor.rules.rule import Hits, rule

SEMI_IMPLICIT = ("Euler", "implicitfast")


@rule("JD222", Severity.WARNING)
def stiff_servo(model: Model) -> Hits:
    """A position or velocity servo is stiffer than the timestep can follow.

    ## What it saw

    An actuator with feedback on one joint, and the inertia that it feels when every other joint moves freely.
    Semi-implicit Euler keeps a swing with stiffness k, explicit damping b, implicit damping d and inertia I
    from growing only while timestep^2 * k + 2 * timestep * b is below 4 * I + 2 * timestep * d. This
    servo is above. The advice is for half of that bound, which leaves room for joints that move together.

    ## Why it matters

    Every step makes the swing larger, at any precision: x64 does not help. A force range keeps it from
    growing without end, and leaves a joint that chatters between its ends.

    ## What to do

    Lower `kp` or `kv`, shorten the timestep, or give the joint armature. Under `integrator="implicitfast"`
    the servo's damping is taken implicitly, which allows much more of it.

    ## Example

    ```text
    JD222 warning stiff-servo: actuator grip is 6.3 times stiffer than a timestep of 0.005 s follows
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/computation/index.html#numerical-integration
    - https://en.wikipedia.org/wiki/Semi-implicit_Euler_method
    """
    if model.integrator not in SEMI_IMPLICIT or "actuation" in model.disabled:
        return
    stiff = [
        (servo.stiffness_ratio(model.timestep), servo)
        for servo in model.servos
        if servo.inertia > 0 and servo.stiffness_ratio(model.timestep) > 1
    ]
    if not stiff:
        return
    ratio, worst = max(stiff, key=lambda pair: pair[0])
    yield Hit(
        location=Location(path=model.path, line=worst.spot.line),
        message=(
            f"{worst.spot} is {ratio:.2g} times stiffer than a timestep of {model.timestep:g} s follows"
            + (f"; {len(stiff) - 1} more are too stiff" if len(stiff) > 1 else "")
        ),
        evidence={
            "actuator": worst.spot.name,
            "joint": worst.joint,
            "ratio": float(f"{ratio:.3g}"),
            "stiffness": worst.stiffness,
            "inertia": float(f"{worst.inertia:.3g}"),
            "timestep": model.timestep,
            "servos": len(stiff),
        },
        fix=(
            f"divide kp and kv by {rounded_up(max(servo.divisor(model.timestep) for _, servo in stiff)):g}, "
            f"or set the timestep to {rounded_down(min(servo.longest_timestep() for _, servo in stiff)):g}"
            f"{NOT_TRIED}"
        ),
    )
