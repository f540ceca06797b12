"""One array or scalar of a checkpoint, and the names in its path."""

from __future__ import annotations

import enum
import functools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.facts.dtypes import DType, dtype_named
from jaxdoctor.facts.statistics import Statistics

FIRST_MOMENTS = frozenset({"mu", "m", "exp_avg", "momentum_buffer", "trace", "momentum"})
SECOND_MOMENTS = frozenset(
    {"nu", "v", "v_row", "v_col", "exp_avg_sq", "max_exp_avg_sq", "nu_max", "square_avg", "sum_of_squares"}
)

MASKS = ("mask", "best", "causal", "attn_bias", "attention_bias", "lower_bound", "upper_bound", "sentinel")
BETWEEN_NAMES = re.compile(r"[/.:\[\]]+")


class Role(enum.StrEnum):
    """What a leaf is for. It decides which rules look at it."""

    PARAMETER = "parameter"
    OPTIMIZER = "optimizer"
    COUNTER = "counter"
    STATISTIC = "statistic"
    KEY = "key"
    METRIC = "metric"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Values:
    """How to read a leaf's elements in bounded memory. Arrays are NumPy's, flat, in the leaf's own dtype."""

    stream: Callable[[], Iterator[Any]]
    """All elements in the order of the file, in pieces of at most a few MiB. May be left early.

    A piece may be overwritten when the next one is asked for: what is to be kept is copied.
    """

    sample: Callable[[int], Any]
    """At most that many bytes of elements, from as many places as the format lets one reach cheaply.

    A whole array compressed as one frame is sampled by its beginning.
    """

    in_order: bool = True
    """Whether the stream's order is the array's own, so that a place in it is an index."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    """One array, or one scalar, of a checkpoint."""

    path: str
    """Keys joined with "/": "opt_state/0/nu/w"."""

    dtype: str
    """NumPy's or ml_dtypes' name: "float32", "bfloat16"; "unknown" when the file does not say."""

    shape: tuple[int, ...]
    role: Role = Role.OTHER
    host_scalar: bool = False
    """A Python number, which formats store as 64 bit: no sign of x64."""

    host_array: bool = False
    """A NumPy array, where the format distinguishes it from JAX's: its dtype is kept, and no sign of x64."""

    foreign: str | None = None
    """The package of another field whose object holds it: "pandas", "sklearn". NaN may be meant there, and no
    JAX made it."""

    weak_type: bool | None = None
    """JAX's weak type, where the format keeps it (pickles of jax arrays)."""

    value: Any = None
    """A Python number: of a scalar that was read, or of a leaf whose few entries are all equal, as what
    `pmap` leaves behind."""

    statistics: Statistics | None = None
    """None: no values were read (`--metadata-only`), or they could not be."""

    declared_dtype: str | None = None
    """What a config or an index beside it says about the dtype, when that is about this leaf."""

    values: Values | None = field(default=None, compare=False, repr=False)
    """How to read the elements. Lazy: nothing is read before one of its functions is called."""

    unsupported: str | None = None
    """Why its values cannot be read."""

    @property
    def type(self) -> DType:
        """What its dtype can hold."""
        return dtype_named(self.dtype)

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of its path in lower case, split at dots too: ("opt_state", "0", "nu", "w")."""
        return words(self.path)

    @property
    def masks(self) -> bool:
        """Whether its name says that infinities or the largest numbers in it are meant."""
        return any(word in name for name in self.names for word in MASKS)

    @property
    def moment(self) -> int | None:
        """1 or 2 for the first or the second moment of an optimizer, None for everything else."""
        if self.role is not Role.OPTIMIZER:
            return None
        names = set(self.names)
        if names & SECOND_MOMENTS:
            return 2
        return 1 if names & FIRST_MOMENTS else None


@functools.lru_cache(maxsize=1 << 14)
def words(path: str) -> tuple[str, ...]:
    """The names in a leaf's path, in lower case."""
    return tuple(name for name in BETWEEN_NAMES.split(path.lower()) if name)
