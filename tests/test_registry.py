"""Folders of plugs."""

from jaxdoctor.rule import RULES
from jaxdoctor.scan import JUDGED


def test_a_scan_loads_exactly_the_rules_that_judge_what_it_makes():
    """They are told from their source, without being imported."""
    judging = {rule.name for rule in RULES.load_all() if rule.about.__name__ in {"Checkpoint", "Series"}}

    assert {rule.name for rule in RULES.load_mentioning(JUDGED)} == judging
