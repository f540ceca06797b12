"""What the run itself wrote down about values that were not finite."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.values.nonfinite_recorded import nonfinite_recorded
from tests.builders import checkpoint, judged, leaf


def test_rejected_updates_are_told():
    saved = checkpoint(leaf("opt_state/total_notfinite", "int32", role="counter", value=12))

    (finding,) = judged(nonfinite_recorded, saved)

    assert finding.severity is Severity.WARNING
    assert finding.message == "12 updates were not finite and thrown away"


def test_no_rejected_update_is_healthy():
    saved = checkpoint(leaf("opt_state/total_notfinite", "int32", role="counter", value=0))

    assert not judged(nonfinite_recorded, saved)


def test_a_loss_of_nan_weighs_more_than_a_ratio_of_nan():
    """Real TRL runs log a NaN ratio of variances without harm."""
    saved = checkpoint(metadata={"logged_nonfinite": {"train/loss": 40, "val/ratio_var": 2}})

    loss, ratio = judged(nonfinite_recorded, saved)

    assert (loss.severity, loss.location.step) == (Severity.WARNING, 40)
    assert ratio.severity is Severity.NOTE


def test_a_metric_that_orbax_saved_is_a_note():
    metrics = {"metrics": {"reward": float("nan"), "eval": {"loss": 1.0, "ratio": float("inf")}}}

    findings = judged(nonfinite_recorded, checkpoint(step=2000, metadata=metrics))

    assert [finding.evidence["metric"] for finding in findings] == ["reward", "eval/ratio"]
    assert {finding.severity for finding in findings} == {Severity.NOTE}
