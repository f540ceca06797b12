"""A 64-bit step counter for JAX programs without x64."""

from __future__ import annotations

import dataclasses
import functools
import operator
import sys
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxdoctor.remedies import _two_words as two_words
from jaxdoctor.remedies._two_words import TwoWords

SMALLEST_INT32, LARGEST_INT32 = -(1 << 31), (1 << 31) - 1


@functools.partial(jax.tree_util.register_dataclass, data_fields=("hi", "lo"), meta_fields=())
@dataclasses.dataclass(frozen=True, eq=False)
class StepCounter:  # noqa: PLW1641 (it holds arrays, which have no hash)
    """A count from 0 to 2^64 - 1 in two uint32 words, so that it neither wraps at 2^31 nor needs x64.

    It is a pytree: it goes through `jit`, `vmap`, `scan` and `shard_map`, and into checkpoints, as two arrays
    with the names and the order of Brax's `UInt64`. Past 2^64 - 1 it begins at 0 again. It adds, subtracts,
    compares, and takes `%` and `//` by constants; for anything else there is `as_float32()`.

    As a pytree of two words it must not go through `jax.lax.psum` or `jax.lax.pmean`, which lose carries:
    sum with its own `psum`.

    >>> counter = StepCounter.of(2**31 - 1)
    >>> int(counter + 1)
    2147483648
    """

    hi: jax.Array
    """The upper 32 bits."""

    lo: jax.Array
    """The lower 32 bits."""

    # NumPy's numbers and arrays leave `number + counter` to the counter.
    __array_ufunc__ = None

    @classmethod
    def zero(cls, shape: tuple[int, ...] = ()) -> StepCounter:
        """A counter at 0, or an array of them."""
        return _joined((jnp.zeros(shape, jnp.uint32), jnp.zeros(shape, jnp.uint32)))

    @classmethod
    def of(cls, value: int | np.integer[Any] | np.ndarray[Any, Any] | jax.Array | TwoWords) -> StepCounter:
        """The counter at that value: an integer from 0 to 2^64 - 1, an integer array, or another two words.

        Raises:
            TypeError: it is no integer.
            ValueError: it is negative, as a wrapped count is, or above 2^64 - 1. Values inside a jitted
                function are not checked.
        """
        return _joined(two_words.words_of(value))

    @classmethod
    def from_wrapped(cls, wrapped: int | np.integer[Any], *, at_least: int) -> StepCounter:
        """The true count behind a 32-bit counter of an old checkpoint that has wrapped.

        Args:
            wrapped: what the int32, or uint32, counter says.
            at_least: any number that the true count has surely reached, less than 2^32 before it: the number
                of the last checkpoint before it went negative, say, or 2^31.
        """
        return cls.of(at_least + (int(wrapped) - at_least) % two_words.WORD)

    @property
    def shape(self) -> tuple[int, ...]:
        """() of a single counter, else that of the array of counters."""
        return tuple(np.shape(self.lo))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __getitem__(self, index: Any) -> StepCounter:
        """One or several counters of an array of them."""
        return _joined((self.hi[index], self.lo[index]))

    def __add__(self, other: Any) -> StepCounter:
        """The counter further on, by an integer, an array of them, or a counter; a negative one counts back.

        Raises:
            TypeError: it is no integer.
            ValueError: a negative integer goes below 0, or is in an array of NumPy; or it is above 2^64 - 1.
        """
        if _is_negative_number(other):
            return self - (-operator.index(other))
        return _joined(two_words.add(self._words, two_words.addend_of(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> StepCounter:
        """The counter further back. Inside jit it stops at 0; `difference` has a sign.

        Raises:
            TypeError: it is no integer.
            ValueError: it goes below 0.
        """
        if _is_negative_number(other):
            return self + (-operator.index(other))
        taken = two_words.words_of(other)
        below = two_words.less(self._words, taken)
        if not isinstance(below, jax.core.Tracer) and bool(jnp.any(below)):
            raise ValueError("a StepCounter does not go below 0; counter.difference(other) has a sign")
        hi, lo = two_words.subtract(self._words, taken)
        zero = jnp.uint32(0)
        return _joined((jnp.where(below, zero, hi), jnp.where(below, zero, lo)))

    def __rsub__(self, other: Any) -> StepCounter:
        return StepCounter.of(other) - self

    def difference(self, other: Any) -> jax.Array:
        """This count less the other, as int32: what does not fit is the nearest number that does."""
        words = two_words.words_of(other)
        ahead = two_words.subtract(self._words, words)
        behind = two_words.subtract(words, self._words)
        is_behind = two_words.less(self._words, words)
        most = jnp.uint32(LARGEST_INT32)
        up = jnp.where((ahead[0] > 0) | (ahead[1] > most), most, ahead[1]).astype(jnp.int32)
        down = jnp.where((behind[0] > 0) | (behind[1] > most), most, behind[1]).astype(jnp.int32)
        return jnp.where(is_behind, -down, up)

    def __floordiv__(self, other: Any) -> StepCounter:
        """The quotient by a constant from 1 to 2^31 - 1."""
        return _joined(two_words.divide(self._words, two_words.divisor_of(other))[0])

    def __mod__(self, other: Any) -> jax.Array:
        """The remainder by a constant from 1 to 2^31 - 1, as int32."""
        remainder: jax.Array = two_words.divide(self._words, two_words.divisor_of(other))[1]
        return remainder

    def __divmod__(self, other: Any) -> tuple[StepCounter, jax.Array]:
        return self // other, self % other

    def __mul__(self, other: Any) -> NoReturn:
        raise TypeError("a StepCounter is not multiplied: compute with counter.as_float32()")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> NoReturn:
        raise TypeError("a StepCounter is divided with // and %; for a fraction divide counter.as_float32()")

    __rtruediv__ = __truediv__

    def __eq__(self, other: object) -> Any:
        """Element by element, an array of truth values; against no integer at all, False."""
        if not two_words.is_integer(other):
            return NotImplemented
        sign, (hi, lo) = two_words.sign_and_words(other)
        return jnp.asarray(sign) == 0 if _outside(sign) else (sign == 0) & (self.hi == hi) & (self.lo == lo)

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    def __lt__(self, other: Any) -> Any:
        sign, words = two_words.sign_and_words(other)
        return (sign > 0) | ((sign == 0) & two_words.less(self._words, words))

    def __ge__(self, other: Any) -> Any:
        return ~(self < other)

    def __gt__(self, other: Any) -> Any:
        sign, words = two_words.sign_and_words(other)
        return (sign < 0) | ((sign == 0) & two_words.less(words, self._words))

    def __le__(self, other: Any) -> Any:
        return ~(self > other)

    def __bool__(self) -> bool:
        """Whether it is not 0; inside jit JAX's own error."""
        return bool((self.hi | self.lo) != 0)

    def __int__(self) -> int:
        """The count, of a single counter outside of jit."""
        return (int(self.hi) << two_words.BITS) | int(self.lo)

    __index__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The count as int64, or as uint64 from 2^63 on."""
        hi, lo = np.asarray(self.hi, np.uint64), np.asarray(self.lo, np.uint64)
        whole = (hi << np.uint64(two_words.BITS)) | lo
        large = bool((hi >> np.uint64(31)).any())
        return np.asarray(whole).astype(dtype or (np.uint64 if large else np.int64))

    def __format__(self, spec: str) -> str:
        number = self._number()
        if number is not None:
            return format(number, spec)
        return format(repr(self), spec)

    def __repr__(self) -> str:
        number = self._number()
        return f"StepCounter(hi={self.hi}, lo={self.lo})" if number is None else f"StepCounter({number})"

    def to_numpy(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The count as int64.

        Raises:
            OverflowError: it is 2^63 or more.
        """
        whole = np.asarray(self)
        if whole.dtype != np.int64:
            raise OverflowError("a count of 2^63 or more does not fit into int64; take int(counter)")
        return whole

    def as_float32(self) -> jax.Array:
        """The count as float32, for a product or a plot: within 2^-23 of it, and exact below 2^24."""
        return self.hi.astype(jnp.float32) * np.float32(two_words.WORD) + self.lo.astype(jnp.float32)

    def psum(self, axis_name: str | tuple[str, ...]) -> StepCounter:
        """The sum over the devices of a mapped axis, up to 65536 of them, with every carry.

        `jax.lax.psum` and `jax.lax.pmean` of the words would lose what overflows the lower one.
        """
        return _joined(two_words.sum_over(self._words, axis_name))

    def to_brax(self) -> Any:
        """The same count as Brax's `UInt64`, for its training states. Needs brax."""
        from brax.training.types import UInt64  # noqa: PLC0415 (optional)

        return UInt64(hi=self.hi, lo=self.lo)

    @property
    def _words(self) -> two_words.Pair:
        return jnp.asarray(self.hi), jnp.asarray(self.lo)

    def _number(self) -> int | None:
        """The count where there is one: no shape, dtype or traced value in its place, and not several."""
        try:
            return int(self)
        except (TypeError, ValueError):
            return None


def _is_negative_number(value: Any) -> bool:
    if isinstance(value, (jax.Array, np.ndarray, TwoWords)) or not hasattr(value, "__index__"):
        return False
    return operator.index(value) < 0


def _outside(sign: Any) -> bool:
    """Whether a number is below or above every count, whatever the counter holds."""
    return isinstance(sign, int) and sign != 0


def _joined(words: two_words.Pair) -> StepCounter:
    _tell_flax()
    return StepCounter(hi=words[0], lo=words[1])


@functools.cache
def _register_with_flax(serialization: Any) -> None:
    def to_state(counter: StepCounter) -> dict[str, Any]:
        return {"hi": counter.hi, "lo": counter.lo}

    def from_state(_: StepCounter, state: Any) -> StepCounter:
        # A checkpoint from before the counter holds a plain integer in its place.
        if not isinstance(state, dict):
            return StepCounter.of(state)
        return StepCounter(hi=state["hi"], lo=state["lo"])

    serialization.register_serialization_state(StepCounter, to_state, from_state)


def _tell_flax() -> None:
    """Lets flax save counters in msgpack, once flax is there: to import it here would cost a second."""
    serialization = sys.modules.get("flax.serialization")
    if serialization is not None and hasattr(serialization, "register_serialization_state"):
        _register_with_flax(serialization)


_tell_flax()
