"""What a probe is asked: one rollout, and how closely to look at it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jaxdoctor.facts.precision import Precision

STEPS = 500
"""The least of each replay, where neither the user nor a scenario nor controls say how many."""


MJX, WARP = "mjx", "warp"
ENGINES = (MJX, WARP)


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One rollout, and how closely to look at it."""

    model: str
    subject: str
    controls: str | None = None
    keep: Path | None = None
    """Where what is played is kept, for later replays with `controls`; None: nowhere."""

    steps: int | None = None
    """None: one second of simulated time or 500 steps, whichever is more; or as many as `controls` has."""

    replays: int | None = None
    """None: as many as make the answer clear."""

    batch: int | None = None
    training_batch: int | None = None
    """Environments that the user's run steps at once: what their memory is compared with the card's for."""

    seed: int = 0
    level: int = 2
    precisions: tuple[Precision, ...] = ()
    all_products: tuple[Precision, ...] = ()
    """Precisions at which every product is rounded, also those that no matrix unit computes."""

    attribute: bool = False
    """Whether to search the products that need the bits; level 3 does."""

    attribute_error: float | None = None
    """Also search those that a one-step error of at most this needs."""

    time_limit: float = 300.0
    cache: bool = True
    engine: str = MJX
    """What steps the model besides MJX: "mjx" for nothing else, or "warp"."""

    cures: bool = True
    """Whether changes to a model that fails are tried, in what is left of the time limit."""

    bundle: str | None = None
    """The file that the first failing replay is written into; None: nothing is written."""

    bundle_policy: bool = False
    """Whether the parameters of a policy go into it."""

    priced: bool = False
    """Whether to time a step at every setting on this device, also where another one is judged."""


def replays_of(ask: Ask) -> tuple[int, int]:
    """How many replays to begin with, and how many at most."""
    if ask.replays is not None:
        return ask.replays, ask.replays
    return (32, 128) if ask.level > 2 else (16, 64)  # noqa: PLR2004 (levels are numbers)
