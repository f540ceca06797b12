"""What one product really got at one setting."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Arithmetic(enum.StrEnum):
    """The arithmetic behind a product, as the lane probe names it."""

    F32 = "f32"
    TF32_ROUNDED = "tf32-rounded"
    TF32_TRUNCATED = "tf32-truncated"
    BF16 = "bf16"
    SPLIT = "split"
    F64 = "f64"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One product shape at one setting: the arithmetic, its bits, its error and its time."""

    setting: str
    """"default", "high", "highest" or "x64"."""

    op: str
    """"dot" or "conv", with the role it stands for: "mass matrix", "policy layer"."""

    shape: str
    """Operand shapes as JAX writes them: "4096x27x6 @ 4096x6x27"."""

    batched: bool
    side: str
    """Which operand was probed: "left" or "right"."""

    arithmetic: Arithmetic
    mantissa_bits: int
    max_relative_error: float
    """Against the same product in float64."""

    milliseconds: float
    source: str = "measured"
    """"measured" on this device, or "card" when it comes from `cards/` for a card that is not here."""


@dataclass(frozen=True, kw_only=True)
class Deliveries:
    """Every product probed on one machine or taken for one card."""

    machine: str
    """The accelerator's name, for messages."""

    products: tuple[Delivery, ...]

    def at(self, setting: str) -> tuple[Delivery, ...]:
        """The deliveries at one setting."""
        return tuple(product for product in self.products if product.setting == setting)

    def bits(self, setting: str) -> int | None:
        """The fewest mantissa bits that any product got at that setting; None when none was probed."""
        return min((product.mantissa_bits for product in self.at(setting)), default=None)
