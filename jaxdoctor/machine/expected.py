"""What products would get on a card that is not here, by its arithmetic and the history of jaxlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jaxdoctor.facts.delivery import (
    DEFAULT,
    FROM_CARD,
    HIGH,
    HIGHEST,
    NAMED,
    SETTINGS,
    X64,
    Arithmetic,
    Deliveries,
    Delivery,
)
from jaxdoctor.facts.precision import BF16, F32, TF32
from jaxdoctor.facts.versions import since
from jaxdoctor.machine.card import TPU, Card
from jaxdoctor.machine.products import PRODUCTS, Convolution, Product

PRECISION_HEEDED = "0.4.3"
"""Before, jaxlib's GPU backend ignored the precision on some paths: https://github.com/jax-ml/jax/issues/14022"""

TRITON_BY_DEFAULT = "0.5.1"
"""From here on Triton may take any dot: https://github.com/openxla/xla/commit/b39e89e688"""

TRITON_ROUNDS = "0.6.0"
"""Before, Triton cut operands to TF32 instead of rounding: https://github.com/openxla/xla/commit/bffa344d42"""

TRITON_HIGH_IS_TF32 = "0.11.1"
"""From here on Triton, like cuBLAS, takes HIGH as TF32: https://github.com/openxla/xla/commit/251becc51b"""

BITS = {arithmetic: precision.mantissa_bits for arithmetic, precision in NAMED.items()}

SPLIT_BF16_BITS = 16
"""bfloat16 twice, high part and rest: the second rounding leaves an error of 2^-17 at most."""

SPLIT_TF32_BITS = 22
"""The same for TF32: 2^-23 at most."""

PRESETS = {
    "F32_F32_F32": (Arithmetic.F32, F32.mantissa_bits),
    "TF32_TF32_F32": (Arithmetic.TF32_ROUNDED, TF32.mantissa_bits),
    "TF32_TF32_F32_X3": (Arithmetic.SPLIT, SPLIT_TF32_BITS),
    "BF16_BF16_F32": (Arithmetic.BF16, BF16.mantissa_bits),
    "BF16_BF16_F32_X3": (Arithmetic.SPLIT, SPLIT_BF16_BITS),
    # Three parts of 8 bits hold a whole float32.
    "BF16_BF16_F32_X6": (Arithmetic.SPLIT, F32.mantissa_bits),
    "BF16_BF16_F32_X9": (Arithmetic.F32, F32.mantissa_bits),
}
"""What a `jax.lax.DotAlgorithmPreset` names, and the mantissa bits of its operands."""

LEVELS = {
    "default": DEFAULT,
    "bfloat16": DEFAULT,
    "fastest": DEFAULT,
    "high": HIGH,
    "tensorfloat32": HIGH,
    "bfloat16_3x": HIGH,
    "highest": HIGHEST,
    "float32": HIGHEST,
}
"""JAX's words for its three levels: "tensorfloat32" means HIGH and "bfloat16" means DEFAULT."""


def level_of(value: str | None) -> str:
    """The level that a value of `jax_default_matmul_precision` means, or the preset that it names."""
    return DEFAULT if value is None else LEVELS.get(value, value)


def deliveries_of_card(
    card: Card,
    jaxlib_version: str,
    *,
    xla_flags: Mapping[str, str] | None = None,
    tf32_override: str | None = None,
    settings: Iterable[str] = SETTINGS,
    configured: str = DEFAULT,
) -> Deliveries:
    """What each product would get on that card, the worst of the kernels that XLA may choose for it.

    Args:
        card: from `cards/`.
        jaxlib_version: as installed here, since what HIGH means depends on it.
        xla_flags: XLA_FLAGS, parsed.
        tf32_override: NVIDIA_TF32_OVERRIDE, if it is set.
        settings: levels of `jax_default_matmul_precision`, presets, or "x64".
        configured: the one of them that JAX is configured to.
    """
    arithmetic = _Gpu(jaxlib_version, xla_flags or {}, tf32_override)
    settings = tuple(settings)
    products = [
        _expected(product, setting, found)
        for setting in settings
        for product in PRODUCTS
        if (found := _tpu(setting) if card.market == TPU else arithmetic.of(card, product, setting))
    ]
    certain = [setting for setting in settings if card.market == TPU or arithmetic.is_certain(setting)]
    return Deliveries(
        machine=card.name,
        products=tuple(products),
        configured=configured,
        jaxlib=jaxlib_version,
        certain=frozenset(certain),
    )


