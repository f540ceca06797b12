"""What a probe concludes about one rollout: required bits against delivered bits."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from jaxdoctor.trial import Trial


class Verdict(enum.StrEnum):
    """The answer to "will this run break on that card?"."""

    HEALTHY = "healthy"
    PRECISION = "precision"
    """It fails at what the card delivers and not at a higher precision."""

    MODEL = "model"
    """It fails at x64 too: the physics, not the precision."""

    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One rollout's trials and what follows from them."""

    subject: str
    trials: tuple[Trial, ...]
    verdict: Verdict
    required_bits: int | None = None
    """The smallest width from which on the ensemble is as finite as at float32; None: not known."""

    delivered_bits: int | None = None
    delivered_by: str = "here"
    """The machine or the card's name."""

    reason: str | None = None
    """Why the verdict is unknown."""

    expected: Verdict | None = None
    """What a packaged scenario was built to show, on a card with TF32."""

    @property
    def margin_bits(self) -> int | None:
        """Delivered minus required bits: the headline."""
        if self.required_bits is None or self.delivered_bits is None:
            return None
        return self.delivered_bits - self.required_bits
