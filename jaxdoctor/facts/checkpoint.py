"""A checkpoint as the rules see it, whatever file format it came from."""

from __future__ import annotations

import enum
import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.facts.dtypes import DType, dtype_named

PAIRS = {"hi": "lo", "high": "low", "num1": "num2"}
"""Names of the upper and the lower 32 bits of a count kept in two leaves."""

WORD = 32
"""Bits of the integers that JAX counts in unless given otherwise."""

FAULTS = frozenset(
    {
        "unfinished-save",
        "truncated-file",
        "corrupt-data",
        "missing-file",
        "pointer-not-data",
        "hostile-content",
        "carried-code",
        "unknown-classes",
        "unsupported-leaf",
        "shards-disagree",
        "empty-save",
        "pointer-dangling",
        "tensor-stored-twice",
        "tensor-not-indexed",
    }
)
"""The kinds of fault that have a rule of their own; any other is an unreadable file."""

FIRST_MOMENTS = frozenset({"mu", "m", "exp_avg", "momentum_buffer", "trace", "momentum"})
SECOND_MOMENTS = frozenset(
    {"nu", "v", "v_row", "v_col", "exp_avg_sq", "max_exp_avg_sq", "nu_max", "square_avg", "sum_of_squares"}
)


OUTLYING = 1e6
"""What the largest magnitude of a leaf is beyond the typical one when it is an outlier."""


class Role(enum.StrEnum):
    """What a leaf is for. It decides which rules look at it."""

    PARAMETER = "parameter"
    OPTIMIZER = "optimizer"
    COUNTER = "counter"
    STATISTIC = "statistic"
    KEY = "key"
    METRIC = "metric"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
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

    sampled: int = 0
    """Elements of the bounded sample that the four counts below tell of."""

    zeros: int = 0
    negatives: int = 0
    subnormals: int = 0
    distinct: int | None = None
    """Different values among those that `low_bits_clear` tells of."""

    minimum: float | int | None = None
    """Of the finite values seen. An infinity of JSON never stands here."""

    maximum: float | int | None = None
    largest_magnitude: float | int | None = None
    low_bits_clear: int | None = None
    """The number of low mantissa bits that are zero in every value that could have shown them.

    Zeros, small integers, values on a fixed grid and non-finite values are set aside; None: too few
    different values were left.
    """

    typical: float | None = None
    """The magnitude that 99 % of the finite values in the sample do not exceed."""

    rms: float | None = None
    """The root mean square of the finite values in the sample."""

    fingerprint: int | None = None
    """Equal for equal values of the sample, within one process."""

    byte_swapped: bool = False
    """Whether the sample holds ordinary numbers only when its bytes are read in the other order."""

    @property
    def has_outlier(self) -> bool:
        """Whether one value is a million times as large as 99 % of them are at most."""
        largest, typical = self.largest_magnitude, self.typical
        return bool(largest) and bool(typical) and (largest or 0) >= OUTLYING * (typical or 0)

    @property
    def all_zero(self) -> bool:
        """Whether every value looked at is zero."""
        return self.seen > 0 and not self.nonfinite and self.minimum == self.maximum == 0

    @property
    def nonfinite(self) -> int:
        """NaN and infinities together."""
        return self.nan + self.positive_infinity + self.negative_infinity

    @property
    def whole(self) -> bool:
        """Whether every element was looked at."""
        return self.seen == self.size


