"""What a worker process saw of one device and its JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxdoctor.facts.delivery import Delivery
from jaxdoctor.facts.environment import Accelerator
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.workers.task import Task


@dataclass(frozen=True, kw_only=True)
class Survey:
    """One process with one configuration of JAX."""

    accelerator: Accelerator
    matmul_precision: str | None
    """What `jax_default_matmul_precision` really is, from wherever it was set."""

    x64: bool
    options: tuple[str, ...]
    """Every option that this JAX has."""

    products: tuple[Delivery, ...]
    versions: Mapping[str, str | None]
    """Of Python and every distribution that a report names, in that process's environment."""

    skipped: tuple[Skipped, ...]


SURVEY: Task[[Sequence[str], float], Survey] = Task("jaxdoctor.machine.measuring.measure:survey")
"""Names the device and measures its products at each of these settings, for so many seconds at most."""