class _Gpu:
    """One jaxlib with its flags on NVIDIA cards."""

    def __init__(self, jaxlib: str, flags: Mapping[str, str], override: str | None) -> None:
        self.jaxlib = jaxlib
        self.libraries_have_tf32 = override != "0"
        by_default = "true" if since(jaxlib, TRITON_BY_DEFAULT) else "false"
        self.triton = (
            flags.get("xla_gpu_triton_gemm_any", by_default).lower() in TRUE
            and flags.get("xla_gpu_enable_triton_gemm", "true").lower() in TRUE
        )
        self.bf16 = flags.get(BF16_FLAG, "false").lower() in TRUE

    def of(self, card: Card, product: Product, setting: str) -> tuple[Arithmetic, int] | None:
        if setting == X64:
            return _named(Arithmetic.F64)
        if not product.on_matrix_units or not card.tf32:
            return _named(Arithmetic.F32)
        if setting in PRESETS and not isinstance(product, Convolution):
            return PRESETS[setting]
        if setting not in LEVELS.values():
            return None
        kernels = [self._library(setting)] if isinstance(product, Convolution) else self._kernels(setting)
        return _named(min(kernels, key=lambda found: (BITS[found], found is not Arithmetic.TF32_TRUNCATED)))

    def is_certain(self, setting: str) -> bool:
        """Whether a matrix product gets the same from every kernel that XLA may choose."""
        return setting not in LEVELS.values() or len(set(self._kernels(setting))) == 1

    def _kernels(self, setting: str) -> list[Arithmetic]:
        """What may compute a matrix product."""
        if self.bf16 and setting == DEFAULT:
            return [Arithmetic.BF16]
        return [self._library(setting), *([self._triton(setting)] if self.triton else [])]

    def _library(self, setting: str) -> Arithmetic:
        exact = setting == HIGHEST and since(self.jaxlib, PRECISION_HEEDED)
        return Arithmetic.F32 if exact or not self.libraries_have_tf32 else Arithmetic.TF32_ROUNDED

    def _triton(self, setting: str) -> Arithmetic:
        if setting == HIGHEST or (setting == HIGH and not since(self.jaxlib, TRITON_HIGH_IS_TF32)):
            return Arithmetic.F32
        return Arithmetic.TF32_ROUNDED if since(self.jaxlib, TRITON_ROUNDS) else Arithmetic.TF32_TRUNCATED


TRUE = ("true", "1")

BF16_FLAG = "xla_gpu_default_to_alg_dot_bf16_bf16_f32"
"""Makes DEFAULT mean bfloat16, and no other level: https://github.com/openxla/xla/commit/4b7c2574db"""


def _tpu(setting: str) -> tuple[Arithmetic, int] | None:
    """What a TPU's matrix unit does; float64 is put together from float32, with bits that are not known."""
    return {
        DEFAULT: (Arithmetic.BF16, BITS[Arithmetic.BF16]),
        HIGH: (Arithmetic.SPLIT, SPLIT_BF16_BITS),
        HIGHEST: (Arithmetic.F32, BITS[Arithmetic.F32]),
        **PRESETS,
    }.get(setting)


def _named(arithmetic: Arithmetic) -> tuple[Arithmetic, int]:
    return arithmetic, BITS[arithmetic]


def _expected(product: Product, setting: str, found: tuple[Arithmetic, int]) -> Delivery:
    arithmetic, bits = found
    truncated = arithmetic is Arithmetic.TF32_TRUNCATED
    roundoff = 2.0**-bits if truncated else 2.0 ** -(bits + 1)
    return Delivery(
        setting=setting,
        op=product.op,
        shape=product.shape,
        batched=product.batched,
        side="both",
        arithmetic=arithmetic,
        mantissa_bits=bits,
        # Both operands are rounded, so each term is off by a factor of (1 + u)^2 at most.
        max_relative_error=2 * roundoff + roundoff**2,
        source=FROM_CARD,
    )