@dataclass(frozen=True, kw_only=True)
class Values:
    """How to read a leaf's elements in bounded memory. Arrays are NumPy's, flat, in the leaf's own dtype."""

    stream: Callable[[], Iterator[Any]]
    """All elements in the order of the file, in pieces of a few MiB. May be left early."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedCounter:
    """A count as it is meant: one leaf, or the two halves of a 64-bit count."""

    path: str
    """Of a pair, the path that its halves share: "0/count"."""

    value: int | float
    dtype: str
    """Of a pair, "uint32 pair"."""

    limit: int | None
    """The last value that it can count to: the largest integer, or the last exact one of a float.

    None: a Python number, which grows without end.
    """

    host_scalar: bool = False
    halves: tuple[Leaf, Leaf] | None = None
    """The upper and the lower one of a pair."""

    @property
    def type(self) -> DType:
        """What its dtype can hold; of a pair, that of its halves."""
        return dtype_named(self.dtype.removesuffix(" pair"))

    @property
    def name(self) -> str:
        """The last name in its path that is no number and no wrapper: "count"."""
        return counted(self.path)

    @property
    def updates(self) -> bool:
        """Whether it counts the updates of a training state: no draws, no epochs, no environment steps."""
        names = set(words(self.path))
        return self.name in UPDATES and not names & RANDOM

    @property
    def only_grows(self) -> bool:
        """Whether a run never sets it back: updates, samples and epochs of the whole training."""
        names = set(words(self.path))
        return self.name in UPDATES | TOTALS and not names & (RANDOM | ENVIRONMENTS)

    @property
    def of_torch(self) -> bool:
        """Whether it is the step that one of torch's optimizers keeps for each parameter."""
        names = words(self.path)
        return names[-1:] == ("step",) and "state" in names[:-2]

    @property
    def saturates(self) -> bool:
        """Whether it is one that Optax increments, which stays at its maximum instead of wrapping."""
        return bool(OPTAX_COUNTS & {self.name}) and bool(OPTIMIZERS & set(words(self.path)))


UPDATES = frozenset(
    {
        "step",
        "count",
        "global_step",
        "train_step",
        "gradient_step",
        "gradient_steps",
        "n_updates",
        "_n_updates",
        "num_updates",
        "iterations",
    }
)
TOTALS = frozenset(
    {
        "global_steps",
        "env_steps",
        "env_step",
        "num_env_steps",
        "num_timesteps",
        "timesteps",
        "total_steps",
        "total_timesteps",
        "update_step",
        "update_steps",
        "learner_step",
        "learner_steps",
        "iteration",
        "iter",
        "epoch",
        "epochs",
        "samples_seen",
        "num_samples",
        "tokens_seen",
        "num_tokens",
        "num_input_tokens_seen",
        "total_notfinite",
        "train_steps",
        "frames",
        "num_frames",
    }
)
ENVIRONMENTS = frozenset(
    {"env_state", "env_states", "env", "info", "wrapper", "obs", "lr_scheduler", "schedulers", "loops"}
)
"""Trees in which a count starts again with every episode or every cycle."""

OWN_STEPS = (
    "global_step",
    "step",
    "train_step",
    "global_steps",
    "num_timesteps",
    "env_steps",
    "iteration",
    "iter",
)
"""Names of the number that a checkpoint of a run is named after, the likeliest first."""

DEEPEST_STEP = 2
"""Names in the path of such a count: "state/step" still is one, an optimizer's is not."""

RANDOM = frozenset({"rng", "rngs", "key", "normalizer", "normalizer_params", "dropout"})
OPTAX_COUNTS = frozenset({"count", "mini_step", "gradient_step", "notfinite_count", "total_notfinite"})
OPTIMIZERS = frozenset({"opt_state", "opt_states", "optimizer", "optimizer_state", "optim", "opt", "tx"})
WRAPPERS = frozenset({"value", "raw_value", "hi", "lo", "high", "low", "num1", "num2"})
MASKS = ("mask", "best", "causal", "attn_bias", "attention_bias", "lower_bound", "upper_bound", "sentinel")
BETWEEN_NAMES = re.compile(r"[/.:\[\]]+")


def words(path: str) -> tuple[str, ...]:
    """The names in a leaf's path, in lower case."""
    return tuple(name for name in BETWEEN_NAMES.split(path.lower()) if name)


