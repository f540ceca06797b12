"""Folders of plugs."""

import pytest

from jaxdoctor.checkpoints.scan import FAMILIES
from jaxdoctor.rules.rule import RULES

FACTS = {
    "environment": {"Environment", "Deliveries", "Software", "Bfloat16Use"},
    "precision": {"Outcome", "Demand"},
    "model": {"Model"},
    "values": {"Checkpoint", "Series"},
    "counters": {"Checkpoint", "Series"},
    "dtypes": {"Checkpoint", "Series"},
    "integrity": {"Checkpoint", "Series"},
    "optimizer": {"Checkpoint", "Series"},
    "run": {"Checkpoint", "Series"},
    "update": {"Signature"},
    "bundle": {"BundleReplay"},
}


def test_a_scan_loads_exactly_the_rules_that_judge_what_it_makes():
    """They are known from their family, without being imported."""
    judging = {rule.name for rule in RULES.load_all() if rule.about.__name__ in {"Checkpoint", "Series"}}

    assert set(RULES.names(*FAMILIES)) == judging


@pytest.mark.parametrize("name", RULES.names())
def test_a_rule_judges_a_fact_of_its_family(name):
    """The annotation and the folder agree, whatever the parameter is called."""
    rule = RULES.load(name)

    assert rule.about.__name__ in FACTS[RULES.family(name)]
