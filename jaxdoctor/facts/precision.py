"""The widths that a float32 product can have, and what JAX calls them."""

import enum
from dataclasses import dataclass


class Rounding(enum.StrEnum):
    """How the bits that do not fit are dropped."""

    NEAREST = "nearest"
    TOWARD_ZERO = "toward zero"


@dataclass(frozen=True, kw_only=True)
class Precision:
    """One way to compute a product: how many bits of its operands survive."""

    name: str
    """The word a user writes: "tf32"."""

    mantissa_bits: int
    """Explicit mantissa bits, without the leading one: float32 has 23."""

    jax_setting: str | None = None
    """The value of `jax_default_matmul_precision` that asks for it by name, if one does so portably."""

    x64: bool = False
    """Whether it needs `jax_enable_x64`, which changes every array and not only the products."""

    rounding: Rounding = Rounding.NEAREST

    @property
    def unit_roundoff(self) -> float:
        """The largest relative error of rounding one number to this width."""
        spacing = 2.0**-self.mantissa_bits
        return spacing / 2 if self.rounding is Rounding.NEAREST else spacing


BF16 = Precision(name="bf16", mantissa_bits=7)
TF32 = Precision(name="tf32", mantissa_bits=10, jax_setting="default")
TF32_TRUNCATED = Precision(name="tf32-truncated", mantissa_bits=10, rounding=Rounding.TOWARD_ZERO)
F32 = Precision(name="f32", mantissa_bits=23, jax_setting="highest")
F64 = Precision(name="f64", mantissa_bits=52, x64=True)

PRECISIONS = {precision.name: precision for precision in (BF16, TF32, TF32_TRUNCATED, F32, F64)}
"""Every named precision. A bare number of bits from 1 to 23 names one too: see `precision_named`."""


def precision_named(name: str) -> Precision:
    """The precision of that name, or of that many mantissa bits ("13").

    Raises:
        KeyError: no precision is called so.
    """
    if name.isdecimal() and 1 <= int(name) <= F32.mantissa_bits:
        return Precision(name=name, mantissa_bits=int(name))
    return PRECISIONS[name]
