"""Arithmetic on counts from 0 to 2^64 - 1 in two uint32 words: an upper one and a lower one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

BITS = 32
WORD = 1 << BITS
LARGEST = (1 << 64) - 1
LARGEST_DIVISOR = (1 << 31) - 1

Pair = tuple[Any, Any]


@runtime_checkable
class TwoWords(Protocol):
    """Anything with two 32-bit words, such as Brax's `UInt64`."""

    hi: Any
    lo: Any


def words_of(value: Any) -> Pair:
    """The upper and the lower 32 bits of an integer, an integer array, or another two words.

    The sign of a traced negative integer goes into the upper word, so that adding it counts back.

    Raises:
        TypeError: it is no integer.
        ValueError: it is negative, or above 2^64 - 1; values that are traced are not checked.
    """
    if isinstance(value, TwoWords):
        return jnp.asarray(value.hi, jnp.uint32), jnp.asarray(value.lo, jnp.uint32)
    if isinstance(value, jax.Array):
        # An array that is there is checked like any number; a traced one has no value yet.
        return _traced_words(value) if isinstance(value, jax.core.Tracer) else _numpy_words(np.asarray(value))
    if isinstance(value, np.ndarray):
        return _numpy_words(value)
    return _split(_checked(_index(value)))


def addend_of(value: Any) -> Pair:
    """The same of what is added, where a negative array of JAX counts back, traced or not.

    Raises:
        TypeError, ValueError: as `words_of`.
    """
    return _traced_words(value) if isinstance(value, jax.Array) else words_of(value)


def sign_and_words(value: Any) -> tuple[Any, Pair]:
    """-1 where the value is below every count, 1 where it is above, else 0 with its words.

    Raises:
        TypeError: it is no integer.
    """
    if isinstance(value, TwoWords):
        return 0, words_of(value)
    if isinstance(value, jax.Array):
        return jnp.where(value < 0, -1, 0), _traced_words(value)
    if isinstance(value, np.ndarray):
        _require_integers(value.dtype)
        return np.where(value < 0, -1, 0), _numpy_words(np.where(value < 0, 0, value))
    number = _index(value)
    if 0 <= number <= LARGEST:
        return 0, _split(number)
    return (-1 if number < 0 else 1), _split(0)


def is_integer(value: object) -> bool:
    """Whether a count can be compared with it."""
    if isinstance(value, TwoWords):
        return True
    if isinstance(value, (jax.Array, np.ndarray)):
        return _is_integral(value.dtype)
    return hasattr(value, "__index__")


def add(left: Pair, right: Pair) -> Pair:
    """The sum modulo 2^64."""
    lo = left[1] + right[1]
    return left[0] + right[0] + (lo < right[1]).astype(jnp.uint32), lo


def subtract(left: Pair, right: Pair) -> Pair:
    """The difference modulo 2^64."""
    return left[0] - right[0] - (left[1] < right[1]).astype(jnp.uint32), left[1] - right[1]


def less(left: Pair, right: Pair) -> Any:
    """Whether the left count is below the right one."""
    return (left[0] < right[0]) | ((left[0] == right[0]) & (left[1] < right[1]))


def divide(count: Pair, divisor: int) -> tuple[Pair, Any]:
    """The quotient, and the remainder as int32.

    Long division with digits of as many bits as keep `remainder * 2^bits + digit` inside one word: two
    digits for a divisor up to 2^16, 32 for one near 2^31.
    """
    hi, lo = count
    quotient_hi, rest = hi // np.uint32(divisor), hi % np.uint32(divisor)
    quotient_lo = jnp.zeros_like(lo)
    left, width = BITS, BITS - (divisor - 1).bit_length()
    while left:
        bits = min(width, left)
        left -= bits
        digit = (lo >> left) & np.uint32((1 << bits) - 1) if bits < BITS else lo
        # A divisor of 1 leaves no remainder, and its only digit is the whole word.
        current = (rest << bits) | digit if bits < BITS else digit
        quotient_lo = (quotient_lo << bits) | (current // np.uint32(divisor)) if bits < BITS else current
        rest = current % np.uint32(divisor)
    return (quotient_hi, quotient_lo), rest.astype(jnp.int32)


def sum_over(count: Pair, axis_name: str | tuple[str, ...]) -> Pair:
    """The sum over a mapped axis of up to 65536 devices, with every carry."""
    hi, lo = count
    halves = jnp.stack([lo & 0xFFFF, lo >> 16, hi])
    psum: Callable[..., jax.Array] = jax.lax.psum
    low, middle, upper = psum(halves, axis_name)
    middle = middle + (low >> 16)
    return upper + (middle >> 16), (middle << 16) | (low & 0xFFFF)


def divisor_of(value: Any) -> int:
    """A divisor, which must be a number that is known when the program is traced.

    Raises:
        TypeError: it is an array or no integer.
        ValueError: it is not from 1 to 2^31 - 1.
        ZeroDivisionError: it is 0.
    """
    if (
        isinstance(value, (jax.Array, np.ndarray))
        and value.ndim == 0
        and not isinstance(value, jax.core.Tracer)
    ):
        value = value.item()
    if isinstance(value, (jax.Array, np.ndarray, TwoWords)):
        raise TypeError("a StepCounter is divided by a constant; by an array divide counter.as_float32()")
    number = _index(value)
    if number == 0:
        raise ZeroDivisionError("a StepCounter divided by 0")
    if not 0 < number <= LARGEST_DIVISOR:
        raise ValueError(f"a StepCounter is divided by 1 to {LARGEST_DIVISOR}, not by {number}")
    return number


def _index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"a StepCounter counts in integers, not in {type(value).__name__}; use counter.as_float32()"
        ) from None


def _checked(number: int) -> int:
    if number < 0:
        raise ValueError(
            f"{number} is negative: if it is an int32 count that has wrapped, "
            "StepCounter.from_wrapped(count, at_least=...) gives the true one"
        )
    if number > LARGEST:
        raise ValueError(f"{number} is not from 0 to {LARGEST}")
    return number


def _split(number: int) -> Pair:
    return jnp.uint32(number >> BITS), jnp.uint32(number & (WORD - 1))


def _is_integral(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.integer) or dtype == jnp.bool_)


def _require_integers(dtype: Any) -> None:
    if not _is_integral(dtype):
        raise TypeError(
            f"a StepCounter counts in integers, not in {dtype}; compute with counter.as_float32()"
        )


def _numpy_words(value: np.ndarray[Any, Any]) -> Pair:
    _require_integers(value.dtype)
    if value.size:
        _checked(int(value.min()))
    wide = value.astype(np.uint64)
    return jnp.asarray((wide >> BITS).astype(np.uint32)), jnp.asarray(wide.astype(np.uint32))


def _traced_words(value: jax.Array) -> Pair:
    _require_integers(value.dtype)
    lo = value.astype(jnp.uint32)
    if value.dtype.itemsize > lo.dtype.itemsize:
        return (value >> BITS).astype(jnp.uint32), lo
    if jnp.issubdtype(value.dtype, jnp.signedinteger):
        return jnp.where(value < 0, jnp.uint32(WORD - 1), jnp.uint32(0)), lo
    return jnp.zeros_like(lo), lo
