"""What rules ask to be set, said by each rule itself."""

import re
from pathlib import Path

import pytest

import jaxdoctor.prescriptions
from jaxdoctor.facts.finding import Finding, Location
from jaxdoctor.facts.prescription import Means, Prescription
from jaxdoctor.prescriptions.from_findings import advice, prescriber
from jaxdoctor.rules.prescribes import enough_bits
from jaxdoctor.rules.rule import RULES


def finding(rule, **evidence):
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        location=Location(),
        message="it is so",
        evidence={"flag": "xla_gpu_enable_fast_min_max", **evidence},
        fix="unset it",
    )


PRESCRIBING = [rule for rule in RULES.load_all() if rule.prescribes is not None]


@pytest.mark.parametrize("rule", PRESCRIBING, ids=lambda rule: rule.name)
def test_what_a_rule_prescribes_reaches_the_advice(rule):
    found = advice([finding(rule)])

    if rule.prescribes is enough_bits:
        assert found == Prescription()
    else:
        assert found.settings or found.removals
        assert all(setting.because == (rule.code,) for setting in found.settings)
        assert all(rule.code in removal for removal in found.removals)


def test_no_rule_is_named_where_prescriptions_are_made():
    """A table of names here would be a second place to add a rule to."""
    names = set(RULES.names())
    for path in Path(jaxdoctor.prescriptions.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert not re.search(r"\bJD\d", text), path
        assert not names & set(re.findall(r"[\"\']([a-z0-9-]+)[\"\']", text)), path


def test_a_rule_of_another_version_prescribes_nothing():
    rule = RULES.load("nan-lost-in-max")
    gone = Finding(
        code=rule.code, name="gone", severity=rule.severity, location=Location(), message="it", evidence={}
    )

    assert prescriber(gone) is None
    assert advice([gone]) == Prescription()


def test_what_is_about_this_processor_says_so():
    (setting,) = advice([finding(RULES.load("cholesky-pool-too-small"))]).settings

    assert (setting.key, setting.means, setting.this_machine) == ("PJRT_NPROC", Means.ENVIRONMENT, True)
