"""A count that a checkpoint holds: of one leaf, or of the two halves of a 64-bit count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxdoctor.facts.dtypes import DType, dtype_named
from jaxdoctor.facts.leaf import Leaf, Role, words

PAIRS = {"hi": "lo", "high": "low", "num1": "num2"}
"""Names of the upper and the lower 32 bits of a count kept in two leaves."""

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

RANDOM = frozenset({"rng", "rngs", "key", "normalizer", "normalizer_params", "dropout"})
OPTAX_COUNTS = frozenset({"count", "mini_step", "gradient_step", "notfinite_count", "total_notfinite"})
OPTIMIZERS = frozenset({"opt_state", "opt_states", "optimizer", "optimizer_state", "optim", "opt", "tx"})
WRAPPERS = frozenset({"value", "raw_value", "hi", "lo", "high", "low", "num1", "num2"})


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


def counted(path: str) -> str:
    """What a counter counts: the last name that is no number and no wrapper.

    Keras 3 numbers the variables of an optimizer, and the first one is its iterations.
    """
    if words(path)[-2:] == ("vars", "0"):
        return "iterations"
    return next((name for name in reversed(words(path)) if name not in WRAPPERS and not name.isdigit()), "")


def counters_of(leaves: Sequence[Leaf]) -> Iterator[SavedCounter]:
    """Every count among the leaves, halves put together."""
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
