"""What a dtype can hold, by its name, without NumPy."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from jaxdoctor.facts.precision import BF16, F32, F64

FLOATS = {
    # name: bits, explicit mantissa bits
    "float64": (64, F64.mantissa_bits),
    "float32": (32, F32.mantissa_bits),
    "float16": (16, 10),
    "bfloat16": (16, BF16.mantissa_bits),
    "float8_e4m3fn": (8, 3),
    "float8_e4m3": (8, 3),
    "float8_e4m3fnuz": (8, 3),
    "float8_e4m3b11fnuz": (8, 3),
    "float8_e3m4": (8, 4),
    "float8_e5m2": (8, 2),
    "float8_e5m2fnuz": (8, 2),
    "float8_e8m0fnu": (8, 0),
    "float4_e2m1fn": (4, 1),
}

COMPLEX = {"complex64": (64, F32.mantissa_bits), "complex128": (128, F64.mantissa_bits)}

INTEGER = re.compile(r"(u?)int(\d+)")


@dataclass(frozen=True, kw_only=True)
class DType:
    """One element type."""

    name: str
    kind: str
    """"float", "complex", "int", "uint", "bool" or "other"."""

    bits: int = 0
    mantissa_bits: int | None = None
    """Of a float: those that are stored."""

    @property
    def integral(self) -> bool:
        """Whether it is an integer type."""
        return self.kind in {"int", "uint"}

    @property
    def maximum(self) -> int | None:
        """The largest integer that an integer type holds."""
        if not self.integral:
            return None
        return (1 << (self.bits - (self.kind == "int"))) - 1

    @property
    def exact_to(self) -> int | None:
        """The integer up to which a float type holds every integer: 2^24 for float32."""
        return None if self.mantissa_bits is None else 1 << (self.mantissa_bits + 1)

    @property
    def itemsize(self) -> float:
        """Bytes of one element; half a byte for the types of four bits."""
        return self.bits / 8

    def wrapped(self, value: int) -> int:
        """What an integer of this type is left with when `value` is forced into it."""
        rest = value % (1 << self.bits)
        return rest - (1 << self.bits) if self.kind == "int" and rest >> (self.bits - 1) else rest


@functools.lru_cache(maxsize=256)
def dtype_named(name: str) -> DType:
    """The dtype that NumPy or ml_dtypes calls so; kind "other" when no arithmetic is known of it."""
    if name in FLOATS:
        bits, mantissa = FLOATS[name]
        return DType(name=name, kind="float", bits=bits, mantissa_bits=mantissa)
    if name in COMPLEX:
        bits, mantissa = COMPLEX[name]
        return DType(name=name, kind="complex", bits=bits, mantissa_bits=mantissa)
    if name == "bool":
        return DType(name=name, kind="bool", bits=8)
    found = INTEGER.fullmatch(name)
    if found is None:
        return DType(name=name, kind="other")
    return DType(name=name, kind="uint" if found[1] else "int", bits=int(found[2]))
