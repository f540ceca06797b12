"""What one product really got at one setting."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from jaxdoctor.facts.precision import BF16, F32, F64, TF32, TF32_TRUNCATED, Precision


class Arithmetic(enum.StrEnum):
    """The arithmetic behind a product, as the lane probe names it."""

    F32 = "f32"
    TF32_ROUNDED = "tf32-rounded"
    TF32_TRUNCATED = "tf32-truncated"
    BF16 = "bf16"
    SPLIT = "split"
    F64 = "f64"
    UNKNOWN = "unknown"


NAMED = {
    Arithmetic.F32: F32,
    Arithmetic.TF32_ROUNDED: TF32,
    Arithmetic.TF32_TRUNCATED: TF32_TRUNCATED,
    Arithmetic.BF16: BF16,
    Arithmetic.F64: F64,
}
"""The precision that an arithmetic is. A split scheme has one of its own."""

DEFAULT, HIGH, HIGHEST, X64 = "default", "high", "highest", "x64"
SETTINGS = (DEFAULT, HIGH, HIGHEST, X64)
"""What is probed: the three levels of `jax_default_matmul_precision`, and float64 arrays."""

MEASURED = "measured"
FROM_CARD = "card"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One product shape at one setting: the arithmetic, its bits, its error and its time."""

    setting: str
    """"default", "high", "highest" or "x64"; else the value of `jax_default_matmul_precision`."""

    op: str
    """"dot" or "conv", with the role it stands for: "dot, mass matrix"."""

    shape: str
    """Operand shapes as JAX writes them: "4096x27x6 @ 4096x6x27"."""

    batched: bool
    side: str
    """Which operand was probed: "left" or "right"; "both" when they need not differ."""

    arithmetic: Arithmetic
    mantissa_bits: int
    max_relative_error: float
    """Against the same product in float64, relative to the sum of its terms' magnitudes."""

    milliseconds: float | None = None
    """None: it was not run."""

    source: str = MEASURED
    """"measured" on this device, or "card" when it comes from `cards/` for a card that is not here."""

    @property
    def precision(self) -> Precision:
        """The same as a precision to replay at."""
        bits = min(self.mantissa_bits, F32.mantissa_bits)
        return NAMED.get(self.arithmetic) or Precision(
            name=f"{self.arithmetic.value}-{bits}", mantissa_bits=bits
        )


@dataclass(frozen=True, kw_only=True)
class Deliveries:
    """Every product probed on one machine or taken for one card."""

    machine: str
    """The accelerator's name, for messages."""

    products: tuple[Delivery, ...]
    configured: str = DEFAULT
    """The setting that a product gets while the code names none, as JAX is configured here."""

    jaxlib: str | None = None
    """The version that ran, or that was asked about."""

    certain: frozenset[str] = frozenset()
    """Of a card that is not here: the settings at which all kernels that XLA may choose compute alike."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings probed, in the order they were."""
        return tuple(dict.fromkeys(product.setting for product in self.products))

    @property
    def measured(self) -> bool:
        """Whether all of it ran on this device."""
        return all(product.source == MEASURED for product in self.products)

    def at(self, setting: str) -> tuple[Delivery, ...]:
        """The deliveries at one setting."""
        return tuple(product for product in self.products if product.setting == setting)

    def bits(self, setting: str) -> int | None:
        """The fewest mantissa bits that any product got at that setting; None when none was probed."""
        worst = self.worst(setting)
        return None if worst is None else worst.mantissa_bits

    def worst(self, setting: str) -> Delivery | None:
        """The product that lost most at that setting; of equal bits, the one that was truncated."""
        return min(self.at(setting), key=_badness, default=None)

    def precision(self, setting: str) -> Precision | None:
        """What products must be expected to get at that setting: the worst one's precision."""
        worst = self.worst(setting)
        return None if worst is None else worst.precision

    def shapes(self, setting: str, *, below: int) -> tuple[Delivery, ...]:
        """One delivery for each product that gets fewer mantissa bits than that, the worst first."""
        worst: dict[tuple[str, str], Delivery] = {}
        for product in sorted(self.at(setting), key=_badness):
            if product.mantissa_bits < below:
                worst.setdefault((product.op, product.shape), product)
        return tuple(worst.values())


def _badness(product: Delivery) -> tuple[int, bool]:
    return product.mantissa_bits, product.arithmetic is not Arithmetic.TF32_TRUNCATED
