"""The last rows of what a step starts from, in one array of bits: written on the device, read on the host."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WORD = 4
"""Bytes of a word of the ring."""


@dataclass(frozen=True, kw_only=True)
class Slot:
    """Where a leaf stands in a row."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    """As it is stored: narrow types are widened to four bytes."""

    start: int
    words: int


def layout(leaves: Mapping[str, Any]) -> tuple[Slot, ...]:
    """The place of each leaf in a row, in their order."""
    slots, start = [], 0
    for name, leaf in leaves.items():
        dtype = _stored(np.dtype(leaf.dtype))
        words = math.prod(leaf.shape) * dtype.itemsize // WORD
        slots.append(Slot(name=name, shape=tuple(leaf.shape), dtype=dtype, start=start, words=words))
        start += words
    return tuple(slots)


def row_of(leaves: Mapping[str, Any]) -> jax.Array:
    """The leaves one behind the other, as words of 32 bits."""
    return jnp.concatenate([_words(leaf) for leaf in leaves.values()])


def leaves_of(rows: Any, slots: tuple[Slot, ...]) -> dict[str, Any]:
    """The leaves of some rows again, as NumPy arrays: rows x the leaf's shape."""
    held = np.ascontiguousarray(rows, np.uint32)
    return {
        slot.name: np.ascontiguousarray(held[:, slot.start : slot.start + slot.words])
        .view(slot.dtype)
        .reshape(len(held), *slot.shape)
        for slot in slots
    }


def _words(leaf: Any) -> jax.Array:
    wide = jnp.asarray(leaf).astype(_stored(np.dtype(leaf.dtype)))
    words: jax.Array = jax.lax.bitcast_convert_type(wide, jnp.uint32)
    return words.ravel()


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Four or eight bytes a number: bool and short integers as int32, short floating numbers as float32."""
    if dtype.itemsize >= WORD:
        return dtype
    return np.dtype(np.float32 if jnp.issubdtype(dtype, jnp.floating) else np.int32)
