"""The hand with damping, where only accelerations go bad."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.models.scenario import Scenario

SCENARIO = Scenario(
    reason="Damping hides the fault: positions stay finite while qacc is NaN.",
    expected=Verdict.PRECISION,
    required_bits=(12, 15),
    steps=100,
    replays=16,
)
