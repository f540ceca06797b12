"""The element types that files may name: a fixed table, since NumPy's own parser accepts far more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WIDTHS = {
    "bool": 1,
    "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "float32": 4, "float64": 8,
    "complex64": 8, "complex128": 16,
    "bfloat16": 2,
    "int2": 1, "int4": 1, "uint2": 1, "uint4": 1,
    "float4_e2m1fn": 1, "float6_e2m3fn": 1, "float6_e3m2fn": 1,
    "float8_e3m4": 1, "float8_e4m3": 1, "float8_e4m3b11fnuz": 1, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1,
    "float8_e5m2": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}  # fmt: skip
"""Bytes of an element in memory, by NumPy's or ml_dtypes' name. What is below a byte fills one there."""

LETTERS = {
    "b1": "bool",
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
    "f2": "float16", "f4": "float32", "f8": "float64",
    "c8": "complex64", "c16": "complex128",
}  # fmt: skip
"""NumPy's short spellings, without the byte order."""

ORDERS = {"<": False, "|": False, "=": False, ">": True}


@dataclass(frozen=True)
class Element:
    """How one element is stored."""

    name: str
    big_endian: bool = False

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return WIDTHS[self.name]

    def numpy(self) -> Any:
        """The NumPy dtype, with its byte order."""
        import numpy as np

        if self.name in LETTERS.values():
            return np.dtype(self.name).newbyteorder(">" if self.big_endian else "<")
        import ml_dtypes

        plain = np.dtype(getattr(ml_dtypes, self.name))
        return plain.newbyteorder(">") if self.big_endian and plain.itemsize > 1 else plain


def element(spelling: object) -> Element | None:
    """What a file means by "float32", "<f4", "|b1", ">i8" or "bfloat16"; None for anything else."""
    if not isinstance(spelling, str):
        return None
    if spelling in WIDTHS:
        return Element(spelling)
    order, letters = spelling[:1], spelling[1:]
    if order in ORDERS and letters in LETTERS:
        return Element(LETTERS[letters], ORDERS[order])
    if order in ORDERS and letters in WIDTHS:
        return Element(letters, ORDERS[order])
    return Element(LETTERS[spelling]) if spelling in LETTERS else None
