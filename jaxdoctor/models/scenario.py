"""The contract of `scenarios/`: a packaged model, and what it is there to show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.registry import Folder

PREFIX = "scenario:"
"""An argument of `probe` that begins so names a scenario; a file of that name does not hide it."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One packaged model. Its MJCF stands beside it under the same name."""

    reason: str
    """Why it is there, in one sentence."""

    expected: Verdict
    """The verdict for a card that multiplies as TF32."""

    required_bits: tuple[int, int] | None
    """The least and the most mantissa bits that a probe may find it to require.

    23 for float32; 24 stands for more than float32 has; None: no number of bits mends it.
    """

    steps: int = 100
    """How many steps show it."""

    replays: int = 16
    """How many replays show it."""


SCENARIOS = Folder("jaxdoctor.models.scenarios", Scenario, noun="scenario")


def scenario_path(name: str) -> Path:
    """The MJCF file of a scenario.

    Raises:
        UnknownNameError: there is no scenario of that name.
    """
    SCENARIOS.load(name)
    return Path(__file__).with_name("scenarios") / f"{name.replace('-', '_')}.xml"
