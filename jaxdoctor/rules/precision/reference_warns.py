"""JD207."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.rules.rule import Hits, rule


@rule("JD207", Severity.WARNING)
def reference_warns(outcome: Outcome) -> Hits:
    """MuJoCo itself warns about a rollout that MJX replays silently.

    ## What it saw

    The same start states and controls were rolled out with MuJoCo in C, in float64, with its auto-reset
    off. It counted warnings: BADQACC, BADQPOS and BADQVEL for values that are no longer usable, INERTIA
    for a mass matrix close to singular, CONTACTFULL and CNSTRFULL for memory, BADCTRL for controls.

    ## Why it matters

    MuJoCo resets such a state and goes on, MJX has neither the check nor the reset. What is a hiccup in C
    can end an MJX run, and what MJX keeps finite may be far from physics. Where C runs away and MJX at x64
    does not, the two engines integrate the model differently, and a policy from MJX fails in MuJoCo.

    ## What to do

    Look at the moment of the warning in `simulate`, and mend the model there.

    ## Example

    ```text
    JD207 warning reference-warns: MuJoCo in C and float64 warns of INERTIA 4 times on the same states
    and controls
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/APIreference/APItypes.html#mjtwarning
    """
    if outcome.verdict is Verdict.MODEL or not outcome.in_c.warnings:
        return
    warned = ", ".join(f"{name} {count:,} times" for name, count in sorted(outcome.in_c.warnings.items()))
    yield Hit(
        location=Location(path=outcome.subject),
        message=f"MuJoCo in C and float64 warns of {warned} on the same states and controls",
        evidence={"warnings": dict(outcome.in_c.warnings)},
        fix="replay it in MuJoCo's simulate; MJX takes the same step without a check",
    )