def counted(path: str) -> str:
    """What a counter counts: the last name that is no number and no wrapper.

    Keras 3 numbers the variables of an optimizer, and the first one is its iterations.
    """
    if words(path)[-2:] == ("vars", "0"):
        return "iterations"
    return next((name for name in reversed(words(path)) if name not in WRAPPERS and not name.isdigit()), "")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something a reader could not accept. Rules of integrity turn it into a finding."""

    kind: str
    """The name of the rule: "truncated-file", "hostile-content", "missing-file", ..."""

    message: str
    path: str | None = None
    leaf: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    fix: str | None = None
    """What mends this one; None: what the rule says."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """One saved state."""

    path: str
    format: str
    """The reader's name: "orbax", "safetensors"."""

    leaves: tuple[Leaf, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """JSON-ready facts that the format carries.

    Rules judge these keys, where a reader fills them: `global_step`, `max_steps`, `save_steps`, `epoch`
    (of a trainer's state), `logged_steps` (the steps in its log, in the order of the file) and
    `logged_nonfinite` (each metric that was logged as NaN or infinite, with the first step of that).
    """

    step: int | None = None
    """The step that its metadata or its name tells."""

    named_step: int | None = None
    """The step that the name of its file or folder tells."""

    bytes_total: int = 0
    bytes_read: int = 0
    saved_at: float | None = None
    """Seconds since 1970 when the save was committed, from the format, else from the file system."""

    marks: tuple[str, ...] = ()
    """Files by which its writer says that the save is done: "DONE", "_SUCCESS", "*.done"."""

    copied_time: bool = False
    """Whether `saved_at` is the time of the file itself, which a copy changes."""

    finished: bool = True
    faults: tuple[Fault, ...] = ()
    parts: tuple[str, ...] = ()
    """The files or folders that every save of this run has: of ranks, of items."""

    written_by_jax: bool = True
    """Whether JAX restores this format, so that its x64 mode matters."""

    @functools.cached_property
    def counters(self) -> tuple[SavedCounter, ...]:
        """Every count that was read, halves put together."""
        return tuple(_counters(self.leaves))

    @functools.cached_property
    def own_step(self) -> tuple[str, int] | None:
        """The name and the value of the step that it holds inside, whatever its file is called."""
        declared = self.metadata.get("global_step")
        if isinstance(declared, int) and not isinstance(declared, bool):
            return "global_step", declared
        if self._counted_step is None and self.step is not None and self.step != self.named_step:
            return "the step inside", self.step
        return self._counted_step

    @functools.cached_property
    def _counted_step(self) -> tuple[str, int] | None:
        counts = {
            (counter.name, len(words(counter.path))): counter
            for counter in self.counters
            if not counter.of_torch and not set(words(counter.path)) & (OPTIMIZERS | RANDOM | ENVIRONMENTS)
        }
        for depth in range(1, DEEPEST_STEP + 1):
            for name in OWN_STEPS:
                counter = counts.get((name, depth))
                if counter is not None and counter.value == int(counter.value):
                    return counter.path, int(counter.value)
        return None

    @functools.cached_property
    def beyond_a_word(self) -> Mapping[int, Sequence[tuple[str, int]]]:
        """Whole counts beyond the end of int32, the step in the name too, by their remainder modulo 2^32."""
        whole = [(counter.path, int(counter.value)) for counter in self.counters if counter.type.integral]
        if self.named_step is not None:
            whole.append(("the name of the checkpoint", self.named_step))
        found: dict[int, list[tuple[str, int]]] = {}
        for path, count in whole:
            if count >> (WORD - 1) > 0:
                found.setdefault(count % (1 << WORD), []).append((path, count))
        return found

    @functools.cached_property
    def holds_tables(self) -> bool:
        """Whether it looks like a file of reference tables, and not like the state of a training.

        Arrays of 64 bits alone, as NumPy makes them, with no name that networks have and no count. NaN,
        infinities and values of every size are meant there.
        """
        floats = [leaf for leaf in self.leaves if leaf.type.kind in {"float", "complex"}]
        if self.format not in TABLE_FORMATS or not floats or self.counters or self.step is not None:
            return False
        if any(leaf.dtype not in WIDEST for leaf in floats):
            return False
        return not any(NETWORK & set(re.split(r"[\W_\d]+", leaf.path.lower())) for leaf in self.leaves)

    def faults_of(self, kind: str) -> tuple[Fault, ...]:
        """The faults of one kind."""
        return tuple(fault for fault in self.faults if fault.kind == kind)

    def with_role(self, role: Role) -> tuple[Leaf, ...]:
        """The leaves that are for that."""
        return tuple(leaf for leaf in self.leaves if leaf.role is role)

    @property
    def dtypes_by_role(self) -> dict[str, dict[str, int]]:
        """How many leaves of each dtype each role has: {"parameter": {"float32": 12}}."""
        found: dict[str, dict[str, int]] = {}
        for leaf in self.leaves:
            counts = found.setdefault(leaf.role.value, {})
            counts[leaf.dtype] = counts.get(leaf.dtype, 0) + 1
        return {role.value: found[role.value] for role in Role if role.value in found}


TABLE_FORMATS = frozenset({"npz", "npy", "hdf5", "pickle"})
"""Formats in which NumPy's arrays of any kind are kept."""

WIDEST = frozenset({"float64", "complex128"})
NETWORK = frozenset({
    "w", "b", "kernel", "weight", "weights", "bias", "params", "param", "parameters", "state", "model",
    "net", "network", "layer", "layers", "dense", "conv", "linear", "embed", "embedding", "encoder",
    "decoder", "policy", "value", "critic", "actor", "q", "opt", "optimizer", "ema", "mu", "nu",
    "mean", "std", "var", "target", "head", "mlp", "attention", "norm", "scale", "leaf", "theta",
})  # fmt: skip
"""Names of what networks and their training are made of."""


def _counters(leaves: Sequence[Leaf]) -> Iterator[SavedCounter]:
    by_path = {leaf.path: leaf for leaf in leaves if leaf.role is Role.COUNTER}
    halves = list(_halves(by_path))
    for path, high, low in halves:
        yield from _pair(path, high, low)
    paired = {half.path for _, high, low in halves for half in (high, low)}
    for leaf in by_path.values():
        value = None if leaf.path in paired else _counted_value(leaf)
        if value is not None:
            yield SavedCounter(
                path=leaf.path,
                value=value,
                dtype=leaf.dtype,
                limit=_limit(leaf),
                host_scalar=leaf.host_scalar or leaf.host_array,
            )


def _halves(by_path: Mapping[str, Leaf]) -> Iterator[tuple[str, Leaf, Leaf]]:
    for path, leaf in by_path.items():
        stem, separator, name = path.rpartition("/")
        low = PAIRS.get(name.lower())
        if low is not None and f"{stem}{separator}{low}" in by_path:
            yield stem or name, leaf, by_path[f"{stem}{separator}{low}"]


def _pair(path: str, high: Leaf, low: Leaf) -> Iterator[SavedCounter]:
    values = _counted_value(high), _counted_value(low)
    if isinstance(values[0], int) and isinstance(values[1], int):
        value = (values[0] % (1 << 32)) << 32 | values[1] % (1 << 32)
        yield SavedCounter(
            path=path, value=value, dtype="uint32 pair", limit=(1 << 64) - 1, halves=(high, low)
        )


def _counted_value(leaf: Leaf) -> int | float | None:
    """The number, or of entries that differ (a population) the worst: a negative one, else the largest.

    None of NaN and infinity, which count nothing.
    """
    if isinstance(leaf.value, int | float):
        return leaf.value if isinstance(leaf.value, int) or math.isfinite(leaf.value) else None
    seen = leaf.statistics
    if seen is None or seen.minimum is None or seen.maximum is None:
        return None
    return seen.minimum if seen.minimum < 0 else seen.maximum


def _limit(leaf: Leaf) -> int | None:
    if leaf.host_scalar and leaf.type.integral:
        return None
    return leaf.type.maximum if leaf.type.integral else leaf.type.exact_to
