"""A hand that TF32 breaks and float32 does not."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.scenario import Scenario

SCENARIO = Scenario(
    reason="Near-parallel hinges a few millimetres apart make a mass matrix that TF32 cannot factor.",
    expected=Verdict.PRECISION,
    required_bits=(12, 15),
    steps=100,
    replays=16,
)
