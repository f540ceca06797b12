"""The contract of `cards/`: what is known about an accelerator without having it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.facts.precision import BF16, F32, TF32
from jaxdoctor.registry import Folder

HERE = "here"
"""The name of whatever this machine has."""

TF32_SINCE = (8, 0)
"""The compute capability from which on NVIDIA's matrix units have TF32."""

TPU = "TPU"


def has_tf32(compute_capability: str) -> bool:
    """Whether an NVIDIA card of that capability has TF32. AMD's ("gfx942") do not count as such."""
    parts = compute_capability.split(".")
    return all(part.isdecimal() for part in parts) and tuple(int(part) for part in parts) >= TF32_SINCE


@dataclass(frozen=True, kw_only=True)
class Card:
    """One accelerator that a user can name."""

    name: str
    """What `--card` takes: "rtx-4090"."""

    compute_capability: str | None
    """NVIDIA's, such as "8.9"; None on a TPU."""

    market: str
    """A label only: GeForce, workstation, datacenter, embedded, desktop, TPU. It decides nothing."""

    fp64_ratio: float | None
    """The rate of float64 as a share of that of float32; None: it has no float64 units."""

    memory_gib: float | None
    """The largest version's."""

    device_kinds: tuple[str, ...] = ()
    """Words of JAX's `device_kind` on such a card, in lower case; empty: the name with spaces."""

    @property
    def platform(self) -> str:
        """What JAX calls its platform: "gpu" or "tpu"."""
        return "tpu" if self.market == TPU else "gpu"

    @property
    def tf32(self) -> bool:
        """Whether float32 products may run as TF32."""
        return self.compute_capability is not None and has_tf32(self.compute_capability)

    @property
    def bf16(self) -> bool:
        """Whether its matrix units multiply bfloat16; elsewhere XLA computes such products in float32."""
        return self.market == TPU or self.tf32

    @property
    def default_bits(self) -> int:
        """Mantissa bits of a float32 product while nothing is configured."""
        if self.market == TPU:
            return BF16.mantissa_bits
        return TF32.mantissa_bits if self.tf32 else F32.mantissa_bits


@dataclass(frozen=True, kw_only=True)
class Family:
    """Accelerators of one generation: what a file in `cards/` defines."""

    name: str
    cards: tuple[Card, ...]
    source: str
    """Where the figures are from."""


FAMILIES = Folder("jaxdoctor.machine.cards", Family, noun="family of cards")

ANY_TF32 = Card(
    name="any card with TF32",
    # The first capability with TF32; the arithmetic of a product is the same on the later ones.
    compute_capability="8.0",
    market="any",
    fp64_ratio=None,
    memory_gib=None,
)
"""What is judged on a machine without an accelerator."""


def known_cards() -> tuple[Card, ...]:
    """Every card of every family."""
    return tuple(card for family in FAMILIES.load_all() for card in family.cards)


def card_named(name: str) -> Card:
    """The card that a user means by "rtx-4090", "RTX 4090" or "NVIDIA GeForce RTX 4090".

    Raises:
        UnknownNameError: no card is called so. `HERE` is no card.
    """
    cards = {card.name: card for card in known_cards()}
    wanted = re.sub(r"[\s_-]+", "-", name.strip().lower())
    if wanted in cards:
        return cards[wanted]
    found = card_of_device_kind(wanted.replace("-", " "))
    if found is None:
        raise UnknownNameError("card", name, [HERE, *cards])
    return found


def card_of_device_kind(kind: str) -> Card | None:
    """The card that JAX's `device_kind`, or nvidia-smi's name, stands for; the longest match counts."""
    best: tuple[int, Card] | None = None
    for card in known_cards():
        for words in card.device_kinds or (card.name.replace("-", " "),):
            if re.search(rf"(?<![a-z0-9]){re.escape(words)}(?![a-z0-9])", kind.lower()) and (
                best is None or len(words) > best[0]
            ):
                best = (len(words), card)
    return best[1] if best else None
