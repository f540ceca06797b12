"""JD208: MJX fails in a step that C takes."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.outcome import StepInC, Verdict
from jaxdoctor.rules.precision.mjx_fails_alone import mjx_fails_alone
from tests.outcomes import outcome

HOLDS = StepInC(step=3, replay=0, holds=True)
FAILS = StepInC(step=40, replay=1, holds=False, warnings=("BADQACC",))


def test_the_step_and_the_field_are_named():
    (finding,) = mjx_fails_alone.judge(outcome(0, Verdict.ENGINE, x64=2, steps_in_c=(HOLDS, HOLDS)))

    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "2 of 16 replays are not finite in float64 either, first qLD at step 3, and MuJoCo in C takes that "
        "step from the same state: the fault is MJX's, not the model's"
    )


def test_later_failures_of_the_models_own_are_told():
    (finding,) = mjx_fails_alone.judge(outcome(0, Verdict.ENGINE, x64=2, steps_in_c=(HOLDS, FAILS)))

    assert finding.message.endswith("; C fails too in 1 of 2 later ones")


def test_other_verdicts_are_not_the_engines():
    assert not list(mjx_fails_alone.judge(outcome(16, Verdict.MODEL, x64=16, steps_in_c=(FAILS,))))
    assert not list(mjx_fails_alone.judge(outcome()))
