"""A policy as it was read: plain values that cross the pipe, whatever Python builds its network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Keys = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StoredArray:
    """One array of a checkpoint."""

    dtype: str
    """As NumPy and ml_dtypes call it: "float32", "bfloat16"."""

    shape: tuple[int, ...]
    content: bytes
    """Its elements in C order and little-endian."""


@dataclass(frozen=True, kw_only=True)
class SavedPolicy:
    """What the command has read of a policy, and a worker makes a network of."""

    kind: str
    """The name of the file in `rollouts/policies/` that read it and builds it."""

    name: str
    """What a report calls it: a path with the kind of its network."""

    arrays: Mapping[Keys, StoredArray] = field(default_factory=dict)
    """The arrays that its network needs, by the keys of their place in the saved tree."""

    config: Mapping[str, Any] = field(default_factory=dict)
    """The network's configuration, as JSON has it."""

    network: str | None = None
    """The user's function that is the network, or makes it, as "module:function" or "file.py:function"."""

    def below(self, *keys: str) -> dict[Keys, StoredArray]:
        """The arrays below these keys, without them."""
        depth = len(keys)
        return {path[depth:]: array for path, array in self.arrays.items() if path[:depth] == keys}


def elements(array: StoredArray) -> int:
    """How many numbers an array has."""
    return math.prod(array.shape)
