"""The contract of `cards/`: what is known about an accelerator without having it."""

from __future__ import annotations

from dataclasses import dataclass

from jaxdoctor.registry import Folder


@dataclass(frozen=True, kw_only=True)
class Card:
    """One accelerator that a user can name."""

    name: str
    """What `--card` takes: "rtx-4090"."""

    device_kinds: tuple[str, ...]
    """What JAX's `device_kind` contains on such a card, in lower case: "rtx 4090"."""

    compute_capability: str | None
    """NVIDIA's, such as "8.9"; None on a TPU."""

    market: str
    """A label only: GeForce, workstation, datacenter, embedded, desktop, TPU."""

    fp64_ratio: float | None
    memory_gib: float | None
    tf32: bool
    """NVIDIA from compute capability 8.0 on."""

    default_bits: int
    """Mantissa bits of a float32 product while nothing is configured: 10 TF32, 7 bfloat16, 23 float32."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Accelerators of one generation: what a file in `cards/` defines."""

    name: str
    cards: tuple[Card, ...]
    source: str
    """Where the figures are from."""


FAMILIES = Folder("jaxdoctor.cards", Family, noun="family of cards")
