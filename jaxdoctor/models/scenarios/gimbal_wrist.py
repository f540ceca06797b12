"""Wrists that fail only where they pass their singular pose."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.scenario import Scenario

SCENARIO = Scenario(
    reason="A fault that shows in some replays only: one clean rollout proves little.",
    expected=Verdict.PRECISION,
    required_bits=(11, 15),
    steps=100,
    replays=32,
)
