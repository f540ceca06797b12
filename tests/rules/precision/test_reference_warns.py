"""JD207 on outcomes."""

from jaxdoctor.facts.outcome import RolledInC, Verdict
from jaxdoctor.rules.precision.reference_warns import reference_warns
from tests.outcomes import outcome


def test_warnings_of_mujoco_itself_are_told():
    (finding,) = reference_warns.judge(outcome(in_c=RolledInC(warnings={"INERTIA": 4})))

    assert "warns of INERTIA 4 times" in finding.message


def test_no_warning_is_nothing_and_an_unstable_model_tells_its_own():
    assert not list(reference_warns.judge(outcome()))
    assert not list(
        reference_warns.judge(outcome(16, Verdict.MODEL, x64=16, in_c=RolledInC(warnings={"BADQACC": 1})))
    )
