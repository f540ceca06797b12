"""The packaged scenarios do what they were built to show."""

import pytest

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.compile import compile_model
from jaxdoctor.models.scenario import PREFIX, SCENARIOS, scenario_path
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe, scenario_ask
from jaxdoctor.rollouts.inspected import inspect

NAMES = SCENARIOS.names()
SOON = {"hand", "closed-chain"}
"""Judged in the fast lane too."""


def lane(name):
    return name if name in SOON else pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [lane(name) for name in NAMES])
def test_a_scenario_gets_the_verdict_it_was_built_for(name):
    """With its own steps and replays, on a card with TF32, within the range of bits that it promises."""
    scenario = SCENARIOS.load(name)
    ask = scenario_ask(Ask(model="", subject=""), name)

    report = probe(ask, card="rtx-4090")
    (outcome,) = report.outcomes

    assert report.skipped == ()
    assert outcome.verdict is scenario.expected
    least, most = scenario.required_bits or (None, None)
    assert outcome.required_bits is None if least is None else least <= outcome.required_bits <= most


@pytest.mark.slow
def test_only_accelerations_go_bad_in_the_damped_hand():
    """Its positions stay finite, which is why a replay watches every field."""
    ask = scenario_ask(Ask(model="", subject=""), "damped-hand")

    found = {finding.name: finding for finding in probe(ask, card="rtx-4090").findings}

    assert "hidden-nan" in found


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_compiles_and_is_inspected(name):
    scenario = SCENARIOS.load(name)

    model = inspect(f"{PREFIX}{name}")

    assert model.nv > 0
    assert not model.refused
    assert scenario.reason.endswith(".")
    assert scenario_path(name).read_text().startswith(f'<mujoco model="{name.replace("-", "_")}">\n  <!-- ')


def test_there_is_one_of_each_kind():
    """Healthy, precision and model are all shown, and float32 alone does not save every one."""
    scenarios = list(SCENARIOS.load_all())

    assert {one.expected for one in scenarios} == {Verdict.HEALTHY, Verdict.PRECISION, Verdict.MODEL}
    assert any(one.required_bits and one.required_bits[0] > 23 for one in scenarios)


def test_the_model_of_every_scenario_is_beside_its_declaration():
    for name in NAMES:
        assert compile_model(str(scenario_path(name))).nv
