"""The machine that a run is judged for: its environment, and what its products get."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.card import ANY_TF32, HERE, Card, card_named
from jaxdoctor.delivery import SETTINGS, X64, Deliveries
from jaxdoctor.environment import Accelerator, Environment
from jaxdoctor.expectation import deliveries_of_card, level_of
from jaxdoctor.finding import Skipped
from jaxdoctor.host.versions import installed_versions
from jaxdoctor.precision import Precision
from jaxdoctor.progress import SILENT, Progress


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a probe has to know about the machine."""

    environment: Environment
    deliveries: Deliveries
    """What is judged: measured here, or expected of the card that is asked about."""

    measured: Deliveries | None = None
    """What was measured on this device."""

    setting: str
    """Which of the deliveries' settings DEFAULT means, as JAX is configured here."""

    variables: Mapping[str, str | None] = field(default_factory=dict)
    """What every further worker must set, because JAX dies of what the user has set. None unsets."""

    skipped: tuple[Skipped, ...] = ()

    @property
    def delivered(self) -> Precision | None:
        """What a product gets while the code names no precision; None: it is not known."""
        return self.deliveries.precision(self.setting)

    @property
    def facts(self) -> tuple[Any, ...]:
        """What the rules judge."""
        return self.environment, self.deliveries


def examine(
    card: str = HERE,
    *,
    time_limit: float = 60.0,  # noqa: ARG001 (the next commit measures)
    progress: Progress = SILENT,
) -> Machine:
    """The machine that is here, or the one that a card's name stands for.

    Args:
        card: a name from `cards/`, or "here".
        time_limit: seconds for everything.
        progress: is told of the stages.

    Raises:
        UnknownNameError: no card is called so.
    """
    progress.stage("looking at the machine")
    judged = ANY_TF32 if card == HERE else card_named(card)
    versions = installed_versions()
    setting = level_of(os.environ.get("JAX_DEFAULT_MATMUL_PRECISION"))
    environment = Environment(
        accelerator=_accelerator(judged),
        cpu_cores=len(os.sched_getaffinity(0)),
        platform=f"{platform.system()}-{platform.machine()}",
        versions=versions,
        assumed=f"judged as {judged.name}",
    )
    deliveries = deliveries_of_card(
        judged, versions["jaxlib"] or "", settings=dict.fromkeys([*SETTINGS, setting])
    )
    return Machine(
        environment=environment, deliveries=deliveries, setting=X64 if environment.x64 else setting
    )


def _accelerator(card: Card) -> Accelerator:
    return Accelerator(
        name=card.name,
        platform=card.platform,
        card=None if card is ANY_TF32 else card.name,
        compute_capability=None if card is ANY_TF32 else card.compute_capability,
        market=card.market,
        memory_bytes=None if card.memory_gib is None else int(card.memory_gib * 2**30),
        fp64_ratio=card.fp64_ratio,
        tf32=card.tf32,
    )
