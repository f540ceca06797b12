"""JD204 on outcomes."""

from jaxdoctor.facts.outcome import RolledInC, Verdict
from jaxdoctor.rules.precision.unstable_at_every_precision import unstable_at_every_precision
from tests.outcomes import outcome


def test_what_float64_does_not_keep_finite_is_the_model():
    ill = outcome(16, Verdict.MODEL, x64=12, full=16, in_c=RolledInC(warnings={"BADQACC": 7}))

    (finding,) = unstable_at_every_precision.judge(ill)

    assert finding.message == (
        "12 of 16 replays are not finite in float64 either, first qLD at step 3; "
        "MuJoCo in C warns of BADQACC 7 times"
    )


def test_what_float64_mends_is_not_the_model():
    assert not list(unstable_at_every_precision.judge(outcome(16)))
