"""Operands that turn any product into lanes: one value times 1, and zeros elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxdoctor.machine.measuring.lanes import Values, lane_values
from jaxdoctor.machine.products import Convolution, Dot, Product

LEFT, RIGHT = "left", "right"
SIDES = (LEFT, RIGHT)


@dataclass(frozen=True, kw_only=True)
class LaneOperands:
    """One pair of operands, and what an exact product of them is in the lanes."""

    left: Values
    right: Values
    sent: Values
    """What went into the lanes, in the shape of the result."""

    lanes: Any
    """A mask over the result: where exactly one value times 1 comes out."""


def lane_operands(product: Product, side: str, dtype: Any) -> Iterator[LaneOperands]:
    """Pairs of operands that together send every one of `lane_values` through the product."""
    values = lane_values(dtype)
    missing = np.ones(len(values), bool)
    while missing.any():
        # The first value always reaches a lane, so this ends.
        first = np.roll(values, -int(missing.argmax()))
        pair = _dot(product, side, first) if isinstance(product, Dot) else _convolution(product, side, first)
        missing &= ~np.isin(values, pair.sent[pair.lanes])
        yield pair


def _cycled(values: Values, shape: tuple[int, ...]) -> Values:
    return np.resize(values, shape)


def _selector(rows: int, columns: int, dtype: Any, *, by_row: bool) -> Values:
    """A matrix of zeros and ones with a single 1 in each row, or in each column."""
    one = np.zeros((rows, columns), dtype)
    if by_row:
        one[np.arange(rows), np.arange(rows) % columns] = 1
    else:
        one[np.arange(columns) % rows, np.arange(columns)] = 1
    return one


def _dot(product: Dot, side: str, values: Values) -> LaneOperands:
    if side == LEFT:
        # Column j of the right operand selects column j mod min(k, n) of the left one.
        left = _cycled(values, product.left)
        right = np.broadcast_to(
            _selector(product.k, product.n, values.dtype, by_row=False), product.right
        ).copy()
        sent = left[..., np.arange(product.n) % product.k]
    else:
        left = np.broadcast_to(
            _selector(product.m, product.k, values.dtype, by_row=True), product.left
        ).copy()
        right = _cycled(values, product.right)
        chosen = right[..., np.arange(product.m) % product.k, :]
        batch = product.left[:-2]
        sent = np.broadcast_to(chosen, (*batch, product.m, product.n))
    return LaneOperands(left=left, right=right, sent=sent, lanes=np.ones(sent.shape, bool))


def _convolution(product: Convolution, side: str, values: Values) -> LaneOperands:
    centre = product.kernel // 2
    if side == LEFT:
        # Only the kernel's middle is not zero, and it selects one channel for each channel out.
        left = _cycled(values, product.left)
        right = np.zeros(product.right, values.dtype)
        right[centre, centre] = _selector(
            product.channels_in, product.channels_out, values.dtype, by_row=False
        )
        sent = left[..., np.arange(product.channels_out) % product.channels_in]
        return LaneOperands(left=left, right=right, sent=sent, lanes=np.ones(sent.shape, bool))
    # Each image is zero but for one pixel in one channel, so the kernel appears around it, mirrored.
    left = np.zeros(product.left, values.dtype)
    images = np.arange(product.batch)
    pixel = product.size // 2
    left[images, pixel, pixel, images % product.channels_in] = 1
    right = _cycled(values, product.right)
    sent = np.zeros((product.batch, product.size, product.size, product.channels_out), values.dtype)
    around = slice(pixel - centre, pixel + centre + 1)
    mirrored = right[::-1, ::-1]
    for image in images:
        sent[image, around, around] = mirrored[:, :, image % product.channels_in]
    lanes = np.zeros(sent.shape, bool)
    lanes[:, around, around] = True
    return LaneOperands(left=left, right=right, sent=sent, lanes=lanes)
