"""A replayed bundle in every format for people."""

import io
from dataclasses import replace

import pytest

from jaxdoctor.facts.bundle_replay import BundleReplay, BundleRun
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.recorded import RecordedFailure
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.reports.wording import recorded
from tests.sample_reports import GOLDEN

REPORT = Report(
    command="replay",
    subject="f.zip",
    examined=1,
    bundles=(
        BundleReplay(
            bundle="f.zip",
            subject="robot.xml",
            written_by="guard",
            precision="tf32 (emulated)",
            replay=3,
            step=12,
            field="qLD",
            steps=13,
            runs=(
                BundleRun(how="tf32", first_bad_step=12, first_bad_field="qLD", difference=0.0),
                BundleRun(how="MuJoCo in C", first_bad_step=14, first_bad_field="qacc", left_at=9),
                BundleRun(how="x64"),
            ),
            differences={"jax": ("0.4.1", "0.10.2")},
            viewer="shown",
        ),
    ),
)


def in_format(name, report):
    out = io.StringIO()
    FORMATS.load(name).write(report, out)
    return out.getvalue()


@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_what_happened_here_stands_beside_what_was_recorded(name):
    text = in_format(name, REPORT)

    for words in ("fails as recorded", "otherwise than recorded", "stays finite", "0.4.1 then, 0.10.2 here"):
        assert words in text, words
    assert "recorded by guard" in " ".join(text.split())
    assert "shown" in text


@pytest.mark.parametrize("verdict", [Verdict.PRECISION, Verdict.MODEL])
@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_a_bundle_that_probe_wrote_is_named(name, verdict):
    """Also where bits are not the question."""
    written = RecordedFailure(
        path="failure.zip", precision="tf32", replay=3, step=12, field="qLD", steps=13, bytes=2048
    )
    (first, *others) = GOLDEN.outcomes
    report = replace(GOLDEN, outcomes=(replace(first, bundle=written, verdict=verdict), *others))

    assert "failure.zip holds 13 steps" in " ".join(in_format(name, report).split())


def test_what_became_of_the_policy_is_said():
    held = RecordedFailure(
        path="f.zip", precision="tf32", replay=3, step=12, field="q", steps=13, bytes=9, policy="run/100"
    )
    (first, *_) = GOLDEN.outcomes

    assert recorded(replace(first, bundle=held)).endswith(", and the policy run/100")
    code = recorded(replace(first, bundle=replace(held, policy_left_out="run/100 is code")))
    assert code.endswith("and of the policy run/100 only the name: run/100 is code")
