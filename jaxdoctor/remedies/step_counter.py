"""A 64-bit step counter for JAX programs without x64."""

from __future__ import annotations

import dataclasses
import functools
import operator
import sys
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

WORD = 1 << 32
LARGEST = (1 << 64) - 1
LARGEST_ADDEND = (1 << 63) - 1


@runtime_checkable
class TwoWords(Protocol):
    """Anything with two 32-bit words, such as Brax's `UInt64`."""

    hi: Any
    lo: Any


@functools.partial(jax.tree_util.register_dataclass, data_fields=("hi", "lo"), meta_fields=())
@dataclasses.dataclass(frozen=True, eq=False)
class StepCounter:  # noqa: PLW1641 (it holds arrays, which have no hash)
    """A count from 0 to 2^64 - 1 in two uint32 words, so that it neither wraps at 2^31 nor needs x64.

    It is a pytree: it goes through `jit`, `vmap`, `scan` and `shard_map`, and into checkpoints, as two arrays
    with the names and the order of Brax's `UInt64`. Past 2^64 - 1 it begins at 0 again.

    >>> counter = StepCounter.of(2**31 - 1)
    >>> int(counter + 1)
    2147483648
    """

    hi: jax.Array
    """The upper 32 bits."""

    lo: jax.Array
    """The lower 32 bits."""

    @classmethod
    def zero(cls, shape: tuple[int, ...] = ()) -> StepCounter:
        """A counter at 0, or an array of them."""
        return _joined(jnp.zeros(shape, jnp.uint32), jnp.zeros(shape, jnp.uint32))

    @classmethod
    def of(cls, value: int | np.integer[Any] | np.ndarray[Any, Any] | jax.Array | TwoWords) -> StepCounter:
        """The counter at that value: an integer from 0 to 2^64 - 1, an integer array, or another two words.

        Raises:
            TypeError: it is no integer.
            ValueError: it is negative, or above 2^64 - 1. Values inside a jitted function are not checked.
        """
        return _joined(*_words(value, LARGEST))

    @classmethod
    def from_wrapped(cls, wrapped: int | np.integer[Any], *, at_least: int) -> StepCounter:
        """The true count behind a 32-bit counter of an old checkpoint that has wrapped.

        Args:
            wrapped: what the int32, or uint32, counter says.
            at_least: any number that the true count has surely reached, less than 2^32 before it: the number
                of the last checkpoint before it went negative, say, or 2^31.
        """
        return cls.of(at_least + (int(wrapped) - at_least) % WORD)

    def __add__(self, other: Any) -> StepCounter:
        """The counter further on, by a non-negative integer below 2^63, an integer array, or a counter.

        Raises:
            ValueError: the integer is negative or too large. A negative value inside a jitted function
                counts back.
        """
        words = _words(other, LARGEST_ADDEND)
        lo = self.lo + words[1]
        return _joined(self.hi + words[0] + (lo < words[1]).astype(jnp.uint32), lo)

    __radd__ = __add__

    def __eq__(self, other: object) -> Any:
        """Element by element, an array of truth values."""
        hi, lo = _words(other, LARGEST)
        return (self.hi == hi) & (self.lo == lo)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    def __lt__(self, other: Any) -> Any:
        hi, lo = _words(other, LARGEST)
        return (self.hi < hi) | ((self.hi == hi) & (self.lo < lo))

    def __ge__(self, other: Any) -> Any:
        return ~(self < other)

    def __gt__(self, other: Any) -> Any:
        return StepCounter.of(other) < self

    def __le__(self, other: Any) -> Any:
        return ~(self > other)

    def __int__(self) -> int:
        """The count, of a single counter outside of jit."""
        return (int(self.hi) << 32) | int(self.lo)

    def __repr__(self) -> str:
        if isinstance(self.hi, jax.core.Tracer) or np.ndim(self.hi):
            return f"StepCounter(hi={self.hi}, lo={self.lo})"
        return f"StepCounter({int(self)})"

    def to_numpy(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The count as int64.

        Raises:
            OverflowError: it is 2^63 or more.
        """
        hi, lo = np.asarray(self.hi, np.int64), np.asarray(self.lo, np.int64)
        if (hi >> 31).any():
            raise OverflowError("a count of 2^63 or more does not fit into int64; take int(counter)")
        return np.asarray((hi << 32) | lo)

    def as_float32(self) -> jax.Array:
        """The count as float32, for a division or a plot: within 2^-23 of it, and exact below 2^24."""
        return self.hi.astype(jnp.float32) * np.float32(WORD) + self.lo.astype(jnp.float32)

    def psum(self, axis_name: str | tuple[str, ...]) -> StepCounter:
        """The sum over the devices of a mapped axis, up to 65536 of them, with every carry.

        `jax.lax.psum` of the words alone would lose what overflows the lower one.
        """
        halves = jnp.stack([self.lo & 0xFFFF, self.lo >> 16, self.hi])
        sum_over: Callable[..., jax.Array] = jax.lax.psum
        low, middle, hi = sum_over(halves, axis_name)
        middle = middle + (low >> 16)
        return _joined(hi + (middle >> 16), (middle << 16) | (low & 0xFFFF))

    def to_brax(self) -> Any:
        """The same count as Brax's `UInt64`, for its training states. Needs brax."""
        from brax.training.types import UInt64  # noqa: PLC0415 (optional)

        return UInt64(hi=self.hi, lo=self.lo)


def _joined(hi: Any, lo: Any) -> StepCounter:
    _tell_flax()
    return StepCounter(hi=hi, lo=lo)


def _words(value: Any, largest: int) -> tuple[Any, Any]:
    """The upper and the lower 32 bits."""
    if isinstance(value, TwoWords):
        return jnp.asarray(value.hi, jnp.uint32), jnp.asarray(value.lo, jnp.uint32)
    if isinstance(value, jax.Array):
        return _array_words(value)
    if isinstance(value, np.ndarray):
        return _numpy_words(value, largest)
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"a StepCounter counts in integers, not in {type(value).__name__}") from None
    if not 0 <= number <= largest:
        raise ValueError(f"{number} is not from 0 to {largest}")
    return jnp.uint32(number >> 32), jnp.uint32(number & (WORD - 1))


