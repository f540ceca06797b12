"""One product on this device: its arithmetic by lanes, its error against float64, and its time."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax

from jaxdoctor.facts.delivery import X64, Arithmetic, Delivery
from jaxdoctor.machine.measuring.lanes import Values, classify
from jaxdoctor.machine.measuring.operands import SIDES, LaneOperands, lane_operands
from jaxdoctor.machine.products import Convolution, Dot, Product

TIMED_SECONDS = 0.01
"""A product is timed until it has run for so long in all, MIN_RUNS times at least, MAX_RUNS at most."""

MIN_RUNS, MAX_RUNS = 3, 20

REFERENCE = 16
"""The host computes so many rows or images, and members of a batch, in float64; they stand for the rest."""

Program = Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class ProductProbe:
    """A product with everything that is the same at every setting."""

    product: Product
    lanes: dict[str, tuple[LaneOperands, ...]]
    left: Values
    right: Values
    exact: Values
    """Of the first rows of `left`, in float64."""

    magnitude: Values
    """The sum of the magnitudes of the terms that make each element of `exact`."""

    @classmethod
    def of(cls, product: Product, dtype: str) -> ProductProbe:
        """A probe with operands of that dtype."""
        random = np.random.default_rng(1)
        left = random.standard_normal(product.left).astype(dtype)
        right = random.standard_normal(product.right).astype(dtype)
        return cls(
            product=product,
            lanes={side: tuple(lane_operands(product, side, dtype)) for side in SIDES},
            left=left,
            right=right,
            exact=_reference(product, left, right),
            magnitude=_reference(product, np.abs(left), np.abs(right)),
        )

    def measure(self, setting: str) -> Iterator[Delivery]:
        """What each operand gets at a setting."""
        with contextlib.nullcontext() if setting == X64 else jax.default_matmul_precision(setting):
            compiled = jax.jit(program(self.product))
            got, milliseconds = _timed(compiled, self.left, self.right)
            found = {side: self._arithmetic(compiled, side) for side in SIDES}
        first = got[_first(self.product, self.left, self.right)[2]].astype(np.float64)
        error = float(np.max(np.abs(first - self.exact) / self.magnitude))
        for side, (arithmetic, bits) in found.items():
            yield Delivery(
                setting=setting,
                op=self.product.op,
                shape=self.product.shape,
                batched=self.product.batched,
                side=side,
                arithmetic=arithmetic,
                mantissa_bits=bits,
                max_relative_error=error,
                milliseconds=milliseconds,
            )

    def _arithmetic(self, compiled: Program, side: str) -> tuple[Arithmetic, int]:
        pairs = self.lanes[side]
        results = [jax.device_get(compiled(*jax.device_put((pair.left, pair.right)))) for pair in pairs]
        return classify(
            np.concatenate([pair.sent[pair.lanes] for pair in pairs]),
            np.concatenate([got[pair.lanes] for pair, got in zip(pairs, results, strict=True)]),
        )


def program(product: Product) -> Program:
    """The product as a function of its operands, with no precision of its own."""
    if isinstance(product, Convolution):
        return lambda left, right: lax.conv_general_dilated(
            left, right, window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
    batch = ((), ()) if product.shared or product.batch is None else ((0,), (0,))
    contract = ((len(product.left) - 1,), (len(product.right) - 2,))
    return lambda left, right: lax.dot_general(left, right, (contract, batch))


def _timed(compiled: Program, left: Values, right: Values) -> tuple[Values, float]:
    """The result, and the median milliseconds of a run after the first, which compiles."""
    operands = jax.device_put((left, right))
    got = jax.device_get(compiled(*operands))
    runs: list[float] = []
    while len(runs) < MIN_RUNS or (sum(runs) < TIMED_SECONDS and len(runs) < MAX_RUNS):
        started = time.perf_counter()
        compiled(*operands).block_until_ready()
        runs.append(time.perf_counter() - started)
    return got, statistics.median(runs) * 1000


def _first(product: Product, left: Values, right: Values) -> tuple[Values, Values, Any]:
    """The operands cut to what the host computes, and where that lies in the result."""
    if isinstance(product, Convolution):
        return left[:1], right, slice(0, 1)
    if product.batch is None:
        return left[:REFERENCE], right, slice(0, REFERENCE)
    return left[:REFERENCE], right if product.shared else right[:REFERENCE], slice(0, REFERENCE)


def _reference(product: Product, left: Values, right: Values) -> Values:
    left, right, _ = _first(product, left, right)
    left, right = left.astype(np.float64), right.astype(np.float64)
    if isinstance(product, Dot):
        return np.asarray(left @ right)
    edge = product.kernel // 2
    padded = np.pad(left, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (product.kernel, product.kernel), axis=(1, 2))
    return np.asarray(np.einsum("bhwcij,ijco->bhwo", windows, right, optimize=True))
