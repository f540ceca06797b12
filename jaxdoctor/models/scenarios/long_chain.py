"""Sixteen links on a string."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.scenario import Scenario

SCENARIO = Scenario(
    reason="A deep chain, whose step XLA cannot compile in the usual way, and which is healthy.",
    expected=Verdict.HEALTHY,
    required_bits=(6, 10),
    steps=50,
    replays=16,
)
