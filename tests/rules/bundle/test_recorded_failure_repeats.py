"""JD280."""

from jaxdoctor.facts.bundle_replay import BundleReplay, BundleRun
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.diagnose import diagnose


def found(*runs):
    fact = BundleReplay(
        bundle="f.zip",
        subject="robot.xml",
        written_by="probe",
        precision="tf32 (emulated)",
        replay=3,
        step=12,
        field="qLD",
        steps=13,
        runs=runs,
    )
    return list(diagnose([fact]))


def test_a_failure_as_recorded_and_one_that_is_another():
    first, second = found(
        BundleRun(how="tf32 (emulated)", first_bad_step=12, first_bad_field="qLD"),
        BundleRun(how="MuJoCo in C", first_bad_step=14, first_bad_field="qacc"),
    )

    assert first.severity is Severity.ERROR
    assert first.message == "at tf32 (emulated) qLD is not finite at step 12, as was recorded"
    assert second.message.endswith("at step 14, and at tf32 (emulated) it was qLD at step 12")


def test_what_stays_finite_is_no_failure():
    assert found(BundleRun(how="x64")) == []
    assert found() == []