def _numpy_words(value: np.ndarray[Any, Any], largest: int) -> tuple[Any, Any]:
    if value.dtype.kind not in "iu":
        raise TypeError(f"a StepCounter counts in integers, not in {value.dtype}")
    if value.size and (int(value.min()) < 0 or int(value.max()) > largest):
        raise ValueError(f"the array holds numbers that are not from 0 to {largest}")
    wide = value.astype(np.uint64)
    return jnp.asarray((wide >> 32).astype(np.uint32)), jnp.asarray(wide.astype(np.uint32))


def _array_words(value: jax.Array) -> tuple[jax.Array, jax.Array]:
    if not jnp.issubdtype(value.dtype, jnp.integer) and value.dtype != jnp.bool_:
        raise TypeError(f"a StepCounter counts in integers, not in {value.dtype}")
    lo = value.astype(jnp.uint32)
    if value.dtype.itemsize > lo.dtype.itemsize:
        return (value >> 32).astype(jnp.uint32), lo
    if jnp.issubdtype(value.dtype, jnp.signedinteger):
        # The sign goes into the upper word, so that -1 is 2^64 - 1, which counts back by one.
        return jnp.where(value < 0, jnp.uint32(WORD - 1), jnp.uint32(0)), lo
    return jnp.zeros_like(lo), lo


@functools.cache
def _register_with_flax(serialization: Any) -> None:
    def to_state(counter: StepCounter) -> dict[str, Any]:
        return {"hi": counter.hi, "lo": counter.lo}

    def from_state(_: StepCounter, state: dict[str, Any]) -> StepCounter:
        return StepCounter(hi=state["hi"], lo=state["lo"])

    serialization.register_serialization_state(StepCounter, to_state, from_state)


def _tell_flax() -> None:
    """Lets flax save counters in msgpack, once flax is there: to import it here would cost a second."""
    serialization = sys.modules.get("flax.serialization")
    if serialization is not None and hasattr(serialization, "register_serialization_state"):
        _register_with_flax(serialization)


_tell_flax()
