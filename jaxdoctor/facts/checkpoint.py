"""A checkpoint as the rules see it, whatever file format it came from."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.facts.counter import ENVIRONMENTS, OPTIMIZERS, RANDOM, SavedCounter, counters_of
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf, Role, words

WORD = 32
"""Bits of the integers that JAX counts in unless given otherwise."""

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

    replay: str | None = None
    """Of a policy the command that replays it in an environment; None: it is none, as far as is known."""

    written_by_jax: bool = True
    """Whether JAX restores this format, so that its x64 mode matters."""

    @functools.cached_property
    def counters(self) -> tuple[SavedCounter, ...]:
        """Every count that was read, halves put together."""
        return tuple(counters_of(self.leaves))

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
