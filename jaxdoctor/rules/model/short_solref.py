"""JD212."""

from __future__ import annotations

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model, Softness
from jaxdoctor.rules.rule import Hits, rule

SHORTEST = 2.0
"""Timesteps that a constraint's time constant must have, as MuJoCo's documentation asks."""

STIFFEST = 1.0
"""The largest timestep times frequency of a constraint with direct stiffness: twice what solref may ask."""


@rule("JD212", Severity.WARNING)
def short_solref(model: Model) -> Hits:
    """A constraint answers faster than the timestep can follow.

    ## What it saw

    A contact, limit or equality whose `solref` has a time constant below two timesteps, or direct
    stiffness (a negative `solref`) that swings through more than a radian within one timestep.

    ## Why it matters

    MuJoCo and MJX lengthen such a time constant to two timesteps on their own, as long as the flag
    `refsafe` is on: then this is a note, because the model is only softer than written. With `refsafe`
    off, and for direct stiffness always, the constraint overshoots and the overshoot grows.

    ## What to do

    Make `solref` at least two timesteps long, or the timestep shorter. For direct stiffness k, keep
    k * timestep^2 well below 1.

    ## Example

    ```text
    JD212 warning short-solref: equality pin has stiffness 1e+07, 1e+03 times what a timestep of 0.01 s
    follows
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/modeling.html#solver-parameters
    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#option-flag-refsafe
    """
    safe = "refsafe" not in model.disabled
    short = [one for one in model.constraints if 0 < one.solref[0] < SHORTEST * model.timestep]
    stiff = [one for one in model.constraints if _swing(one, model.timestep) > STIFFEST]
    if short:
        worst = min(short, key=lambda one: one.solref[0])
        steps = worst.solref[0] / model.timestep
        clamped = ", so 2 timesteps are used" if safe else ""
        yield _hit(
            model, worst, len(short),
            f"{worst.spot} has a solref of {steps:.2g} timesteps, below {SHORTEST:g}{clamped}",
            f'solref="{SHORTEST * model.timestep:g} 1"',
            Severity.NOTE if safe else None,
        )  # fmt: skip
    if stiff:
        worst = max(stiff, key=lambda one: _swing(one, model.timestep))
        times = _swing(worst, model.timestep) ** 2
        yield _hit(
            model, worst, len(stiff),
            f"{worst.spot} has stiffness {-worst.solref[0]:.2g}, {times:.2g} times what a timestep of "
            f"{model.timestep:g} s follows",
            f"stiffness below {0.25 / model.timestep**2:.1g}",
            None,
        )  # fmt: skip


def _swing(one: Softness, timestep: float) -> float:
    """Radians that a constraint with direct stiffness swings through in one timestep."""
    if not one.is_direct:
        return 0.0
    return timestep * float((-one.solref[0]) ** 0.5)


def _hit(model: Model, worst: Softness, count: int, message: str, fix: str, severity: Severity | None) -> Hit:
    return Hit(
        location=Location(path=model.path, line=worst.spot.line),
        message=message + (f"; {count - 1} more are like it" if count > 1 else ""),
        evidence={
            "element": str(worst.spot),
            "solref": list(worst.solref),
            "timestep": model.timestep,
            "constraints": count,
        },
        fix=fix + NOT_TRIED,
        severity=severity,
    )
