"""A four-bar linkage that is unstable at every precision."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.scenario import Scenario

SCENARIO = Scenario(
    reason="A constraint stiffer than the timestep: the physics, not the precision.",
    expected=Verdict.MODEL,
    required_bits=None,
    steps=100,
    replays=16,
)
