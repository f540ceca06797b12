"""A checkpoint as the rules see it, whatever file format it came from."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


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
class Statistics:
    """What one pass over a leaf's values, or a sample of them, saw. Rules judge this, never the values."""

    size: int
    """Elements in the leaf."""

    seen: int
    """Elements looked at. Less than `size`: a sample."""

    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0
    first_nonfinite: int | None = None
    """The flat index in the leaf of the first one seen."""

    zeros: int = 0
    negatives: int = 0
    subnormals: int = 0
    minimum: float | int | None = None
    """Of the finite values."""

    maximum: float | int | None = None
    largest_magnitude: float | int | None = None
    distinct: int | None = None
    """Different finite values in a bounded sample."""

    low_bits_clear: int | None = None
    """The number of low mantissa bits that are zero in every value that could have shown them.

    Zeros, small integers and non-finite values are set aside; None: too few values were left.
    """


@dataclass(frozen=True, kw_only=True)
class Values:
    """How to read a leaf's elements in bounded memory. Arrays are NumPy's, flat, in the leaf's own dtype."""

    stream: Callable[[], Iterator[Any]]
    """All elements in the order of the file, in pieces of a few MiB. May be left early."""

    sample: Callable[[int], Any]
    """At most that many bytes of elements, from as many places as the format lets one reach cheaply.

    A whole array compressed as one frame is sampled by its beginning.
    """


@dataclass(frozen=True, kw_only=True)
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

    weak_type: bool | None = None
    """JAX's weak type, where the format keeps it (pickles of jax arrays)."""

    value: Any = None
    """The value of a scalar, as a Python number, when it was read; of a small leaf, nested lists never."""

    statistics: Statistics | None = None
    """None: no values were read (`--metadata-only`), or they could not be."""

    declared_dtype: str | None = None
    """What a config or an index beside it says about the dtype, when that is about this leaf."""

    values: Values | None = field(default=None, compare=False, repr=False)
    """How to read the elements. Lazy: nothing is read before one of its functions is called."""

    unsupported: str | None = None
    """Why its values cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something a reader could not accept. Rules of integrity turn it into a finding."""

    kind: str
    """The name of the rule: "truncated-file", "hostile-content", "missing-file", ..."""

    message: str
    path: str | None = None
    leaf: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """One saved state."""

    path: str
    format: str
    """The reader's name: "orbax", "safetensors"."""

    leaves: tuple[Leaf, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON-ready facts that the format carries: `global_step`, `save_steps`, config keys."""

    step: int | None = None
    """The step that its name or its metadata tells."""

    bytes_total: int = 0
    bytes_read: int = 0
    saved_at: float | None = None
    """Seconds since 1970 when the save was committed, from the format, else from the file system."""

    finished: bool = True
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """What the user told us about the run."""

    planned_steps: int | None = None
    steps_per_second: float | None = None
    dtypes: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Series:
    """The checkpoints of one run, ordered by the time they were saved, then by step."""

    path: str
    checkpoints: tuple[Checkpoint, ...]
    expectations: Expectations = field(default_factory=Expectations)
