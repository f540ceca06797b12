"""A quadruped that walks in place at random, and is healthy."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.scenario import Scenario

SCENARIO = Scenario(
    reason="A healthy robot must be called healthy.",
    expected=Verdict.HEALTHY,
    required_bits=(1, 8),
    steps=100,
    replays=16,
)
