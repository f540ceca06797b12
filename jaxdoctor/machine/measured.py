"""What a worker process saw of one device and its JAX."""

from __future__ import annotations

from dataclasses import dataclass

from jaxdoctor.facts.delivery import Delivery
from jaxdoctor.facts.environment import Accelerator
from jaxdoctor.facts.finding import Skipped


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
    skipped: tuple[Skipped, ...]
