"""Hinges on one line, which need float64."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.scenario import Scenario

SCENARIO = Scenario(
    reason="A mass matrix so ill-conditioned that float32 fails too, and x64 does not.",
    expected=Verdict.PRECISION,
    required_bits=(24, 24),
    steps=100,
    replays=16,
)
