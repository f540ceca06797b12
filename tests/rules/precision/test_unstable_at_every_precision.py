"""JD204 on outcomes."""

from dataclasses import replace

from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.outcome import RolledInC, StepInC, Verdict
from jaxdoctor.rules.precision.unstable_at_every_precision import unstable_at_every_precision
from tests.outcomes import outcome

FAILS = (StepInC(step=3, replay=0, holds=False, warnings=("BADQACC",)),)


def test_what_c_does_not_keep_finite_either_is_the_model():
    in_c = RolledInC(warnings={"BADQACC": 7})
    ill = outcome(16, Verdict.MODEL, x64=12, full=16, in_c=in_c, steps_in_c=FAILS)

    (finding,) = unstable_at_every_precision.judge(ill)

    assert finding.message == (
        "12 of 16 replays are not finite in float64 either, first qLD at step 3, nor does MuJoCo in C take "
        "that step; over the rollout MuJoCo in C warns of BADQACC 7 times"
    )


def test_without_a_twin_in_c_the_engine_is_not_cleared():
    (finding,) = unstable_at_every_precision.judge(outcome(16, Verdict.MODEL, x64=12))

    assert finding.message.endswith("first qLD at step 3; whether in C is not known")


def test_a_rollout_that_float64_keeps_finite_is_another_rules():
    assert not list(unstable_at_every_precision.judge(outcome(0, Verdict.MODEL)))


def test_what_float64_mends_is_not_the_model():
    assert not list(unstable_at_every_precision.judge(outcome(16)))


def test_what_was_tried_is_the_fix():
    """Advice that nobody tried is not given."""
    cure = Cure(change='timestep="0.001"', failed=0, replays=16, instead_of=12, where="MuJoCo in C")
    ill = outcome(16, Verdict.MODEL, x64=12, steps_in_c=FAILS)

    (tried,) = unstable_at_every_precision.judge(replace(ill, cures=(cure,)))
    (untried,) = unstable_at_every_precision.judge(ill)

    assert tried.fix.startswith('timestep="0.001" mends it')
    assert "timestep" not in untried.fix
