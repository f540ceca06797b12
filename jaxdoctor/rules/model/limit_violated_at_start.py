"""JD221."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import QPOS0, Model
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

SMALL = 0.01
"""Outside by up to this share of the range is what rounded numbers in a keyframe give."""

LARGE = 0.1
"""Outside by more than this, the limit pulls hard."""


@rule("JD221", Severity.NOTE)
def limit_violated_at_start(model: Model) -> Hits:
    """A joint starts outside its range.

    ## What it saw

    In the pose that replays start from, a limited hinge or slide stands outside its range by more than a
    hundredth of it. More than a tenth is a warning where the file states that pose: as its first keyframe,
    or as the custom numeric `init_qpos` that Brax starts from. A model that states none is replayed from
    qpos0, and its user may start it elsewhere: there it is a note.

    ## Why it matters

    The limit is a stiff constraint. It pulls the joint back within a few timesteps, and light links get
    large velocities from it before the first control acts.

    ## What to do

    Mend the keyframe or the range. A range in degrees under `<compiler angle="radian"/>` is a common cause.

    ## Example

    ```text
    JD221 warning limit-violated-at-start: joint knee starts at 0 (keyframe home), outside its range
      -2.2..-0.3
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#body-joint-range
    """
    outside = [violation for violation in model.limit_violations if violation.share > SMALL]
    if not outside or "limit" in model.disabled:
        return
    worst = max(outside, key=lambda violation: violation.share)
    yield Hit(
        location=Location(path=model.path, line=worst.spot.line),
        message=(
            f"{worst.spot} starts at {worst.value:.3g} ({worst.pose}), "
            f"outside its range {worst.low:.3g}..{worst.high:.3g}"
            + (f" (and {counted(len(outside) - 1, 'more joint')})" if len(outside) > 1 else "")
        ),
        evidence={
            "joint": worst.spot.name,
            "pose": worst.pose,
            "value": float(f"{worst.value:.6g}"),
            "range": [worst.low, worst.high],
            "violations": len(outside),
        },
        fix=(
            "add a keyframe with the pose that your run starts from, or correct the range"
            if worst.pose == QPOS0
            else f"correct {worst.pose} or the range"
        ),
        severity=Severity.WARNING if worst.share > LARGE and worst.pose != QPOS0 else None,
    )
